/** The share of members that an iteration may lose before the run stops. */
import { type EnvGroupBuilder, FailurePolicy, type InvalidOption, Rl, RunRecord, RunStore } from "@effect-rl/core"
import type { Renderer } from "@effect-rl/core/renderers"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import * as Scripted from "../rollout/Scripted.ts"
import * as Task from "./Task.ts"

type Builder = EnvGroupBuilder.EnvGroupBuilder<Renderer.RendererError | InvalidOption.InvalidOption | Scripted.Broken>

/** Makes `count` members fail in both groups of the second of two iterations. */
const losing = (count: number) => (builder: Builder): Builder => ({
  ...builder,
  open: Effect.map(builder.open, (group) => ({
    ...group,
    makeEnv: (member, attempt) =>
      member < count && (builder.key === "sum/2" || builder.key === "sum/3")
        ? Effect.succeed(Scripted.failing(`sandbox ${member}`))
        : group.makeEnv(member, attempt)
  }))
})

interface Overrides {
  readonly onFailure: FailurePolicy.FailurePolicy
  readonly maxDroppedShare?: number
}

const losingOf = (size: number, count: number, overrides: Overrides) =>
  Stream.unwrap(Effect.map(Task.options({ groupSize: size }), ({ dataset, ...options }) => {
    const batch = (
      index: number,
      seed: number
    ): Effect.Effect<ReadonlyArray<Builder>, Renderer.RendererError | InvalidOption.InvalidOption> =>
      Effect.map(dataset.batch(index, seed), (builders) => builders.map(losing(count)))
    return Rl.run({ ...options, dataset: { ...dataset, batch }, rollout: overrides })
  }))

const run = (count: number, overrides: Overrides) => losingOf(5, count, overrides)

const drop = Scripted.always("drop")
const answersHalf = Effect.provide(Task.layer({ sample: Task.answersHalf }))

describe("an iteration that loses members", () => {
  it.effect("may lose a fifth of them, which are counted by reason and as rewards of 0", () =>
    Effect.gen(function*() {
      const events = yield* Stream.runCollect(run(1, { onFailure: drop }))
      const [first, second] = events.filter(RunRecord.guards.Updated)
      assert.deepInclude(first?.metrics, { "members/started": 10, "members/lost": 0 })
      assert.deepInclude(second?.metrics, {
        "members/started": 10,
        "members/lost": 2,
        "members/lost/StepFailed": 2,
        "members/dropped/StepFailed": 2,
        "env/all/reward/lost_as_zero": (second?.reward?.mean ?? NaN) * 0.8
      })
    }).pipe(answersHalf))

  it.effect("stops the run if it loses more, with an error that names the losses, and keeps finished iterations", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(Stream.runDrain(run(2, { onFailure: drop })))
      assert.strictEqual(error._tag, "TooManyDropped")
      assert.strictEqual(
        error.message,
        "iteration 2: 4 of 10 members were lost, more than a share of 0.2: " +
          "4 StepFailed (sandbox 0 broke); fix what fails, or raise maxDroppedShare"
      )
      assert.deepInclude((yield* Task.current(RunRecord.guards.Saved)).at(-1), { iteration: 1, optimizerSteps: 1 })
      assert.lengthOf(yield* Task.current(RunRecord.guards.Updated), 1)
      const groups = yield* Task.current(RunRecord.guards.GroupRolledOut)
      assert.deepStrictEqual(groups.map(({ key, outcome }) => [key, outcome]), [
        ["sum/0", "Completed"],
        ["sum/1", "Completed"],
        ["sum/2", "Partial"],
        ["sum/3", "Partial"]
      ])
      assert.deepStrictEqual(
        groups.at(-1)?.failures,
        [0, 1].map((member) => ({
          member,
          attempt: 0,
          failure: "StepFailed",
          message: `sandbox ${member} broke`
        }))
      )
      const [started, ...later] = yield* Stream.runCollect(run(0, { onFailure: drop }))
      assert.deepInclude(started, { _tag: "Opened", iteration: 1 })
      assert.deepInclude(later.at(-1), { _tag: "Finished", iteration: 2 })
    }).pipe(answersHalf))

  it.effect("may lose exactly the given share, although 0.29 · 100 is below 29 in floating point", () =>
    Effect.gen(function*() {
      const events = yield* Stream.runCollect(losingOf(100, 29, { onFailure: drop, maxDroppedShare: 0.29 }))
      assert.deepInclude(events.at(-1), { _tag: "Finished", iteration: 2 })
    }).pipe(answersHalf))

  it.effect("counts all members of a skipped group as lost", () =>
    Effect.gen(function*() {
      const onFailure = FailurePolicy.minViableGroup({ maxRetries: 0 })
      const error = yield* Effect.flip(Stream.runDrain(run(2, { onFailure })))
      assert.include(
        error.message,
        "10 of 10 members were lost, more than a share of 0.2: " +
          "6 BelowFloor (3 of 5 members finished, 4 must), 4 StepFailed (sandbox 0 broke)"
      )
      const groups = yield* Task.current(RunRecord.guards.GroupRolledOut)
      assert.deepStrictEqual(
        groups.map(({ failures, outcome }) => [outcome, ...failures.map(({ member }) => member)]),
        [["Completed"], ["Completed"], ["Skipped", 0, 1], ["Skipped", 0, 1]]
      )
    }).pipe(answersHalf))

  it.effect("may lose the configured share", () =>
    Effect.gen(function*() {
      const events = yield* Stream.runCollect(run(5, { onFailure: drop, maxDroppedShare: 1 }))
      const [, second] = events.filter(RunRecord.guards.Updated)
      assert.deepStrictEqual(second?.updates, [])
      assert.deepInclude(second?.metrics, { "groups/skipped/StepFailed": 2, "members/lost/StepFailed": 10 })
      const none = yield* Effect.flip(
        Stream.runDrain(run(1, { onFailure: drop, maxDroppedShare: 0 })).pipe(
          Effect.provide(RunStore.RunStore.layerMemory, { local: true })
        )
      )
      assert.include(none.message, "2 of 10 members were lost, more than a share of 0")
    }).pipe(answersHalf))
})

it.effect("a group with fewer than two survivors has no training signal", () =>
  Effect.gen(function*() {
    const events = yield* Stream.runCollect(run(4, { onFailure: drop, maxDroppedShare: 1 }))
    const [, second] = events.filter(RunRecord.guards.Updated)
    assert.deepStrictEqual(second?.updates, [])
    assert.deepInclude(second?.metrics, { "groups/partial": 2, "env/all/total_episodes": 2 })
  }).pipe(answersHalf))
