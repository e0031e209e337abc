/** A model whose policy is scripted by a test, and agents that talk to it in any dialect. */
import type { AgentEnv } from "@effect-rl/agent"
import { type ChatModel, type Policy } from "@effect-rl/core"
import type { Sampling, SamplingClient } from "@effect-rl/core/backend"
import { Renderers } from "@effect-rl/core/renderers"
import { Script, TestTokenizer } from "@effect-rl/core/testing"
import { Effect, Schema } from "effect"
import * as Dialect from "./Dialect.ts"

export const tokenizer = TestTokenizer.words(["ab", " ab", "abab"])
export const end = "<|im_end|>"
export const name = "Qwen/Qwen3-4B-Instruct-2507"

export const modelOf = (renderer: string, contextLength = 32_768): Effect.Effect<ChatModel.ChatModel> =>
  Effect.map(Effect.orDie(Renderers.byName(renderer, tokenizer)), (renderer) => ({
    name,
    tokenizer,
    renderer,
    capabilities: { ...Script.defaultCapabilities, contextLength }
  }))

export const key = { iteration: 0, group: "talk", member: 0, attempt: 0 }

/** A request that the policy received, and the tokens that it sampled. */
export interface Logged {
  readonly request: Policy.Request
  readonly sampled: Sampling.SampledTokens
}

/** A policy that says the texts in turn, each followed by the end token, and its log. The pieces of a list are tokenized separately. */
export const saying = (...texts: ReadonlyArray<string | ReadonlyArray<string>>) => {
  const log: Array<Logged> = []
  const policy: Policy.Policy = {
    act: (request) =>
      Effect.sync(() => {
        const said = texts[log.length] ?? "nothing more"
        const pieces = [...(typeof said === "string" ? [said] : said), end]
        const whole = pieces.flatMap((piece) => [...tokenizer.encode(piece)])
        const tokens = Int32Array.from(whole.slice(0, request.maxTokens))
        const sampled = {
          tokens,
          logprobs: Float32Array.from(tokens, (_, t) => -(log.length + 1) - t / 64),
          stopReason: tokens.length < whole.length ? "length" : "stop"
        } as const
        log.push({ request, sampled })
        return sampled
      })
  }
  return { policy, log }
}

export type Message = Dialect.Message

const decodeError = Schema.decodeUnknownSync(Schema.Struct({
  error: Schema.optionalKey(Schema.NullOr(Schema.Struct({ message: Schema.String })))
}))

export interface Answer extends Dialect.Told {
  readonly status: number
  readonly error: string | undefined
}

interface Sent extends Dialect.Fields {
  readonly headers?: Readonly<Record<string, string>>
  /** "chat" unless given. */
  readonly dialect?: Dialect.Name
}

/** Asks once. */
export const ask = async (
  { baseUrl, fetch, signal }: AgentEnv.Session,
  messages: ReadonlyArray<Message>,
  { dialect: spoken = "chat", headers = {}, ...fields }: Sent = {}
): Promise<Answer> => {
  const dialect = Dialect.dialects[spoken]
  const response = await fetch(`${baseUrl}${dialect.path}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify({ model: name, ...dialect.body(messages, fields) }),
    signal
  })
  const body: unknown = await response.json()
  return { status: response.status, error: decodeError(body).error?.message, ...dialect.read(body) }
}

export const user = (content: string): Message => ({ role: "user", content })

/** A sampling client that always gives the same answer. */
export const client = (said: string): SamplingClient.SamplingClient => ({
  modelPath: "frozen",
  sample: () => {
    const tokens = tokenizer.encode(`${said}${end}`)
    const logprobs = new Float32Array(tokens.length).fill(-1)
    return Effect.succeed({ sequences: [{ tokens, logprobs, stopReason: "stop" }] })
  },
  computeLogprobs: () => Effect.die("not asked")
})
