/** Conversations with rewards and advantages as JSON lines, in the shape of OpenAI's chat format. */
import { Conversation, Departure, type Rollouts } from "@effect-rl/core/records"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as Projection from "./Projection.ts"

const finite = (value: number | undefined) => value !== undefined && Number.isFinite(value) ? value : null

const lineOf = (
  { evaluator, iteration }: Projection.Batch,
  { advantage, group, member, reward, turns }: Rollouts.Told,
  departures: ReadonlyArray<Departure.Departure> | null
) => ({
  messages: Conversation.toOpenAi(turns),
  reward: finite(reward),
  advantage: finite(advantage),
  iteration,
  evaluator: evaluator ?? null,
  group: group.record.key,
  member,
  tags: group.record.tags,
  departures
})

/**
 * Writes one line for each member that finished; `advantage` is null where no update used it. `departures` names the turns whose prompts,
 * rendered again from the messages, are not the recorded tokens; it is null where the run's renderer is not known.
 *
 * @example
 * ChatJsonLines.write(reader, "chat.jsonl", { language: tokenizer })
 */
export const write: Projection.Projection = (run, out, { language } = {}) => {
  const linesOf = (batch: Projection.Batch) =>
    Effect.forEach(batch.members, (member) =>
      Effect.map(
        language?.render === undefined
          ? Effect.succeed(null)
          : Departure.of(member.trajectory, member.turns, language.render),
        (departures) => lineOf(batch, member, departures)
      ))
  return Projection.writeLines(
    out,
    Stream.flattenIterable(Stream.mapEffect(Projection.batches(run, language), linesOf))
  )
}
