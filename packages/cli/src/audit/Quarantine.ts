/** A file of suspected rollouts, for a person to read or a later training to leave out. */
import type { RunStore } from "@effect-rl/core"
import { type Audit, Conversation, Rollouts, Story, StoryReader } from "@effect-rl/core/records"
import { Projection } from "@effect-rl/export"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as RolloutId from "../rollouts/RolloutId.ts"
import * as RunTokenizer from "../rollouts/RunTokenizer.ts"

/** The suspicions about each rollout, by rollout id. */
const suspicions = (findings: ReadonlyArray<Audit.Finding>) => {
  const found = new Map<string, ReadonlyArray<string>>()
  for (const { check, detail, group, members } of findings) {
    if (group === undefined) continue
    for (const member of members) {
      const id = RolloutId.format({ sequence: group.sequence, member })
      found.set(id, [...found.get(id) ?? [], `${check}: ${detail}`])
    }
  }
  return found
}

/**
 * Writes one line per suspected rollout with its conversation, reward, advantage and findings. Returns the number of suspected rollouts.
 */
export const write = Effect.fnUntraced(function*(
  run: RunStore.RunReader,
  findings: ReadonlyArray<Audit.Finding>,
  file: string
) {
  const suspected = suspicions(findings)
  const sequences = new Set(findings.flatMap(({ group }) => group === undefined ? [] : [group.sequence]))
  const language = yield* RunTokenizer.language(run)
  const lineOf = ({ advantage, group: { record }, member, reward, turns }: Rollouts.Told) => {
    const id = RolloutId.format({ sequence: record.sequence, member })
    const found = suspected.get(id)
    if (found === undefined) return []
    const messages = Conversation.toOpenAi(turns)
    const tools = Conversation.toOpenAiTools(turns)
    return [{
      id,
      iteration: record.iteration,
      group: record.key,
      member,
      reward,
      advantage: advantage ?? null,
      found,
      messages,
      ...(tools.length > 0 && { tools })
    }]
  }
  const story = yield* StoryReader.read(run)
  const batches = Story.batches(story).map((batch) => ({
    ...batch,
    groups: batch.groups.filter(({ sequence }) => sequences.has(sequence))
  }))
  const lines = Effect.fnUntraced(function*(batch: Story.Batch) {
    const { groups } = yield* Rollouts.load(run, story, batch)
    const members = yield* Effect.forEach(groups, (group) => Rollouts.told(group, language))
    return members.flat().flatMap(lineOf)
  })
  yield* Projection.writeLines(file, Stream.flattenIterable(Stream.mapEffect(Stream.fromIterable(batches), lines)))
  return suspected.size
})
