import { Loss, Pace, Rl, RunRecord } from "@effect-rl/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import * as Schedules from "./schedule/Schedules.ts"
import * as Task from "./Task.ts"

const run = (pace: Pace.Pace, overrides: Task.Overrides = {}) =>
  Stream.unwrap(Effect.map(
    Task.options({ epochs: 2, ...overrides, update: { loss: Loss.ppo(), ...overrides.update } }),
    (options) => Rl.run({ ...options, pace })
  ))

const isComparable = (name: string) => !name.startsWith("time/") && !name.startsWith("async/")

/** A run's records without times, storage positions and fields that only asynchronous training sets. */
const story = (records: ReadonlyArray<RunRecord.RunRecord>) =>
  records.map(({ at: _at, payload: _payload, ...record }) => {
    switch (record._tag) {
      case "Opened":
        return { _tag: record._tag }
      case "Sampling":
        return { ...record, begun: [] }
      case "GroupRolledOut":
        return { ...record, began: record.iteration, ended: record.iteration, milliseconds: 0 }
      case "Credited":
        return {
          ...record,
          groups: record.groups.map(({ advantages, key, verdict }) => ({ advantages, key, verdict }))
        }
      case "Updated": {
        const metrics = Object.entries(record.metrics).filter(([name]) => isComparable(name))
        return { ...record, metrics, updates: record.updates.map((update) => ({ ...update, seconds: 0 })) }
      }
      case "Saved":
        return { ...record, cursor: null }
      default:
        return record
    }
  })

describe("asynchronous training", () => {
  it.effect("with no steps off-policy makes the same records and requests as synchronous training", () =>
    Effect.gen(function*() {
      const recorded = (pace: Pace.Pace) =>
        Effect.gen(function*() {
          const records = yield* Stream.runCollect(run(pace, { run: { saveEvery: 2 } }))
          return { story: story(records), calls: yield* Task.trace }
        }).pipe(Effect.provide(Task.layer({ sample: Task.answersHalf }), { local: true }))
      const expected = yield* recorded(Pace.synchronous)
      assert.deepStrictEqual(yield* recorded(Pace.async({ maxStepsOffPolicy: 0 })), expected)
      assert.deepStrictEqual(yield* recorded(Pace.async({ maxStepsOffPolicy: 0, turnWeights: "newest" })), expected)
    }))

  it.effect("starts groups one iteration ahead, trains on each once, and records its age", () =>
    Effect.gen(function*() {
      const records = yield* Stream.runCollect(run(Pace.async({ maxStepsOffPolicy: 1 })))
      const begun = records.filter(RunRecord.guards.Sampling).map(({ begun = [], groups, step }) => {
        assert.lengthOf(begun, groups)
        return [step, ...begun.map(({ began, iteration, key }) => `${iteration} ${key} at ${began}`)]
      })
      assert.deepStrictEqual(begun, [
        [0, "0 sum/0 at 0", "0 sum/1 at 0", "1 sum/2 at 0", "1 sum/3 at 0"],
        [1, "2 sum/0 at 1", "2 sum/1 at 1"],
        [2, "3 sum/2 at 2", "3 sum/3 at 2"]
      ])
      const trained = records.filter(RunRecord.guards.Credited).map(({ groups, iteration }) =>
        groups.map(({ iteration: batch, key, staleness = { inFlight: -1, inQueue: -1 } }) =>
          `${iteration}: ${batch} ${key}, ${staleness.inFlight} + ${staleness.inQueue} old`
        )
      )
      assert.deepStrictEqual(trained, [
        ["0: 0 sum/0, 0 + 0 old", "0: 0 sum/1, 0 + 0 old"],
        ["1: 1 sum/2, 0 + 1 old", "1: 1 sum/3, 0 + 1 old"],
        ["2: 2 sum/0, 0 + 1 old", "2: 2 sum/1, 0 + 1 old"],
        ["3: 3 sum/2, 0 + 1 old", "3: 3 sum/3, 0 + 1 old"]
      ])
      const [, second] = records.filter(RunRecord.guards.Updated)
      assert.deepInclude(second?.metrics, {
        "async/staleness_min": 1,
        "async/staleness_mean": 1,
        "async/staleness_max": 1,
        "async/in_queue_mean": 1,
        "async/excess": 0
      })
    }).pipe(Effect.provide(Task.layer({ sample: Task.answersHalf }))))

  it.live("abandons a hanging group after an hour or the configured time", () =>
    Effect.gen(function*() {
      const world = {
        batches: [[{ seconds: 1 }, { seconds: undefined }], [{ seconds: 1 }]],
        trainSeconds: 1,
        publishSeconds: 0
      }
      const ended = (overrides: Schedules.Settings["overrides"]) =>
        Effect.map(
          Schedules.run(world, Pace.async({ maxStepsOffPolicy: 1 }), overrides === undefined ? {} : { overrides }),
          ({ records, simulation }) => ({
            verdicts: records.filter(RunRecord.guards.Credited).flatMap(({ groups }) =>
              groups.map(({ key, verdict }) => `${key} ${verdict}`)
            ).toSorted(),
            hours: Math.floor(simulation.millis / 3_600_000)
          })
        )
      const verdicts = ["0 informative", "1 skipped", "2 informative"]
      assert.deepStrictEqual(yield* ended(undefined), { verdicts, hours: 1 })
      assert.deepStrictEqual(yield* ended({ rollout: { groupTimeout: "1 minute" } }), { verdicts, hours: 0 })
    }))

  it.effect("requires a loss to be named, since the default does not clip", () =>
    Effect.gen(function*() {
      const options = yield* Task.options()
      const validate = (pace: Pace.Pace, loss?: Loss.Loss<"PolicyTokens">) =>
        Rl.validate({ ...options, pace, update: { ...options.update, ...(loss === undefined ? {} : { loss }) } })
      const ahead = Pace.async({ maxStepsOffPolicy: 1 })
      const error = yield* Effect.flip(validate(ahead))
      assert.strictEqual(
        error.message,
        "update.loss is importance_sampling, the default, expected a loss that is given explicitly, such as ppo, which clips, "
          + "or importance_sampling itself: pace.maxStepsOffPolicy is above 0"
      )
      yield* validate(ahead, Loss.importanceSampling)
      yield* validate(Pace.async({ maxStepsOffPolicy: 0 }))
      yield* validate(Pace.streaming({ minibatches: 2 }))
    }).pipe(Effect.provide(Task.layer())))

  it.effect("has settings that other paces refuse", () =>
    Effect.gen(function*() {
      const options = yield* Task.options()
      for (const name of ["synchronous", "streaming"] as const) {
        for (const [setting, value] of [["maxStepsOffPolicy", 1], ["turnWeights", "newest"]] as const) {
          const pace = { name, settings: { [setting]: value } }
          assert.strictEqual(
            (yield* Effect.flip(Rl.validate({ ...options, pace }))).message,
            `pace.${setting} is ${value}, expected no value: the pace ${name} does not have this setting`
          )
        }
      }
    }).pipe(Effect.provide(Task.layer())))
})
