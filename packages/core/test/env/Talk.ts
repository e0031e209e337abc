/** Renderers, policies and conversations for tests of message environments. */
import { type Env, Message, type MessageEnv, type Policy } from "@effect-rl/core"
import { ModelInput, type Sampling } from "@effect-rl/core/backend"
import { type Renderer, Renderers } from "@effect-rl/core/renderers"
import { TestTokenizer } from "@effect-rl/core/testing"
import { Effect } from "effect"

export const tokenizer = TestTokenizer.characters
export const end = "<|im_end|>"

/** Qwen3 without thinking, whose prompts extend each other. */
export const qwen = Renderers.byName("qwen3_instruct", tokenizer)

export const tokens = (text: string) => tokenizer.encode(text)

export const text = ({ chunks }: ModelInput.ModelInput) =>
  chunks.map((chunk) => chunk._tag === "EncodedText" ? tokenizer.decode(chunk.tokens) : "[image]").join("")

/** A sampled response: `text` and the end of the turn, or `text` that was cut. */
export const said = (text: string) => ({ tokens: tokens(text + end), stopReason: "stop" as const })
export const cut = (text: string) => ({ tokens: tokens(text), stopReason: "length" as const })

const sampled = (action: { readonly tokens: Int32Array; readonly stopReason: Sampling.SampleStopReason }) => ({
  ...action,
  logprobs: new Float32Array(action.tokens.length).fill(-1)
})

/** A policy that gives the answers in turn, repeats the last one, and records its prompts. */
export const policy = (...answers: ReadonlyArray<ReturnType<typeof said> | ReturnType<typeof cut>>) => {
  const requests: Array<Policy.Request> = []
  const self: Policy.Policy = {
    act: (request) => {
      const answer = answers[Math.min(requests.length, answers.length - 1)] ?? said("")
      requests.push(request)
      return Effect.succeed(sampled(answer))
    }
  }
  return { ...self, requests }
}

export const key = { iteration: 0, group: "talk", member: 0, attempt: 0 }

/** A renderer whose prompts have one token, plus one per message and one per word. Responses are parsed as given. */
export const counting = (...parses: ReadonlyArray<Renderer.Parsed>): Renderer.Renderer => {
  let read = 0
  const words = (message: Message.Message) => Message.text(message).split(" ").filter((word) => word !== "").length
  return {
    name: "counting",
    stop: ["<end>"],
    hasExtensionProperty: false,
    generationPrompt: (messages) =>
      Effect.sync(() =>
        ModelInput.fromTokens(new Int32Array(messages.reduce((length, message) => length + 1 + words(message), 1)))
      ),
    parse: () =>
      Effect.sync(() =>
        parses[Math.min(read++, parses.length - 1)] ?? { message: Message.assistant(""), termination: "eos" }
      ),
    stream: () => ({ push: () => [], end: Effect.die("not part of a rollout") }),
    supervisedExample: () => Effect.die("not part of a rollout"),
    supervisedExamples: () => Effect.die("not part of a rollout"),
    toolsPrefix: () => Effect.succeed([])
  }
}

export const parsed = (content: string, more: Partial<Message.Message> = {}): Renderer.Parsed => ({
  message: { ...Message.assistant(content), ...more },
  termination: "stop_sequence"
})

export const malformed = (content: string): Renderer.Parsed => ({
  message: Message.assistant(content),
  termination: "malformed"
})

/** A scripted step. Without `reply` it answers nothing, and is the last step unless `done` is false. */
interface Script extends Omit<Env.Done, "_tag"> {
  readonly reply?: string
  readonly done?: boolean
  readonly stop?: Sampling.Stop
}

/** An environment that answers with `steps` in turn, repeats the last one, and records the messages. */
export const scripted = (...steps: ReadonlyArray<Script>) => {
  let messages: MessageEnv.Conversation = []
  let turn = 0
  const heard: Array<Message.Message> = []
  const add = (...more: MessageEnv.Conversation) => messages = [...messages, ...more]
  const begin = (initial: MessageEnv.Conversation) => Effect.sync(() => messages = initial)
  return {
    heard,
    begin,
    initialMessages: begin([Message.user("one two three")]),
    step: (message: Message.Message): Effect.Effect<MessageEnv.Step> =>
      Effect.sync(() => {
        heard.push(message)
        const { done, reply, stop, stopReason, ...reported } = steps[Math.min(turn++, steps.length - 1)] ??
          { reward: 0 }
        add(message, ...(reply === undefined ? [] : [Message.user(reply)]))
        return done ?? reply === undefined
          ? { _tag: "Done", ...reported, ...(stopReason !== undefined && { stopReason }) }
          : { _tag: "Continue", ...reported, messages, ...(stop !== undefined && { stop }) }
      }),
    observeTruncated: (message: Message.Message) => Effect.sync(() => add(message)),
    addMessages: (more: MessageEnv.Conversation) => Effect.sync(() => add(...more))
  }
}
