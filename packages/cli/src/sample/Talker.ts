/** A model or a checkpoint that answers conversations. */
import { ChatModel, Message, type Sampling, Seed } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import * as Subject from "../eval/Subject.ts"
import * as SubjectFlags from "../eval/SubjectFlags.ts"

export interface Flags extends SubjectFlags.Flags {
  readonly maxTokens: number
  readonly temperature: number
  readonly seed: number
}

/** What a model said. */
export interface Answer {
  readonly message: Message.Message
  /** All of it, thinking and markup included. */
  readonly text: string
  readonly tokens: number
  readonly stopReason: Sampling.SampledTokens["stopReason"]
}

/** The answer's text, or all of it where it is more than text. */
export const shown = ({ message, text }: Answer): string =>
  message.toolCalls === undefined && message.unparsedToolCalls === undefined && Message.thinking(message) === ""
    ? Message.text(message)
    : text

export type Talker = (
  messages: ReadonlyArray<Message.Message>,
  key: string
) => ReturnType<ReturnType<typeof talker>>

const talker = (
  { renderer, tokenizer }: ChatModel.ChatModel,
  client: Effect.Success<ReturnType<typeof Subject.sampler>>,
  { maxTokens, seed, temperature }: Flags
) =>
  Effect.fnUntraced(function*(messages: ReadonlyArray<Message.Message>, key: string) {
    const prompt = yield* renderer.generationPrompt(messages)
    const params = { maxTokens, temperature, stop: renderer.stop, seed: Seed.derive(seed, key) }
    const { sequences: [sequence] } = yield* client.sample({ prompt, params })
    const { stopReason, tokens } = sequence ?? { tokens: new Int32Array(0), stopReason: "stop" }
    const { message } = yield* renderer.parse(tokens)
    const answer: Answer = { message, text: tokenizer.decode(tokens), tokens: tokens.length, stopReason }
    return answer
  })

/** Lets the work talk to what the flags name. */
export const withTalker = Effect.fnUntraced(function*<E, R>(
  flags: Flags,
  use: (talk: Talker, name: string) => Effect.Effect<void, E, R>
) {
  const subject = yield* Subject.resolve(flags.model, flags.checkpoint)
  const program = Effect.scoped(Effect.gen(function*() {
    const model = yield* ChatModel.resolve(subject.model)
    const talk = talker(model, yield* Subject.sampler(subject), flags)
    yield* use(talk, subject.checkpoint ?? subject.model)
  }))
  yield* Effect.provide(program, SubjectFlags.backend(subject, flags))
})
