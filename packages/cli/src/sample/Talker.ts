/** A model or a checkpoint that answers conversations. */
import { ChatModel, type Message, type TinkerError } from "@effect-rl/core"
import { SampleStream, type Sampling, type SamplingClient } from "@effect-rl/core/backend"
import { Seed } from "@effect-rl/core/environments"
import type { Renderer, ResponseStream } from "@effect-rl/core/renderers"
import * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import * as Ref from "effect/Ref"
import * as Stream from "effect/Stream"
import * as Subject from "../eval/Subject.ts"
import * as SubjectFlags from "../eval/SubjectFlags.ts"
import * as NamedRecipe from "../NamedRecipe.ts"

export interface Flags extends SubjectFlags.Flags {
  readonly recipe: Option.Option<string>
  readonly maxTokens: number
  readonly temperature: number
  readonly seed: number
}

/** An answer of the model. */
export interface Answer {
  readonly message: Message.Message
  /** The whole sampled text, including thinking and markup. */
  readonly text: string
  readonly tokens: number
  readonly stopReason: Sampling.SampleStopReason | "interrupted"
}

export interface Listening {
  /** Receives the answer piece by piece during sampling. */
  readonly tell?: (delta: ResponseStream.Delta) => Effect.Effect<void>
  /** Stops the answer once this effect completes. */
  readonly interrupted?: Effect.Effect<void>
}

/** What was sampled so far. */
type Sampled = Pick<Answer, "stopReason"> & { readonly tokens: ReadonlyArray<number> }

const nothing: Sampled = { tokens: [], stopReason: "length" }

const joined = ({ stopReason, tokens }: Sampling.SampledTokens) => (before: Sampled): Sampled => ({
  tokens: [...before.tokens, ...tokens],
  stopReason
})

const cut = (before: Sampled): Sampled => ({ ...before, stopReason: "interrupted" })

/**
 * Tokens per request. The engine continues an answer at no cost. A service charges for the prompt of each request, so one request samples
 * the whole answer.
 */
const pieceTokens = ({ backend, maxTokens }: Flags) => backend === "engine" ? undefined : maxTokens

export interface Talker {
  readonly renderer: Renderer.Renderer
  /** Answers a conversation. Equal keys use equal seeds. */
  readonly answer: (
    messages: ReadonlyArray<Message.Message>,
    key: string,
    listening?: Listening
  ) => Effect.Effect<Answer, TinkerError.TinkerError | Renderer.RendererError>
}

const make = (
  { renderer, tokenizer }: ChatModel.ChatModel,
  client: SamplingClient.SamplingClient,
  flags: Flags
): Talker => {
  const { maxTokens, seed, temperature } = flags
  return {
    renderer,
    answer: Effect.fnUntraced(function*(messages, key, { interrupted = Effect.never, tell = () => Effect.void } = {}) {
      const sampled = yield* Ref.make(nothing)
      const prompt = yield* renderer.generationPrompt(messages)
      const params = { maxTokens, temperature, stop: renderer.stop, seed: Seed.derive(seed, key) }
      const reading = renderer.stream(messages)
      const tellAll = (deltas: ReadonlyArray<ResponseStream.Delta>) => Effect.forEach(deltas, tell, { discard: true })
      yield* SampleStream.pieces(client.sample, { prompt, params }, pieceTokens(flags)).pipe(
        Stream.interruptWhen(Effect.andThen(interrupted, Ref.update(sampled, cut))),
        Stream.tap((piece) => Ref.update(sampled, joined(piece))),
        Stream.runForEach(({ tokens }) => tellAll(reading.push(tokens)))
      )
      const { deltas, parsed: { message } } = yield* reading.end
      yield* tellAll(deltas)
      const { stopReason, tokens } = yield* Ref.get(sampled)
      return { message, text: tokenizer.decode(tokens), tokens: tokens.length, stopReason }
    })
  }
}

/** Runs the effect with a talker for the model or checkpoint that the flags select. */
export const withTalker = Effect.fnUntraced(function*<E, R>(
  flags: Flags,
  use: (talker: Talker, name: string) => Effect.Effect<void, E, R>
) {
  const recipe = yield* NamedRecipe.given(flags.recipe)
  const usual = recipe === undefined ? undefined : yield* NamedRecipe.usualModel(recipe)
  const subject = yield* Subject.resolve(flags.model, flags.checkpoint, usual)
  const program = Effect.scoped(Effect.gen(function*() {
    const model = recipe === undefined
      ? yield* ChatModel.resolve(subject.model)
      : (yield* NamedRecipe.task(recipe, subject.model)).model
    const talker = make(model, yield* Subject.sampler(subject), flags)
    yield* use(talker, subject.checkpoint ?? subject.model)
  }))
  yield* Effect.provide(program, SubjectFlags.backend(subject, flags))
})
