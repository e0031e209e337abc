/** Streams several choices at once as the chunks that OpenAI clients read. */
import * as Effect from "effect/Effect"
import type * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Ref from "effect/Ref"
import * as Stream from "effect/Stream"
import type { Prompted } from "../Answerer.ts"
import * as EventStream from "../EventStream.ts"
import type { Notes } from "../Notes.ts"
import type { Refusal } from "../Refusal.ts"
import * as Reply from "../Reply.ts"
import * as OpenAiAnswer from "./OpenAiAnswer.ts"

/** The parts of a streamed answer. */
export interface Answer {
  /** The prompts in order, each with its number of choices. */
  readonly prompts: ReadonlyArray<Prompted>
  readonly notes: Notes
  /** Fields of every chunk. */
  readonly head: Readonly<Record<string, unknown>>
  readonly includeUsage: boolean
  /** Fields of an initial chunk without choices. Default: no such chunk. */
  readonly first?: object
}

const failed = (refusal: Refusal): ReadonlyArray<EventStream.Event> => [{
  data: JSON.stringify({ error: OpenAiAnswer.error(refusal) })
}]

const usageChunk = ({ head, prompts }: Answer, sampled: Ref.Ref<number>) =>
  Stream.fromEffect(Effect.map(Ref.get(sampled), (sum) => ({
    ...head,
    choices: [],
    usage: OpenAiAnswer.usage(prompts.map(({ request: { prompt } }) => prompt), sum)
  })))

/** A choice, with its index among the choices for all prompts. */
interface Choice {
  readonly prompted: Prompted
  readonly reply: number
  readonly index: number
}

const choicesOf = (prompts: ReadonlyArray<Prompted>): ReadonlyArray<Choice> =>
  prompts
    .flatMap((prompted) => Array.from({ length: prompted.request.numSamples }, (_, reply) => ({ prompted, reply })))
    .map((choice, index) => ({ ...choice, index }))

/** Sends chunks as server-sent events as they arrive. */
export const sent = (chunks: Stream.Stream<object, Refusal>): HttpServerResponse.HttpServerResponse =>
  EventStream.respond(
    chunks.pipe(
      Stream.map((chunk): EventStream.Event => ({ data: JSON.stringify(chunk) })),
      Stream.concat(Stream.succeed({ data: "[DONE]" }))
    ),
    failed
  )

/** Streams all choices as they are sampled, each event converted by `shown`, then the token usage if it was requested. */
export const respond = Effect.fnUntraced(function*(
  answer: Answer,
  shown: (events: Stream.Stream<Reply.Event, Refusal>, prompted: Prompted) => Stream.Stream<object, Refusal>
) {
  const { first, head, includeUsage, notes, prompts } = answer
  const sampled = yield* Ref.make(0)
  const choices = choicesOf(prompts)
  const chunks = ({ index, prompted, reply }: Choice) =>
    Reply.stream(prompted, notes, reply).pipe(
      Stream.tap((event) => event._tag === "Ended" ? Ref.update(sampled, (sum) => sum + event.sampled) : Effect.void),
      (events) => shown(events, prompted),
      Stream.map((choice) => ({ ...head, choices: [{ index, ...choice }] }))
    )
  const before = first === undefined ? [] : [{ ...head, choices: [], ...first }]
  return sent(
    Stream.fromIterable<object>(before).pipe(
      Stream.concat(Stream.flatMap(Stream.fromIterable(choices), chunks, { concurrency: choices.length })),
      Stream.concat(includeUsage ? usageChunk(answer, sampled) : Stream.empty)
    )
  )
})
