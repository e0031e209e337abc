import { Env, EnvGroupBuilder, Rollout } from "@effect-rl/core"
import { ModelInput } from "@effect-rl/core/backend"
import { assert, describe, expectTypeOf, it } from "@effect/vitest"
import { Effect, type Scope } from "effect"

const env: Env.Env = {
  initialObservation: Effect.succeed(Env.prompt(ModelInput.fromTokens([1]), ["\n"])),
  step: () => Effect.succeed({ _tag: "Done", reward: 1 })
}

const policy = {
  act: () =>
    Effect.succeed({ tokens: new Int32Array([2]), logprobs: new Float32Array([-1]), stopReason: "stop" as const })
}

describe("EnvGroupBuilder.make", () => {
  it.effect("gives each member its own scope, without requiring one from the caller", () =>
    Effect.gen(function*() {
      const events: Array<string> = []
      const makeEnv = (member: number): Effect.Effect<Env.Env, never, Scope.Scope> =>
        Effect.as(
          Effect.acquireRelease(
            Effect.sync(() => events.push(`open ${member}`)),
            () => Effect.sync(() => events.push(`close ${member}`))
          ),
          env
        )
      const builder = EnvGroupBuilder.make({ key: "scoped", size: 2, makeEnv })
      expectTypeOf(builder).toEqualTypeOf<EnvGroupBuilder.EnvGroupBuilder>()
      const result = yield* Rollout.group(builder, policy)
      assert.strictEqual(result._tag, "Completed")
      assert.sameMembers(events, ["open 0", "open 1", "close 0", "close 1"])
    }))
})
