/**
 * Replaces secrets in recorded conversations: keys and tokens of known services, private keys, and credentials in headers, addresses and
 * assignments.
 *
 * @example
 * const counts: Secrets.Counts = new Map()
 * const key = "sk-".padEnd(30, "a1b2")
 * const clean = Secrets.text(counts)(`export OPENAI_API_KEY=${key}`) // "export OPENAI_API_KEY=[redacted]"
 */
import type { Message } from "@effect-rl/core"
import type { OpenAi } from "@effect-rl/core/renderers"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"

/** The number of secrets that were replaced, by kind. */
export type Counts = Map<string, number>

/** The text that replaces a secret. */
export const mark = "[redacted]"

/**
 * The characters of a possible secret value, at least 16. A run of them is matched as a whole, so each text is scanned
 * once.
 */
const run = String.raw`[\w+/=~-]{16,}`

/**
 * Whether a run of characters is a secret value: it has letters and at least three digits, which names and paths in
 * programs rarely have, and is not called, indexed or followed by a member name.
 */
const isValue = (found: string, after: string) =>
  (found.match(/\d/g) ?? []).length >= 3 && /[a-z]/i.test(found) && !/^(?:[([{<$]|\.\w)/.test(after)

/** Placeholders for passwords in documents. */
const placeholder = String.raw`(?:pass(?:word|wd)?|secret|hidden|\*+)@`

/** The endings of the names of secrets. */
const names = "key|token|secret|password|passwd|credential|authorization"

/** The kinds of secrets with their patterns, which have no capturing groups. The first matching pattern counts. */
const kinds: ReadonlyArray<
  readonly [kind: string, pattern: RegExp, isSecret?: (found: string, after: string) => boolean]
> = [
  [
    "private key",
    /-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----(?=[^]{0,200}?[A-Za-z0-9+/=]{48})[^]*?(?:-----END (?:[A-Z]+ )*PRIVATE KEY-----|$)/g
  ],
  ["Anthropic key", /\bsk-ant-[\w-]{16,}/g],
  ["OpenAI key", /\bsk-(?=[\w-]{0,64}?\d)[\w-]{16,}/g],
  ["Tinker key", /\btml-(?=[\w-]{0,64}?\d)[\w-]{16,}/g],
  ["Hugging Face token", /\bhf_[A-Za-z0-9]{20,}/g],
  ["GitHub token", /\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_\w{22,})/g],
  ["GitLab token", /\bglpat-[\w-]{20,}/g],
  ["AWS key", /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g],
  ["Google key", /\bAIza[\w-]{35}/g],
  ["Slack token", /\bxox[abeoprs]-(?=[\w-]{0,64}?\d)[\w-]{10,}/g],
  ["Stripe key", /\b[rs]k_(?:live|test)_[A-Za-z0-9]{16,}/g],
  ["npm token", /\bnpm_[A-Za-z0-9]{36,}/g],
  ["PyPI token", /\bpypi-[\w-]{50,}/g],
  ["JSON web token", /\beyJ[\w-]{8,1024}\.eyJ[\w-]{8,}\.[\w-]*/g],
  [
    "credential in a header",
    /(?<=\bauthorization\\{0,3}["']?\s?[:=]\s?\\{0,3}["']?(?:bearer|basic|token)\s)[\w+/=.~-]{7,}[\w+/=~-]/gi
  ],
  [
    "password in an address",
    new RegExp(String.raw`(?<=\b[a-z][\w+.-]*://[^\s/@:"'<>]*:)(?!${placeholder})[^\s/@:"'<>{}$[\]…]+(?=@)`, "gi")
  ],
  [
    "assigned secret",
    new RegExp(
      String.raw`(?<=(?:${names})\\{0,3}["']?\s{0,9}(?::=|=>|[:=])\s{0,9}\\{0,3}["']?)${run}`,
      "gi"
    ),
    isValue
  ]
]

/** Redacts a text. `label` is the text before it, such as "password: ", which reveals some secrets. */
type Redact = (given: string, label?: string) => string

const redactor = (counts: Counts): Redact => (given, label = "") =>
  kinds.reduce(
    (redacted, [kind, pattern, isSecret]) =>
      redacted.replace(pattern, (found, at: number, whole: string) => {
        const end = at + found.length
        if (end <= label.length || isSecret?.(found, whole.slice(end, end + 2)) === false) return found
        counts.set(kind, (counts.get(kind) ?? 0) + 1)
        return label.slice(at) + mark
      }),
    label + given
  ).slice(label.length)

/** Redacts a text, and adds the replaced secrets to the counts. */
export const text = (counts: Counts) => (given: string): string => redactor(counts)(given)

const json = (redact: Redact, given: Schema.Json): Schema.Json => {
  if (typeof given === "string") return redact(given)
  if (typeof given !== "object" || given === null) return given
  if (isList(given)) return given.map((one) => json(redact, one))
  return fields(redact, given)
}

/** Redacts a field. Some secrets are recognised only by the name before the value. */
const field = (redact: Redact, name: string, one: Schema.Json): readonly [string, Schema.Json] => {
  const known = redact(name)
  if (typeof one !== "string") return [known, json(redact, one)]
  return [known, redact(one, `${known}: `)]
}

const fields = (redact: Redact, given: Schema.JsonObject): Schema.JsonObject =>
  Object.fromEntries(Object.entries(given).map(([name, one]) => field(redact, name, one)))

const isList = (given: Schema.JsonObject | ReadonlyArray<Schema.Json>): given is ReadonlyArray<Schema.Json> =>
  Array.isArray(given)

const decodeJson = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Json))

/** Redacts the strings in JSON text, which remains JSON. Text without secrets is returned unchanged. */
const jsonText = (redact: Redact, given: string): string =>
  Option.match(decodeJson(given), {
    onNone: () => redact(given),
    onSome: (value) => {
      const redacted = JSON.stringify(json(redact, value))
      return redacted === JSON.stringify(value) ? given : redacted
    }
  })

const part = (redact: Redact, given: Message.ContentPart): Message.ContentPart => {
  if (given.type === "text") return { ...given, text: redact(given.text) }
  return given.type === "thinking" ? { ...given, thinking: redact(given.thinking) } : given
}

const message = (redact: Redact, given: Message.Message): Message.Message => ({
  ...given,
  content: typeof given.content === "string" ? redact(given.content) : given.content.map((one) => part(redact, one)),
  ...(given.toolCalls !== undefined && {
    toolCalls: given.toolCalls.map(({ function: { arguments: written, name }, ...call }) => ({
      ...call,
      function: { name, arguments: jsonText(redact, written) }
    }))
  })
})

/** Redacts the messages. */
export const messages = (counts: Counts) => (given: ReadonlyArray<Message.Message>): ReadonlyArray<Message.Message> =>
  given.map((one) => message(redactor(counts), one))

/** Redacts a conversation and the descriptions of its tools. */
export const conversation = (counts: Counts) => (given: OpenAi.Conversation): OpenAi.Conversation => {
  const redact = redactor(counts)
  return {
    messages: messages(counts)(given.messages),
    tools: given.tools.map((tool) => ({
      ...tool,
      description: redact(tool.description),
      parameters: fields(redact, tool.parameters)
    }))
  }
}
