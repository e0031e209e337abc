/** Outcomes of a run's groups, for datasets that choose batches by how earlier ones went. */
import * as Effect from "effect/Effect"
import * as Ref from "effect/Ref"
import * as Stream from "effect/Stream"
import * as History from "../../data/History.ts"
import type { RLDataset } from "../../data/RLDataset.ts"
import * as RunRecord from "../../records/RunRecord.ts"
import { type RunError, RunStore } from "../../records/RunStore.ts"
import * as GroupResult from "../../rollout/GroupResult.ts"

/** The history of the iterations so far; it stays empty for a dataset that does not read it. */
export interface Tracker {
  readonly history: Effect.Effect<History.History>
  readonly add: (iteration: number, results: ReadonlyArray<GroupResult.GroupResult>) => Effect.Effect<void>
}

const outcome = (iteration: number, result: GroupResult.GroupResult): History.Outcome => ({
  iteration,
  key: result.key,
  rewards: GroupResult.isSkipped(result) ? [] : Array.from(result.rewardsG).filter(Number.isFinite)
})

/** The history that a stored run has recorded before `iteration`. */
const recorded = Effect.fnUntraced(function*(iteration: number) {
  const store = yield* RunStore
  const records = RunRecord.current(yield* Stream.runCollect(store.read))
  const outcomes = records.flatMap((record): ReadonlyArray<History.Outcome> =>
    record._tag === "GroupRolledOut" && record.evaluator === undefined && record.iteration < iteration
      ? [{ iteration: record.iteration, key: record.key, rewards: record.rewards.filter(Number.isFinite) }]
      : []
  )
  return History.fromOutcomes(outcomes)
})

/** Tracks outcomes from `iteration` on, beginning with what the run's store has of earlier iterations. */
export const tracker = Effect.fnUntraced(function*<E, R>(
  { readsHistory = false }: Pick<RLDataset<E, R>, "readsHistory">,
  iteration: number
): Effect.fn.Return<Tracker, RunError, RunStore> {
  const history = yield* Ref.make(readsHistory ? yield* recorded(iteration) : History.empty)
  return {
    history: Ref.get(history),
    add: (iteration, results) =>
      readsHistory
        ? Ref.update(history, (before) => History.extend(before, results.map((result) => outcome(iteration, result))))
        : Effect.void
  }
})
