/** The chunks that OpenAI's clients read of several choices at once. */
import type { ModelInput } from "@effect-rl/core/backend"
import * as Effect from "effect/Effect"
import * as Ref from "effect/Ref"
import * as Stream from "effect/Stream"
import type { Prompted } from "../Answerer.ts"
import * as EventStream from "../EventStream.ts"
import type { Refusal } from "../Refusal.ts"
import * as Reply from "../Reply.ts"
import * as OpenAiAnswer from "./OpenAiAnswer.ts"

/** Fields that all chunks of an answer share. */
export type Head = Readonly<Record<string, unknown>>

const failed = (refusal: Refusal): ReadonlyArray<EventStream.Event> => [{
  data: JSON.stringify({ error: OpenAiAnswer.error(refusal) })
}]

const usageChunk = (head: Head, prompt: ModelInput.ModelInput, sampled: Ref.Ref<number>) =>
  Stream.fromEffect(Effect.map(Ref.get(sampled), (sum) => ({
    ...head,
    choices: [],
    usage: OpenAiAnswer.usage(prompt, sum)
  })))

/** All choices as they come, each through `choices`, then the token usage where that is asked for. */
export const respond = Effect.fnUntraced(function*(
  prompted: Prompted,
  head: Head,
  includeUsage: boolean,
  choices: (events: Stream.Stream<Reply.Event, Refusal>) => Stream.Stream<object, Refusal>
) {
  const sampled = yield* Ref.make(0)
  const { numSamples, prompt } = prompted.request
  const choice = (index: number) =>
    Reply.stream(prompted, index).pipe(
      Stream.tap((event) => event._tag === "Ended" ? Ref.update(sampled, (sum) => sum + event.sampled) : Effect.void),
      choices,
      Stream.map((choice) => ({ ...head, choices: [{ index, ...choice }] }))
    )
  const events = Stream.flatMap(Stream.range(0, numSamples - 1), choice, { concurrency: numSamples }).pipe(
    Stream.concat(includeUsage ? usageChunk(head, prompt, sampled) : Stream.empty),
    Stream.map((chunk): EventStream.Event => ({ data: JSON.stringify(chunk) })),
    Stream.concat(Stream.succeed({ data: "[DONE]" }))
  )
  return EventStream.respond(events, failed)
})
