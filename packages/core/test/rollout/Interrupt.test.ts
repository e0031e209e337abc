import { type Env, type EnvGroupBuilder, type Policy, Rollout } from "@effect-rl/core"
import { LeakAudit } from "@effect-rl/core/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Stream } from "effect"
import * as Scripted from "./Scripted.ts"

const quiet: Env.Env = {
  initialObservation: Effect.succeed(Scripted.prompt(3)),
  step: () => Effect.succeed(Scripted.done(0))
}

const groups = 1250
const size = 8

/** Groups and members that each hold a tracked resource until they are released. */
const held = Effect.map(
  LeakAudit.LeakAudit,
  ({ track }) =>
    Array.from({ length: groups }, (_, index): EnvGroupBuilder.EnvGroupBuilder => ({
      key: `group ${index}`,
      size,
      tags: [],
      open: Effect.as(track("group", Effect.void), {
        makeEnv: () => track("env", Effect.succeed(quiet))
      })
    }))
)

const waitFor = (holds: () => boolean) =>
  Effect.gen(function*() {
    while (!holds()) yield* Effect.yieldNow
  })

describe("ten thousand running rollouts", () => {
  it.effect("release everything on interruption", () =>
    Effect.gen(function*() {
      let acting = 0
      const policy: Policy.Policy = {
        act: () => Effect.andThen(Effect.sync(() => void acting++), Effect.never)
      }
      const rollouts = Rollout.stream(yield* held, policy, { concurrency: groups })
      const fiber = yield* Effect.forkChild(Stream.runDrain(rollouts))
      yield* waitFor(() => acting === groups * size)
      const { counts } = yield* LeakAudit.LeakAudit
      assert.deepStrictEqual(LeakAudit.live(yield* counts), { group: groups, env: groups * size })
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual(LeakAudit.live(yield* counts), {})
    }).pipe(Effect.provide(LeakAudit.LeakAudit.layer)))
})
