/** The chunks that OpenAI's clients read of several choices at once. */
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

/** An answer that is streamed. */
export interface Answer {
  /** Prompts in their order, each with its number of choices. */
  readonly prompts: ReadonlyArray<Prompted>
  readonly notes: Notes
  /** Fields that all chunks share. */
  readonly head: Readonly<Record<string, unknown>>
  readonly includeUsage: boolean
  /** Fields of a chunk without choices that comes before all others; no such chunk unless given. */
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

/** A choice by its place among those of all prompts. */
interface Choice {
  readonly prompted: Prompted
  readonly reply: number
  readonly index: number
}

const choicesOf = (prompts: ReadonlyArray<Prompted>): ReadonlyArray<Choice> =>
  prompts
    .flatMap((prompted) => Array.from({ length: prompted.request.numSamples }, (_, reply) => ({ prompted, reply })))
    .map((choice, index) => ({ ...choice, index }))

/** All chunks as they come, each with a choice, then the token usage where that is asked for. */
export const sent = (chunks: Stream.Stream<object, Refusal>): HttpServerResponse.HttpServerResponse =>
  EventStream.respond(
    chunks.pipe(
      Stream.map((chunk): EventStream.Event => ({ data: JSON.stringify(chunk) })),
      Stream.concat(Stream.succeed({ data: "[DONE]" }))
    ),
    failed
  )

/** All choices as they come, each through `shown`. */
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
