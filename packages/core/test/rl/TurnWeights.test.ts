/** Newer weights are published during an episode. */
import { Loss, Pace, Rl, RunRecord } from "@effect-rl/core"
import { Executor, GroupResult } from "@effect-rl/core/program"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import * as Schedules from "./schedule/Schedules.ts"
import * as Task from "./Task.ts"

/** Group 1 takes 4 seconds. Group 0 is trained on after one second, and training takes half a second. */
const world: Schedules.World = {
  batches: [[{ seconds: 1 }], [{ seconds: 1, turns: 4 }], [{ seconds: 1 }]],
  trainSeconds: 0.5,
  publishSeconds: 0
}

/** The tokens of a turn, which are the step numbers of the weights that sampled it. */
const turnsOf = (result: GroupResult.GroupResult | undefined) => {
  if (result === undefined || GroupResult.isSkipped(result)) return []
  const [[, { transitions }] = [0, { transitions: [] }]] = GroupResult.survivors(result)
  return transitions.map(({ action: { samplerStep, tokens } }) => ({ samplerStep, tokens: [...tokens] }))
}

const ran = (settings: Pace.AsyncSettings) =>
  Effect.gen(function*() {
    const { records, results } = yield* Schedules.run(world, Pace.async({ maxStepsOffPolicy: 1, ...settings }))
    return {
      records: records.map(({ at: _at, ...record }) => record),
      results,
      turns: turnsOf(results.find(({ key }) => key === "1")),
      credited: records.filter(RunRecord.guards.Credited).find(({ iteration }) => iteration === 1),
      metrics: records.filter(RunRecord.guards.Updated).find(({ iteration }) => iteration === 1)?.metrics
    }
  })

describe("weights published during an episode", () => {
  it.live("sample its later turns, each with its weights recorded, if turns use the newest weights", () =>
    Effect.gen(function*() {
      const { credited, metrics, turns } = yield* ran({ turnWeights: "newest" })
      assert.deepStrictEqual(turns, [
        { samplerStep: 0, tokens: [0, 0] },
        { samplerStep: 0, tokens: [0, 0] },
        { samplerStep: 1, tokens: [1, 1] },
        { samplerStep: 1, tokens: [1, 1] }
      ])
      assert.deepInclude(metrics, {
        "async/newer_weights_min": 0,
        "async/newer_weights_mean": 0.5,
        "async/newer_weights_max": 1,
        "async/staleness_max": 1
      })
      assert.deepStrictEqual(credited?.groups.map(({ staleness }) => staleness), [{ inFlight: 1, inQueue: 0 }])
    }))

  it.live("do not affect a started episode by default", () =>
    Effect.gen(function*() {
      const unsaid = yield* ran({})
      assert.deepStrictEqual(
        unsaid.turns,
        Array.from({ length: 4 }, () => ({ samplerStep: undefined, tokens: [0, 0] }))
      )
      assert.notProperty(unsaid.metrics, "async/newer_weights_max")
      const pinned = yield* ran({ turnWeights: "pinned" })
      assert.deepStrictEqual([pinned.records, pinned.results], [unsaid.records, unsaid.results])
    }))

  it.effect("are part of the run's identity if turns use the newest weights", () =>
    Effect.gen(function*() {
      const identityOf = (settings: Pace.AsyncSettings) => Effect.map(Pace.resolve(Pace.async(settings)), Pace.identity)
      const pinned = { pace: { max_steps_off_policy: 1, on_stale: "wait", minibatches: null } }
      const newest = { pace: { ...pinned.pace, turn_weights: "newest" } }
      assert.deepStrictEqual(yield* identityOf({}), pinned)
      assert.deepStrictEqual(yield* identityOf({ turnWeights: "pinned" }), pinned)
      assert.deepStrictEqual(yield* identityOf({ turnWeights: "newest" }), newest)
    }))

  it.live("are refused for groups that an executor rolls out in other processes", () =>
    Effect.gen(function*() {
      const options = yield* Task.options({ update: { loss: Loss.ppo() } })
      const executor: Executor.Executor = { roll: () => Effect.die("no group is sent") }
      const error = yield* Rl.run({ ...options, pace: Pace.async({ turnWeights: "newest" }) }).pipe(
        Stream.runDrain,
        Effect.provideService(Executor.Executor, executor),
        Effect.flip
      )
      assert.include(String(error), `pace.turnWeights is "newest", expected "pinned", or no Executor`)
    }).pipe(Effect.provide(Task.layer({ sample: Task.answersHalf }))))
})
