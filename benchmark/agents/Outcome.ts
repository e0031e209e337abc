/** The outcome of a run that was evaluated before and after training. */
import { RunRecord } from "@effect-rl/core"
import { Clock, Effect } from "effect"
import { loadavg } from "node:os"
import type * as Kept from "../learning/Kept.ts"

const scoreOf = ({ score }: RunRecord.Evaluated): Kept.Score =>
  score === undefined ? { value: NaN } : { value: score.value, interval: [score.low, score.high] }

/** Reads the records of a run that began at `began`, in milliseconds. */
export const of = Effect.fnUntraced(function*(
  records: ReadonlyArray<RunRecord.RunRecord>,
  began: number,
  besides: Readonly<Record<string, number>> = {}
) {
  const [before, ...later] = records.filter(RunRecord.guards.Evaluated).map(scoreOf)
  const after = later.at(-1)
  if (before === undefined || after === undefined) return yield* Effect.die("the run has no evaluation")
  const outcome: Kept.Outcome = {
    curve: records.filter(RunRecord.guards.Updated).flatMap(({ reward }) => reward?.mean ?? []),
    before,
    after,
    besides: {
      ...besides,
      seconds: ((yield* Clock.currentTimeMillis) - began) / 1000,
      load: loadavg()[0] ?? NaN
    }
  }
  return outcome
})
