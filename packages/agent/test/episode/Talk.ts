/** A model whose policy says what a test scripts, and agents that talk to it by chat completions. */
import type { AgentEnv } from "@effect-rl/agent"
import { type ChatModel, type Policy } from "@effect-rl/core"
import type { Sampling, SamplingClient } from "@effect-rl/core/backend"
import { Renderers } from "@effect-rl/core/renderers"
import { Script, TestTokenizer } from "@effect-rl/core/testing"
import { Effect, Schema } from "effect"

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

/** What the policy was asked and what it sampled. */
export interface Logged {
  readonly request: Policy.Request
  readonly sampled: Sampling.SampledTokens
}

/** Says the texts in turn, each with its end; the pieces of a list are tokens of their own. */
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

const Message = Schema.Struct({
  role: Schema.String,
  content: Schema.optionalKey(Schema.NullOr(Schema.String)),
  reasoning_content: Schema.optionalKey(Schema.String),
  tool_calls: Schema.optionalKey(Schema.Array(Schema.Struct({
    id: Schema.String,
    type: Schema.Literal("function"),
    function: Schema.Struct({ name: Schema.String, arguments: Schema.String })
  }))),
  tool_call_id: Schema.optionalKey(Schema.String)
})
export type Message = typeof Message.Type

const decodeBody = Schema.decodeUnknownSync(Schema.Struct({
  choices: Schema.optionalKey(Schema.Array(Schema.Struct({ message: Message, finish_reason: Schema.String }))),
  error: Schema.optionalKey(Schema.Struct({ message: Schema.String }))
}))

export interface Answer {
  readonly status: number
  readonly message: Message
  readonly finish: string
  readonly error: string | undefined
}

interface Sent {
  readonly headers?: Readonly<Record<string, string>>
  readonly [field: string]: unknown
}

/** Asks once. */
export const ask = async (
  { baseUrl, fetch, signal }: AgentEnv.Session,
  messages: ReadonlyArray<Message>,
  { headers = {}, ...fields }: Sent = {}
): Promise<Answer> => {
  const response = await fetch(`${baseUrl}/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify({ model: name, messages, ...fields }),
    signal
  })
  const { choices = [], error } = decodeBody(await response.json())
  const [choice] = choices
  return {
    status: response.status,
    message: choice?.message ?? { role: "assistant" },
    finish: choice?.finish_reason ?? "",
    error: error?.message
  }
}

export const user = (content: string): Message => ({ role: "user", content })

/** Weights that always say the same. */
export const client = (said: string): SamplingClient.SamplingClient => ({
  modelPath: "frozen",
  sample: () => {
    const tokens = tokenizer.encode(`${said}${end}`)
    const logprobs = new Float32Array(tokens.length).fill(-1)
    return Effect.succeed({ sequences: [{ tokens, logprobs, stopReason: "stop" }] })
  },
  computeLogprobs: () => Effect.die("not asked")
})
