/** Replies of a model: sampled whole, or read while they are sampled. */
import { SampleStream, type Sampling } from "@effect-rl/core/backend"
import type { Renderer, ResponseStream } from "@effect-rl/core/renderers"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { Prompted } from "./Answerer.ts"
import type * as CallNames from "./CallNames.ts"
import { invalid, type Refusal } from "./Refusal.ts"
import * as StopText from "./StopText.ts"

/** Tokens as they were sampled, with their log-probabilities. */
export interface Sampled {
  readonly _tag: "Sampled"
  readonly sequence: Sampling.SampledTokens
}

/** A reply that is over. */
export interface Ended {
  readonly _tag: "Ended"
  readonly parsed: Renderer.Parsed
  /** Whether it was cut: at its limit, or by the model in the middle of a part. */
  readonly isCut: boolean
  /** The text of the client's own at which it ended. */
  readonly stop: string | undefined
  /** The number of sampled tokens. */
  readonly sampled: number
}

export type Event = Sampled | ResponseStream.Delta | Ended

/** A reply that was sampled whole, perhaps in several pieces. */
export interface Whole {
  readonly sequences: ReadonlyArray<Sampling.SampledTokens>
  readonly ended: Ended
}

/** How far a reply has been read. */
interface Reading {
  /** Tokens that may begin a stop; see `StopText`. */
  readonly held: Int32Array
  readonly stop: string | undefined
  readonly sampled: number
  readonly stopReason: Sampling.SampleStopReason
}

const none = new Int32Array(0)

const unread: Reading = { held: none, stop: undefined, sampled: 0, stopReason: "length" }

const after = (
  { sampled }: Reading,
  { stopReason, tokens }: Sampling.SampledTokens,
  { held, stop }: StopText.Found
): Reading => ({ held, stop, sampled: sampled + tokens.length, stopReason })

const joined = (left: Int32Array, right: Int32Array) => left.length === 0 ? right : Int32Array.from([...left, ...right])

/** A stop text of the client replaces the model's own stop. */
const end = (
  reader: ResponseStream.ResponseStream,
  names: CallNames.CallNames,
  { closing }: Prompted,
  reading: Reading
) =>
  Effect.suspend(() => {
    const { held, sampled, stop, stopReason } = reading
    const last = reader.push(stop === undefined ? held : closing)
    return Effect.mapBoth(reader.end, {
      onSuccess: ({ deltas, parsed }) => {
        const isCut = stop === undefined && (stopReason === "length" || parsed.termination === "malformed")
        const named = names.deltas([...last, ...deltas])
        const ended: Ended = { _tag: "Ended", parsed: names.parsed(parsed), isCut, stop, sampled }
        return { deltas: named, ended }
      },
      onFailure: ({ message }) => invalid(message)
    })
  })

/** The request of reply `index` alone. */
const alone = (request: Sampling.SampleRequest, index: number): Sampling.SampleRequest => {
  const { params } = request
  return params.seed === undefined ? request : { ...request, params: { ...params, seed: params.seed + index } }
}

/** Reply `index`: the deltas of its message as it is sampled, and its end. */
export const stream = (prompted: Prompted, index = 0): Stream.Stream<Event, Refusal> =>
  Stream.suspend(() => {
    const { chatModel: { tokenizer }, request, sample, stops } = prompted
    const reader = prompted.read()
    const names = prompted.callNames(index)
    let reading = unread
    const step = (sequence: Sampling.SampledTokens): ReadonlyArray<Event> => {
      const found = StopText.find(tokenizer, stops, joined(reading.held, sequence.tokens))
      reading = after(reading, sequence, found)
      return [{ _tag: "Sampled", sequence }, ...names.deltas(reader.push(found.passed))]
    }
    const last = Effect.suspend(() => end(reader, names, prompted, reading))
    return Stream.concat(
      SampleStream.pieces(sample, alone(request, index)).pipe(
        Stream.map(step),
        Stream.takeUntil(() => reading.stop !== undefined),
        Stream.flatMap(Stream.fromIterable)
      ),
      Stream.fromIterableEffect(Effect.map(last, ({ deltas, ended }): ReadonlyArray<Event> => [...deltas, ended]))
    )
  })

const collected = (prompted: Prompted, index: number) =>
  Effect.map(Stream.runCollect(stream(prompted, index)), (events): ReadonlyArray<Whole> => {
    const sequences = events.flatMap((event) => event._tag === "Sampled" ? [event.sequence] : [])
    return events.flatMap((event) => event._tag === "Ended" ? [{ sequences, ended: event }] : [])
  })

const read = (prompted: Prompted, sequence: Sampling.SampledTokens, index: number) => {
  const found: StopText.Found = { passed: none, held: sequence.tokens, stop: undefined }
  const reading = after(unread, sequence, found)
  return Effect.map(
    end(prompted.read(), prompted.callNames(index), prompted, reading),
    ({ ended }): Whole => ({ sequences: [sequence], ended })
  )
}

/** The requested number of replies. They share the prompt's computation unless they end at a client's stop text. */
export const whole = Effect.fnUntraced(function*(prompted: Prompted) {
  const { request, sample, stops } = prompted
  if (stops.length === 0) {
    const { sequences } = yield* sample(request)
    return yield* Effect.forEach(sequences, (sequence, index) => read(prompted, sequence, index))
  }
  const indices = Array.from({ length: request.numSamples }, (_, index) => index)
  const replies = Effect.forEach(indices, (index) => collected(prompted, index), { concurrency: "unbounded" })
  return (yield* replies).flat()
})
