import { Advantage, Credit, Pace, RunRecord, RunStore } from "@effect-rl/core"
import { Simulation } from "@effect-rl/core/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Layer, Option, Stream } from "effect"
import * as Task from "../Task.ts"
import * as Schedules from "./Schedules.ts"

interface Scenario {
  readonly world: Schedules.World
  readonly pace: Pace.Pace
  readonly overrides: NonNullable<Schedules.Settings["overrides"]>
}

type Written = readonly [RunRecord.RunRecord, string | undefined]

/** A store as left by a process that was killed after these writes. */
const left = (written: ReadonlyArray<Written>) =>
  Layer.effect(
    RunStore.RunStore,
    RunStore.RunStore.use((store) => {
      const append = ([record, payload]: Written) => store.append(record, payload)
      return Effect.as(Effect.forEach(written, append), store)
    })
  ).pipe(Layer.provide(RunStore.RunStore.layerMemory))

const written = RunStore.RunStore.use(({ payload, read }) =>
  Stream.runCollect(
    Stream.mapEffect(read, (record): Effect.Effect<Written, RunStore.RunError> =>
      record.payload === undefined
        ? Effect.succeed([record, undefined])
        : Effect.map(payload(record.payload), (text) => [record, text]))
  )
)

/** The composition and the numbers of updates, without times. */
const updates = (records: ReadonlyArray<RunRecord.RunRecord>) => [
  ...records.filter(RunRecord.guards.Credited).map(({ datums, groups, iteration }) => ({ iteration, groups, datums })),
  ...records.filter(RunRecord.guards.Updated).map(({ iteration, metrics, updates }) => ({
    iteration,
    metrics: Object.entries(metrics).filter(([name]) => !/^(time|tokens\/total)/.test(name)),
    passes: updates.map(({ passes }) => passes.map(({ datums, tokens }) => ({ datums, tokens })))
  }))
]

const credits = (records: ReadonlyArray<RunRecord.RunRecord>) =>
  records.filter(RunRecord.guards.Credited).map(({ groups }) => groups.map(({ key, verdict }) => `${key} ${verdict}`))

/** The last update of each iteration. */
const last = (all: ReturnType<typeof updates>) =>
  Array.from(new Map(all.map((update) => [`${"groups" in update} ${update.iteration}`, update])).values())

const play = (seed: number, { overrides, pace, world }: Scenario, seen: Schedules.Seen) =>
  Effect.gen(function*() {
    const settings = { overrides }
    const { exit, hang } = yield* Simulation.run(seed, Schedules.training(world, pace, settings, seen), {
      deadline: "1 day"
    })
    assert.isTrue(Option.isNone(hang), "it hangs")
    assert.isTrue(Option.isSome(exit) && Exit.isSuccess(exit.value), String(exit))
  })

/** Kills a run after each of its records, resumes it, and compares the records. */
const killAfterEachRecord = (scenario: Scenario, check: (credited: ReturnType<typeof credits>) => void = () => {}) => {
  const seen = Schedules.unseen()
  return Effect.gen(function*() {
    yield* play(0, scenario, seen)
    const story = yield* written
    for (let count = 1; count <= story.length; count++) {
      const before = story.slice(0, count).map(([record]) => record)
      const opened = seen.opened.length
      yield* Effect.gen(function*() {
        yield* play(count, scenario, seen)
        const records = yield* Task.records
        check(credits(RunRecord.current(records)))
        const made = last(updates(records))
        for (const update of updates(before)) {
          assert.deepStrictEqual(
            made.find((other) => "groups" in other === "groups" in update && other.iteration === update.iteration),
            update,
            `killed after record ${count}`
          )
        }
        const again = new Set(seen.opened.slice(opened).map(({ key }) => key))
        const kept = before.filter(RunRecord.guards.GroupRolledOut).map(({ key }) => key)
        assert.isEmpty(kept.filter((key) => again.has(key)), `sampled again, killed after record ${count}`)
      }).pipe(Effect.provide(left(story.slice(0, count)), { local: true }))
    }
    return story.map(([record]) => record)
  }).pipe(Effect.provide(Schedules.backend(scenario.world, seen), { local: true }))
}

const run = { saveEvery: 2 }

describe("a killed run repeats its recorded updates", () => {
  it.live(
    "with stale groups that were dropped before or after they ended",
    () =>
      Effect.gen(function*() {
        const seconds = [1, 1, 30, 1, 1, 3, 1, 1, 1, 1]
        const records = yield* killAfterEachRecord({
          world: {
            batches: Schedules.inBatches(seconds.map((seconds) => ({ seconds })), 2),
            trainSeconds: 1,
            publishSeconds: 0
          },
          pace: Pace.async({ maxStepsOffPolicy: 1, onStale: "drop" }),
          overrides: { run }
        })
        assert.include(credits(records).flat(), "2 stale")
      })
  )

  it.live("and reports groups that were filtered during training", () =>
    Effect.gen(function*() {
      const groups = [1, 1.1, 1.2, 1.3, 1.4, 1.5].map((seconds, index) => ({ seconds, isConstant: index === 2 }))
      const scenario = {
        world: { batches: Schedules.inBatches(groups, 2), trainSeconds: 1, publishSeconds: 0 },
        pace: Pace.async({ maxStepsOffPolicy: 1 }),
        overrides: { run: { saveEvery: 1 }, rollout: { dynamic: { minInformative: 2, maxBatches: 100 } } }
      }
      const records = yield* killAfterEachRecord(scenario, (credited) => {
        assert.strictEqual(credited.flat().filter((group) => group === "2 filtered").length, 1)
      })
      assert.include(credits(records)[1] ?? [], "2 filtered")
    }))

  it.live("with an update without groups", () =>
    Effect.gen(function*() {
      const constant = [true, false, true, false, true]
      const records = yield* killAfterEachRecord({
        world: {
          batches: Schedules.inBatches(constant.map((isConstant) => ({ seconds: 1, isConstant })), 1),
          trainSeconds: 1,
          publishSeconds: 0
        },
        pace: Pace.async({ maxStepsOffPolicy: 0 }),
        overrides: { run, rollout: { dynamic: { minInformative: 2, maxBatches: 1 } } }
      })
      assert.deepStrictEqual(credits(records).at(-1), ["4 filtered"])
    }))

  it.live("and resumes with no more running groups than before", () =>
    Effect.gen(function*() {
      const seconds = [30, 1.3, 0.4, 0.5, 40, 0.8, 1.8, 0.9, 0.1, 0.2, undefined, 1.7, 9, 1.2, undefined, 1.5, 1.9, 1.1]
      const constant = new Set([0, 7, 10, 12, 14])
      const records = yield* killAfterEachRecord({
        world: {
          batches: Schedules.inBatches(
            seconds.map((seconds, index) => ({ seconds, isConstant: constant.has(index) })),
            3
          ),
          trainSeconds: 0.9,
          publishSeconds: 0.1
        },
        pace: Pace.async({ maxStepsOffPolicy: 1, onStale: "wait", minibatches: 3 }),
        overrides: {
          run: { saveEvery: 0 },
          rollout: { concurrency: 1, groupTimeout: "1 minute", dynamic: { minInformative: 2, maxBatches: 1 } }
        }
      })
      const filtered = credits(records).map((groups) => groups.filter((group) => group.endsWith("filtered")))
      assert.deepStrictEqual(filtered, [["0 filtered"], [], [], ["7 filtered"], ["10 filtered", "12 filtered"], [
        "14 filtered"
      ]])
    }))

  it.live(
    "with its streamed passes, even if it has sampled its maximum number of batches",
    () =>
      Effect.gen(function*() {
        const credit = Credit.groupRelative(Advantage.centered)
        const constant = new Set([1, 2, 3])
        const records = yield* killAfterEachRecord({
          world: {
            batches: Schedules.inBatches(
              Array.from({ length: 12 }, (_, index) => ({
                seconds: (constant.has(index) ? 0.5 : 1) + index / 10,
                isConstant: constant.has(index)
              })),
              4
            ),
            trainSeconds: 1,
            publishSeconds: 0
          },
          pace: Pace.async({ maxStepsOffPolicy: 1, minibatches: 2 }),
          overrides: {
            run: { saveEvery: 0 },
            update: {
              // A group ends while a minibatch is credited.
              credit: {
                ...credit,
                assign: (groups, memory, weights) => Effect.delay(credit.assign(groups, memory, weights), "1 second")
              }
            },
            rollout: { dynamic: { minInformative: 4, maxBatches: 1 } }
          }
        })
        assert.deepStrictEqual(credits(records)[0], ["0 informative", "1 filtered", "2 filtered", "3 filtered"])
      })
  )
})
