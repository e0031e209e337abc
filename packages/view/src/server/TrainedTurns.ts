/** The recorded effects of updates on each turn's tokens. */
import type { RunStore } from "@effect-rl/core"
import { Key, type Trajectory } from "@effect-rl/core/environments"
import { Story, TrainedTokens } from "@effect-rl/core/records"
import * as Effect from "effect/Effect"
import type * as Entry from "../story/Entry.ts"

/** A turn's values, one per sampled token. */
export interface TrainedTurn {
  readonly logprobs: Float32Array
  readonly advantages: Float32Array
}

const none: ReadonlyArray<TrainedTokens.Datum> = []

/** Reads a group's datums; empty if the run recorded none, or in a format that this version cannot read. */
export const reader = (run: RunStore.RunReader, story: Story.Story) => {
  let last: { readonly iteration: number; readonly datums: ReadonlyArray<TrainedTokens.Datum> } | undefined
  const datumsOf = Effect.fnUntraced(function*(iteration: number) {
    const payload = Story.iteration(story, iteration).updated?.payload
    if (payload === undefined) return none
    return yield* run.payload(payload).pipe(
      Effect.flatMap(TrainedTokens.decode),
      Effect.map(({ datums }) => datums),
      Effect.catchTag("SchemaError", () => Effect.succeed(none))
    )
  })
  return Effect.fnUntraced(function*(group: Entry.Group) {
    const { iteration: batch, key } = group
    if (group.evaluator !== undefined) return none
    const { update: iteration = batch } = Story.credit(story, group) ?? {}
    if (last?.iteration !== iteration) last = { iteration, datums: yield* datumsOf(iteration) }
    return last.datums.filter(({ group, iteration: of = batch }) => group === key && of === batch)
  })
}

const lengthOf = (turn: Trajectory.Transition | undefined) => turn?.trainable === true ? turn.action.tokens.length : 0

/** A member's trained turns by turn index. */
export const ofMember = (
  datums: ReadonlyArray<TrainedTokens.Datum>,
  member: number,
  transitions: ReadonlyArray<Trajectory.Transition>
): ReadonlyMap<number, TrainedTurn> => {
  const found = new Map<number, TrainedTurn>()
  for (const datum of datums) {
    const { advantages, logprobs } = datum
    const lengths = Key.decodeTurns(datum).map((turn) => [turn, lengthOf(transitions[turn])] as const)
    // A truncated datum does not record which tokens it omits.
    if (datum.member !== member || lengths.reduce((sum, [, length]) => sum + length, 0) !== logprobs.length) continue
    let at = 0
    for (const [turn, length] of lengths) {
      const end = at + length
      if (end > at) found.set(turn, { logprobs: logprobs.subarray(at, end), advantages: advantages.subarray(at, end) })
      at = end
    }
  }
  return found
}
