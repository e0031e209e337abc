import { EnvGroupBuilder, Evaluator, InvalidOption } from "@effect-rl/core"
import { GroupSource, RolloutTask } from "@effect-rl/core/program"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result, Schema } from "effect"
import * as Scripted from "./Scripted.ts"

const group = (key: string) => EnvGroupBuilder.make({ key, size: 2, makeEnv: () => Effect.succeed(Scripted.throwing) })

const source: GroupSource.Source = { task: "a program", program: { digits: 2 } }

const sent = Effect.provideService(GroupSource.GroupSource, source)

const taskOf = ({ task }: EnvGroupBuilder.EnvGroupBuilder<unknown, unknown>) =>
  task === undefined ? "none" : Result.match(task, { onSuccess: (task) => task, onFailure: ({ message }) => message })

describe("a program's groups for workers", () => {
  const batch = { fingerprint: "two sums", index: 3, seed: 7 }

  it.effect("name their position in the dataset", () =>
    Effect.gen(function*() {
      const groups = yield* sent(GroupSource.batch([group("1+2"), group("3+4")], batch))
      const placed = (key: string) => ({
        name: "a program",
        payload: { program: { digits: 2 }, place: { _tag: "Batch", dataset: "two sums", index: 3, seed: 7, key } }
      })
      assert.deepStrictEqual(groups.map(taskOf), [placed("1+2"), placed("3+4")])
    }))

  it.effect("name their evaluator", () =>
    Effect.gen(function*() {
      const { groups = [] } = Evaluator.testSet({ name: "held_out", groups: [group("1+2")], maxTokens: 8 })
      const [placed = assert.fail("no group")] = yield* sent(GroupSource.testSet("held_out", groups))
      const place = { _tag: "TestSet", evaluator: "held_out", key: "1+2" }
      assert.deepStrictEqual(taskOf(placed), { name: "a program", payload: { program: { digits: 2 }, place } })
    }))

  it.effect("cannot be sent if they depend on earlier results", () =>
    Effect.gen(function*() {
      const [placed = assert.fail("no group")] = yield* sent(
        GroupSource.batch([group("1+2")], { ...batch, readsHistory: true })
      )
      assert.strictEqual(
        taskOf(placed),
        new InvalidOption.InvalidOption({
          field: "dataset",
          found: "groups that depend on earlier results of the run",
          expected: "a dataset without a history, because workers have none"
        }).message
      )
    }))

  it.effect("keep a task that they already have", () =>
    Effect.gen(function*() {
      const task = RolloutTask.make("sums", { payload: Schema.Null, builder: () => group("1+2") })
      const [placed = assert.fail("no group")] = yield* sent(GroupSource.batch([task.builder(null)], batch))
      assert.deepStrictEqual(taskOf(placed), { name: "sums", payload: null })
    }))

  it.effect("have no task if no program is sent", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual((yield* GroupSource.batch([group("1+2")], batch)).map(taskOf), ["none"])
    }))
})
