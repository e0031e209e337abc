import { Advantage, Credit, Rl, RunRecord, RunStore } from "@effect-rl/core"
import { Regrade } from "@effect-rl/core/records"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import * as Task from "../rl/Task.ts"

const trained = Stream.runDrain(Stream.unwrap(Effect.map(Task.options({ epochs: 2 }), (options) => Rl.run(options))))

const regraded = (options?: Regrade.Options) =>
  RunStore.RunStore.use((store) => Stream.runCollect(Regrade.run(store, options)))

const withBackend = Effect.provide(Task.layer({ sample: Task.answersHalf }))

describe("Regrade.run", () => {
  it.effect("reproduces the run's own advantages, datums and curve bit for bit", () =>
    Effect.gen(function*() {
      yield* trained
      const credited = yield* Task.current(RunRecord.guards.Credited)
      const updated = yield* Task.current(RunRecord.guards.Updated)
      const again = yield* regraded()
      assert.deepStrictEqual(
        again.map(({ groups }) => groups.map(({ advantagesG, result }) => [result.key, Array.from(advantagesG)])),
        credited.map(({ groups }) => groups.map(({ advantages, key }) => [key, advantages]))
      )
      assert.deepStrictEqual(
        again.map(({ data }) => data.map(({ modelInput, origin }) => [origin.group, origin.member, modelInput.length])),
        credited.map(({ datums }) => datums.map(({ group, length, member }) => [group, member, length]))
      )
      assert.deepStrictEqual(again.map(({ reward }) => reward), updated.map(({ reward }) => reward))
    }).pipe(withBackend))

  it.effect("computes results for another estimator, other rewards and fewer groups", () =>
    Effect.gen(function*() {
      yield* trained
      const [first] = yield* regraded({ credit: Credit.groupRelative(Advantage.leaveOneOut) })
      const [centered] = yield* regraded()
      assert.deepStrictEqual(
        first?.groups.map(({ advantagesG }) => Array.from(advantagesG)),
        centered?.groups.map(({ advantagesG }) =>
          Array.from(advantagesG, (advantage) => Math.fround(advantage * 4 / 3))
        )
      )
      const constant = yield* regraded({ reward: () => 1 })
      assert.deepStrictEqual(constant.map(({ data, reward }) => [data.length, reward.mean]), Array(4).fill([0, 1]))
      const half = yield* regraded({ keep: ({ key }) => key === "sum/0" })
      assert.deepStrictEqual(half.map(({ groups }) => groups.length), [1, 0, 1, 0])
    }).pipe(withBackend))

  it.effect("grades the groups that each update lists, also groups of an earlier iteration", () =>
    Effect.gen(function*() {
      const { append } = yield* RunStore.RunStore
      yield* trained
      const credited = yield* Task.current(RunRecord.guards.Credited)
      const [first, second] = credited
      if (first === undefined || second === undefined) return assert.fail("no two updates")
      const [early, late] = first.groups
      if (early === undefined || late === undefined) return assert.fail("no two groups")
      // Moves a group of the first update to the second.
      yield* append({ ...first, groups: [early] })
      yield* append({ ...second, groups: [{ ...late, iteration: first.iteration }, ...second.groups] })
      const again = yield* regraded()
      assert.deepStrictEqual(
        again.slice(0, 2).map(({ groups }) => groups.map(({ result: { key } }) => key)),
        [[early.key], [late.key, ...second.groups.map(({ key }) => key)]]
      )
      assert.deepStrictEqual(again[1]?.recorded[0], late.advantages)
    }).pipe(withBackend))
})
