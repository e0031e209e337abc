/** Hop sampling in virtual time: each scripted token is the number of optimizer steps behind the weights that sampled it. */
import { Executor, GroupPayload, GroupResult, Pace, Rl, RunRecord, RunStore } from "@effect-rl/core"
import { Simulation } from "@effect-rl/core/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Schedules from "./Schedules.ts"
import * as Task from "./Task.ts"

/** Six batches of two quick groups and a long one, whose tokens outlast several updates. */
const world: Schedules.World = {
  batches: Array.from({ length: 6 }, () => [
    { seconds: 1, tokenSeconds: 0.5 },
    { seconds: 1, tokenSeconds: 0.5 },
    { seconds: 2, turns: 3, tokenSeconds: 3.3 }
  ]),
  trainSeconds: 1,
  publishSeconds: 0
}

/** The turns of each group that ended, as the run's records hold them. */
const turnsOf = Effect.fnUntraced(function*(records: ReadonlyArray<RunRecord.RunRecord>) {
  const store = yield* RunStore.RunStore
  const groups = RunRecord.current(records).filter(RunRecord.guards.GroupRolledOut)
  return yield* Effect.forEach(groups, (group) =>
    Effect.gen(function*() {
      const result = yield* GroupPayload.decode(yield* store.payload(group.payload ?? assert.fail("no payload")))
      if (GroupResult.isSkipped(result)) return []
      return GroupResult.survivors(result).map(([, { transitions }]) => ({ step: group.step, transitions }))
    })).pipe(Effect.map((members) => members.flat()))
})

const ran = Effect.fnUntraced(function*(settings: Pace.AsyncSettings) {
  const seen = Schedules.unseen()
  return yield* Effect.gen(function*() {
    yield* Simulation.run(0, Schedules.training(world, Pace.async(settings), {}, seen), { deadline: "1 day" })
    const records = yield* Task.records
    const updated = records.filter(RunRecord.guards.Updated).map(({ metrics }) => metrics)
    return { members: yield* turnsOf(records), updated, seen }
  }).pipe(Effect.provide(Schedules.backend(world, seen), { local: true }))
})

/** The step of each token by what the records say, and by the tokens themselves. */
const stepsOf = ({ members }: Effect.Success<ReturnType<typeof ran>>) =>
  members.flatMap(({ step, transitions }) =>
    transitions.map(({ action: { tokens, weights } }) => ({
      said: weights?.flatMap(({ length, step }) => Array.from({ length }, () => step)),
      sampled: Array.from(tokens),
      begun: step
    }))
  )

describe("Hop sampling", () => {
  it.live("goes on with newer weights at each turn, and records which weights sampled each token", () =>
    Effect.gen(function*() {
      const turns = stepsOf(yield* ran({ maxStepsOffPolicy: 3, hop: true }))
      for (const { begun, said, sampled } of turns) {
        assert.deepStrictEqual(said, sampled)
        assert.isTrue(sampled.every((step) => step >= begun))
      }
      assert.isTrue(turns.some(({ begun, sampled }) => sampled.some((step) => step > begun)))
      assert.isTrue(turns.every(({ sampled }) => new Set(sampled).size === 1), "a turn keeps its weights")
    }))

  it.live("goes on with newer weights within a turn, after so many tokens", () =>
    Effect.gen(function*() {
      const turns = stepsOf(yield* ran({ maxStepsOffPolicy: 3, hop: true, hopTokens: 1 }))
      for (const { said, sampled } of turns) assert.deepStrictEqual(said, sampled)
      assert.isTrue(turns.some(({ sampled }) => new Set(sampled).size > 1))
    }))

  it.live("leaves a group the weights it was begun with unless asked for", () =>
    Effect.gen(function*() {
      for (const { begun, said, sampled } of stepsOf(yield* ran({ maxStepsOffPolicy: 3 }))) {
        assert.isUndefined(said)
        assert.isTrue(sampled.every((step) => step === begun))
      }
    }))

  it.live("changes nothing without a step off-policy", () =>
    Effect.gen(function*() {
      const expected = yield* ran({ maxStepsOffPolicy: 0 })
      assert.deepStrictEqual(yield* ran({ maxStepsOffPolicy: 0, hop: true, hopTokens: 1 }), expected)
    }))

  it.live("makes tokens younger than their groups, which are as old as before and waited for as before", () =>
    Effect.gen(function*() {
      const settings = { maxStepsOffPolicy: 1, onStale: "wait" } as const
      const ages = (name: string, { updated }: Effect.Success<ReturnType<typeof ran>>) =>
        updated.map((metrics) => metrics[name] ?? NaN)
      const kept = yield* ran(settings)
      const hopped = yield* ran({ ...settings, hop: true, hopTokens: 1 })
      assert.deepStrictEqual(ages("async/staleness_max", hopped), ages("async/staleness_max", kept))
      assert.isAtMost(Math.max(...ages("async/staleness_max", hopped)), 1)
      assert.isAtMost(Math.max(...ages("async/token_age_max", hopped)), 1)
      const sum = (values: ReadonlyArray<number>) => values.reduce((sum, value) => sum + value, 0)
      assert.isBelow(sum(ages("async/token_age_mean", hopped)), sum(ages("async/staleness_mean", hopped)))
    }))

  it.effect("within a turn is refused unless it is asked for at turns", () =>
    Effect.gen(function*() {
      const options = yield* Task.options()
      const error = yield* Effect.flip(
        Rl.validate({ ...options, pace: Pace.async({ maxStepsOffPolicy: 0, hopTokens: 8 }) })
      )
      assert.strictEqual(error.message, "pace.hopTokens is 8, expected left out, or pace.hop as well")
    }).pipe(Effect.provide(Task.layer())))

  it.effect("is refused where groups are rolled out elsewhere", () =>
    Effect.gen(function*() {
      const options = yield* Task.options()
      const validate = Rl.validate({ ...options, pace: Pace.async({ maxStepsOffPolicy: 0, hop: true }) })
      const executor = { roll: () => Effect.die("nothing is rolled out") }
      const error = yield* Effect.flip(Effect.provideService(validate, Executor.Executor, executor))
      assert.strictEqual(error.field, "pace.hop")
      yield* validate
    }).pipe(Effect.provide(Task.layer())))
})
