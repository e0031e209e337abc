import { Rl, RunRecord } from "@effect-rl/core"
import * as StepMetrics from "@effect-rl/core/rl/metrics/StepMetrics"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import * as Task from "../Task.ts"

describe("a backend's metrics", () => {
  it("get a prefix, except grad_norm and update_norm, so they cannot be mistaken for the run's", () => {
    const reported = { reward: 9, step: -1, "env/all/reward/total": 9, grad_norm: 0.5, update_norm: 0.1 }
    assert.deepStrictEqual(StepMetrics.ofService(reported), {
      "service/reward": 9,
      "service/step": -1,
      "service/env/all/reward/total": 9,
      grad_norm: 0.5,
      update_norm: 0.1
    })
  })

  it.effect("do not replace those of a run: its reward stays that of the environment", () =>
    Effect.gen(function*() {
      const reported = { "env/all/reward/total": 9, "tokens/trained": 9, step: 9 }
      const records = yield* Stream.unwrap(Effect.map(
        Task.options({ run: { iterations: 1 } }),
        (options) => Rl.run(options)
      )).pipe(
        Stream.runCollect,
        Effect.provide(Task.layer({ sample: Task.answersHalf, optimStep: () => reported }), { local: true })
      )
      const [{ metrics = {} } = {}] = records.filter(RunRecord.guards.Updated)
      assert.strictEqual(metrics["env/all/reward/total"], 0.5)
      assert.notStrictEqual(metrics["tokens/trained"], 9)
      assert.notProperty(metrics, "step")
      for (const name of Object.keys(reported)) assert.strictEqual(metrics[`service/${name}`], 9)
    }))

  it("are omitted if they are not numbers", () => {
    assert.deepStrictEqual(StepMetrics.ofService({ grad_norm: NaN, update_norm: Infinity, other: 1 }), {
      "service/other": 1
    })
  })
})
