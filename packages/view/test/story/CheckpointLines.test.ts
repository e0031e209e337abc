import type { RunRecord } from "@effect-rl/core"
import { Recorded, Story } from "@effect-rl/core/records"
import * as CheckpointLines from "@effect-rl/view/story/CheckpointLines"
import { assert, describe, it } from "@effect/vitest"
import * as Entries from "../Recorded.ts"

/** A run with a checkpoint after each of two iterations, and an evaluation of each checkpoint. */
const story = (measured: (iteration: number) => Partial<Extract<RunRecord.Entry, { readonly _tag: "Evaluated" }>>) => {
  const entries: ReadonlyArray<RunRecord.Entry> = [1, 2].flatMap((iteration): ReadonlyArray<RunRecord.Entry> => {
    const { _tag: _, reward: _reward, score: _score, ...evaluated } = Entries.evaluated(iteration, 0.5)
    return [
      { _tag: "Evaluated", ...evaluated, ...measured(iteration) },
      Entries.saved(iteration, `after-${iteration}`)
    ]
  })
  return Story.fromRecords(
    [Entries.opened(-1), ...entries].map((entry, sequence) =>
      Recorded.make({ ...entry, segment: 1, sequence, at: 1000 * sequence })
    )
  )
}

describe("CheckpointLines", () => {
  it("show the held-out loss of a checkpoint; the lowest is the best", () => {
    const supervised = story((iteration) => ({ metrics: { "held_out/nll": iteration } }))
    const [newest] = CheckpointLines.of(supervised)
    assert.deepInclude(newest?.measured[0], { evaluator: "held_out", metric: "nll", unit: "nats", value: 2 })
    assert.strictEqual(CheckpointLines.best(supervised)?.name, "after-1")
  })

  it("show a margin and a share of right answers; the highest is the best", () => {
    const preferred = story((iteration) => ({ metrics: { "held_out/margin": iteration } }))
    assert.strictEqual(CheckpointLines.best(preferred)?.name, "after-2")
    const answered = story((iteration) => ({ metrics: {}, score: { value: 1 / iteration, low: 0, high: 1 } }))
    assert.strictEqual(CheckpointLines.best(answered)?.name, "after-1")
  })

  it("are sorted newest first if nothing was measured", () => {
    assert.strictEqual(CheckpointLines.best(story(() => ({ metrics: {} })))?.name, "after-2")
  })
})
