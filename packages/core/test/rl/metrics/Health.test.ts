import { Health, Loss, Pace, Rl, RunRecord } from "@effect-rl/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import * as Task from "../Task.ts"

const trained = Stream.unwrap(Effect.map(
  Task.options({ run: { iterations: 1 } }),
  (options) => Rl.run(options)
)).pipe(Stream.runCollect)

/** Metrics of only some losses, backends, paces, tasks or long runs. */
const conditional = [
  "optim/clipped_share",
  "grad_norm",
  "update_norm",
  "async/in_flight_max",
  "async/in_queue_max",
  "async/excess",
  "drift/response_tokens",
  "drift/truncated",
  "optim/kl_by_depth/*",
  "teacher_forbidden",
  "kl_forbidden"
]

const has = (metrics: Readonly<Record<string, number>>, metric: string) =>
  Object.keys(metrics).some((name) => metric.endsWith("/*") ? name.startsWith(metric.slice(0, -1)) : name === metric)

describe("Health.signs", () => {
  it.effect("refer to metrics that a run reports", () =>
    Effect.gen(function*() {
      const { metrics } = (yield* trained).find(RunRecord.guards.Updated) ?? assert.fail("no update")
      for (const { metric } of Health.signs) {
        if (!conditional.includes(metric)) assert.isTrue(has(metrics, metric), metric)
      }
    }).pipe(Effect.provide(Task.layer({ sample: Task.answersHalf }))))

  it.effect("refer to the metrics of groups in flight in runs that sample ahead", () =>
    Effect.gen(function*() {
      const options = yield* Task.options({ epochs: 2 })
      const ahead = { pace: Pace.async({ maxStepsOffPolicy: 1 }), update: { loss: Loss.ppo() } }
      const records = yield* Stream.runCollect(Rl.run({ ...options, ...ahead }))
      const { metrics } = records.findLast(RunRecord.guards.Updated) ?? assert.fail("no update")
      for (const name of ["async/in_flight_max", "async/in_queue_max", "async/excess", "optim/clipped_share"]) {
        assert.property(metrics, name)
        assert.isTrue(Health.signs.some(({ metric }) => metric === name))
      }
    }).pipe(Effect.provide(Task.layer({ sample: Task.answersHalf }))))

  it("are distinguished by their metrics, and each has a meaning", () => {
    assert.strictEqual(new Set(Health.signs.map(({ metric }) => metric)).size, Health.signs.length)
    assert.isTrue(Health.signs.every(({ meaning, title }) => meaning.length > 20 && title.length > 0))
  })
})

describe("a metric that should be 0", () => {
  it.each(["teacher_forbidden", "kl_forbidden", "members/lost"])("is a concern above 0: %s", (metric) => {
    assert.deepStrictEqual(Health.concerns({ [metric]: 0 }), [])
    assert.deepStrictEqual(Health.concerns({ [metric]: 0.01 }).map(({ metric }) => metric), [metric])
  })
})

describe("Health.meaning", () => {
  it.effect("is known for every metric of a run", () =>
    Effect.gen(function*() {
      const { metrics } = (yield* trained).find(RunRecord.guards.Updated) ?? assert.fail("no update")
      assert.deepStrictEqual(Object.keys(metrics).filter((metric) => Health.meaning(metric) === undefined), [])
    }).pipe(Effect.provide(Task.layer({ sample: Task.answersHalf }))))

  it("names the part, the tag, and the environment's metric", () => {
    assert.strictEqual(Health.meaning("members/lost/TimedOut"), "Attempts that were left out because of TimedOut")
    assert.strictEqual(
      Health.meaning("env/carry/stop/max_turns"),
      "Share of the attempts that ended by max_turns, on problems tagged carry"
    )
    assert.strictEqual(Health.meaning("env/all/correct"), "What the environment reports as correct")
    assert.isUndefined(Health.meaning("temperature of the room"))
  })
})

describe("Health.concerns", () => {
  it("are the metrics outside their range, in table order", () => {
    const concerns = Health.concerns({
      "optim/kl_sample_train_v2": 0.2,
      "optim/effective_sample_size": 0.1,
      "optim/ratio_max": 2,
      "optim/entropy": NaN,
      "grad_norm": 5,
      "env/all/by_group/frac_mixed": 0
    })
    assert.deepStrictEqual(concerns.map(({ sign, value }) => [sign.metric, value]), [
      ["optim/effective_sample_size", 0.1],
      ["optim/kl_sample_train_v2", 0.2],
      ["optim/entropy", NaN],
      ["env/all/by_group/frac_mixed", 0]
    ])
  })

  it("cover each metric that a sign stands for", () => {
    const concerns = Health.concerns({ "optim/kl_by_depth/0": 0.002, "optim/kl_by_depth/65536": 0.16 })
    assert.deepStrictEqual(concerns.map(({ metric, value }) => [metric, value]), [["optim/kl_by_depth/65536", 0.16]])
  })
})

describe("Health.drift", () => {
  const at = (length: number, truncated: number) => ({
    "env/all/response_tokens/p50": length,
    "env/all/truncated": truncated
  })

  it("compares the latest five iterations with the first five", () => {
    const history = [10, 20, 30, 40, 50, 999, 90, 90, 90, 90, 90].map((length, index) => at(length, index / 20))
    const drift = Health.drift(history)
    assert.strictEqual(drift["drift/response_tokens"], 3)
    assert.closeTo(drift["drift/truncated"] ?? NaN, (8 - 2) / 20, 1e-12)
    assert.deepStrictEqual(Health.concerns(drift).map(({ metric }) => metric), [
      "drift/response_tokens",
      "drift/truncated"
    ])
  })

  it("is no concern in a stable run, and is unknown in a new one", () => {
    assert.deepStrictEqual(Health.concerns(Health.drift(Array.from({ length: 10 }, () => at(40, 0.1)))), [])
    assert.deepStrictEqual(Health.drift(Array.from({ length: 9 }, () => at(40, 0.1))), {})
  })
})
