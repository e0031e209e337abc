/** Model replies, sampled whole or read while they are sampled. */
import { type ModelInput, SampleStream, type Sampling } from "@effect-rl/core/backend"
import type { Renderer, ResponseStream } from "@effect-rl/core/renderers"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { Prompted, Replied } from "./Answerer.ts"
import * as LimitedCalls from "./LimitedCalls.ts"
import type { Notes } from "./Notes.ts"
import { invalid, type Refusal } from "./Refusal.ts"
import * as StopText from "./StopText.ts"

/** Tokens as they were sampled, with their log-probabilities. */
export interface Sampled {
  readonly _tag: "Sampled"
  readonly sequence: Sampling.SampledTokens
}

/** A finished reply. */
export interface Ended extends Omit<Replied, "index" | "sequences"> {
  readonly _tag: "Ended"
  /** The number of sampled tokens. */
  readonly sampled: number
}

export type Event = Sampled | ResponseStream.Delta | Ended

/** A complete reply, which may have been sampled in several pieces. */
export interface Whole {
  readonly sequences: ReadonlyArray<Sampling.SampledTokens>
  readonly ended: Ended
}

/** The part of a reply that has been read so far. */
interface Reading {
  /** Tokens held back because they may begin a stop text; see `StopText`. */
  readonly held: Int32Array
  /** Whether the reply ended before the model's own stop: at a stop text of the client, or after its only allowed call. */
  readonly isOver: boolean
  readonly stop: string | undefined
  readonly sequences: ReadonlyArray<Sampling.SampledTokens>
}

const none = new Int32Array(0)

const unread: Reading = { held: none, isOver: false, stop: undefined, sequences: [] }

const joined = (left: Int32Array, right: Int32Array) => left.length === 0 ? right : Int32Array.from([...left, ...right])

const firstOf = (sequence: Sampling.SampledTokens, length: number): Sampling.SampledTokens => {
  const { logprobs, maskedLogprobs, tokens, topkLogprobs } = sequence
  if (length === tokens.length) return sequence
  return {
    ...sequence,
    tokens: tokens.slice(0, length),
    logprobs: logprobs.slice(0, length),
    ...(maskedLogprobs === undefined ? {} : { maskedLogprobs: maskedLogprobs.slice(0, length) }),
    ...(topkLogprobs === undefined ? {} : { topkLogprobs: topkLogprobs.slice(0, length) })
  }
}

/** The end of reply `index`, which was parsed to `parsed`. */
const endOf = Effect.fnUntraced(function*(
  { replied }: Prompted,
  notes: Notes,
  { index, isOver, parsed, sequences, stop }: Omit<Reading, "held"> & Pick<Replied, "index" | "parsed">
) {
  const isCut = !isOver && (sequences.at(-1)?.stopReason !== "stop" || parsed.termination === "malformed")
  const warnings = yield* notes.warnings(parsed.message)
  const sampled = sequences.reduce((sum, { tokens }) => sum + tokens.length, 0)
  yield* replied({ index, sequences, parsed, isCut, stop, warnings })
  return { _tag: "Ended", parsed, isCut, stop, warnings, sampled } satisfies Ended
})

const unreadable = ({ message }: Renderer.RendererError) => invalid(message)

/** Reads the pieces of one reply. If the client's stop text or the call limit ended the reply, the model's own stop is read instead. */
const readerOf = (prompted: Prompted, notes: Notes, index: number) => {
  const { chatModel: { tokenizer }, closing, isOneCall, stops } = prompted
  const names = prompted.callNames(index)
  const reader = LimitedCalls.make(prompted.read(), isOneCall ? 1 : Infinity)
  let reading = unread

  const push = (sequence: Sampling.SampledTokens): ReadonlyArray<Event> => {
    const tokens = joined(reading.held, sequence.tokens)
    const { held, passed, stop } = StopText.find(tokenizer, stops, tokens)
    const { deltas, read } = reader.until(passed)
    const isCalled = reader.isFull()
    const kept = isCalled && passed === sequence.tokens ? firstOf(sequence, read) : sequence
    reading = {
      held: isCalled ? none : held,
      isOver: isCalled || stop !== undefined,
      stop: isCalled ? undefined : stop,
      sequences: [...reading.sequences, kept]
    }
    return [{ _tag: "Sampled", sequence: kept }, ...names.deltas(deltas)]
  }

  const end = Effect.gen(function*() {
    const { held, ...read } = reading
    const last = reader.push(read.isOver ? closing : held)
    const { deltas, parsed } = yield* Effect.mapError(reader.end, unreadable)
    const named = names.deltas([...last, ...deltas])
    return { deltas: named, ended: yield* endOf(prompted, notes, { ...read, index, parsed: names.parsed(parsed) }) }
  })

  return { push, end, isOver: () => reading.isOver }
}

/** The request for reply `index` alone. With a seed, reply `index` uses seed + `index`, as in a joint request. */
const alone = (request: Sampling.SampleRequest, index: number): Sampling.SampleRequest => {
  const { params } = request
  return params.seed === undefined ? request : { ...request, params: { ...params, seed: params.seed + index } }
}

/** Streams reply `index`: its sampled tokens and the deltas of its message, then its end. */
export const stream = (prompted: Prompted, notes: Notes, index = 0): Stream.Stream<Event, Refusal> =>
  Stream.suspend(() => {
    const { request, sample } = prompted
    const reader = readerOf(prompted, notes, index)
    return Stream.concat(
      SampleStream.pieces(sample, alone(request, index)).pipe(
        Stream.map(reader.push),
        Stream.takeUntil(reader.isOver),
        Stream.flatMap(Stream.fromIterable)
      ),
      Stream.fromIterableEffect(Effect.map(reader.end, ({ deltas, ended }): ReadonlyArray<Event> => [...deltas, ended]))
    )
  })

const collected = (prompted: Prompted, notes: Notes, index: number) =>
  Effect.map(Stream.runCollect(stream(prompted, notes, index)), (events): ReadonlyArray<Whole> => {
    const sequences = events.flatMap((event) => event._tag === "Sampled" ? [event.sequence] : [])
    return events.flatMap((event) => event._tag === "Ended" ? [{ sequences, ended: event }] : [])
  })

const read = Effect.fnUntraced(function*(
  prompted: Prompted,
  notes: Notes,
  sequence: Sampling.SampledTokens,
  index: number
) {
  const sequences = [sequence]
  const found = yield* Effect.mapError(prompted.parse(sequence.tokens), unreadable)
  const parsed = prompted.callNames(index).parsed(found)
  const ended = yield* endOf(prompted, notes, { index, isOver: false, parsed, sequences, stop: undefined })
  return { sequences, ended } satisfies Whole
})

/**
 * Samples the requested number of replies. The replies share one prefill of the prompt, unless a reply may end at a stop text or after its
 * first call.
 */
export const whole = Effect.fnUntraced(function*(
  prompted: Prompted,
  notes: Notes
): Effect.fn.Return<ReadonlyArray<Whole>, Refusal> {
  const { isOneCall, request, sample, stops } = prompted
  if (stops.length === 0 && !isOneCall) {
    const { sequences } = yield* sample(request)
    return yield* Effect.forEach(sequences, (sequence, index) => read(prompted, notes, sequence, index))
  }
  const indices = Array.from({ length: request.numSamples }, (_, index) => index)
  const replies = Effect.forEach(indices, (index) => collected(prompted, notes, index), { concurrency: "unbounded" })
  return (yield* replies).flat()
})

/** An answer's `warnings` field; no field if there are no warnings. */
export const warned = ({ warnings }: Ended) => warnings.length === 0 ? {} : { warnings }

/** The prompt's token ids, without images. */
export const promptIds = ({ chunks }: ModelInput.ModelInput) =>
  chunks.flatMap((chunk) => chunk._tag === "Image" ? [] : [...chunk.tokens])

/** The ids of sampled tokens. */
export const tokenIds = (sequences: Whole["sequences"]) => sequences.flatMap(({ tokens }) => [...tokens])

/** The token ids of the prompt and of a reply. */
export const allIds = ({ request: { prompt } }: Prompted, { sequences }: Pick<Whole, "sequences">) => ({
  prompt_token_ids: promptIds(prompt),
  token_ids: tokenIds(sequences)
})
