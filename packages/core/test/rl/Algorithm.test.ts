import { Advantage, Algorithm, Credit, type InvalidOption, Loss, Rl, RunRecord } from "@effect-rl/core"
import * as RlOptions from "@effect-rl/core/rl/RlOptions"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import * as Task from "./Task.ts"

const clip = { clipLow: 0.8, clipHigh: 1.2 }
const normalized = Credit.groupRelative(Advantage.normalized("sample"))
const overlong = { maxTokens: 8, buffer: 4 }

type Parts = Pick<
  Rl.Options<never, never, never, never, never, never, InvalidOption.InvalidOption>,
  "rollout" | "update"
>

/** Each algorithm with the equivalent individual options. */
const algorithms: ReadonlyArray<readonly [name: string, Algorithm.Algorithm<InvalidOption.InvalidOption>, Parts]> = [
  ["grpo", Algorithm.grpo(), { update: { credit: normalized, loss: Loss.ppo(clip) } }],
  ["drGrpo", Algorithm.drGrpo(), {
    update: { credit: Credit.groupRelative(Advantage.centered), loss: Loss.ppo(clip) }
  }],
  ["rloo", Algorithm.rloo(), {
    update: { credit: Credit.groupRelative(Advantage.leaveOneOut), loss: Loss.importanceSampling }
  }],
  ["dapo", Algorithm.dapo({ minInformative: 3, maxBatches: 2, overlong }), {
    rollout: { dynamic: { minInformative: 3, maxBatches: 2 } },
    update: { credit: Credit.overlong(overlong)(normalized), loss: Loss.ppo({ clipLow: 0.8, clipHigh: 1.28 }) }
  }],
  ["gspo", Algorithm.gspo(), { update: { credit: normalized, loss: Loss.gspo() } }],
  ["cispo", Algorithm.cispo(), { update: { credit: normalized, loss: Loss.cispo() } }],
  ["reinforcePlusPlus", Algorithm.reinforcePlusPlus(), {
    update: { credit: Credit.batchRelative(), loss: Loss.ppo(clip) }
  }],
  ["maxRl", Algorithm.maxRl(), {
    update: { credit: Credit.groupRelative(Advantage.maxRl), loss: Loss.importanceSampling }
  }]
]

/** All update metrics of a run with two iterations. */
const updates = (parts: Parts & { readonly algorithm?: Algorithm.Algorithm<InvalidOption.InvalidOption> }) =>
  Effect.gen(function*() {
    const options = yield* Task.options()
    const events = yield* Stream.runCollect(
      Rl.run({ ...options, ...parts, update: { ...options.update, ...parts.update } })
    )
    return events.filter(RunRecord.guards.Updated).map(({ metrics, reward, updates }) => ({ metrics, reward, updates }))
  }).pipe(Effect.provide(Task.layer({ sample: Task.answersHalf })))

describe("Algorithm by name", () => {
  it.effect.each(algorithms)(
    "%s trains as its parts given one by one",
    ([, algorithm, parts]) =>
      Effect.gen(function*() {
        const [named, given] = [yield* updates({ algorithm }), yield* updates(parts)]
        assert.deepStrictEqual(named, given)
        assert.notStrictEqual(named.length, 0)
      })
  )

  it.effect.each(algorithms)(
    "%s has the identity of its parts, so that either resumes the other's run",
    ([, algorithm, parts]) =>
      Effect.gen(function*() {
        const options = yield* Task.options()
        const { identity } = yield* RlOptions.resolve({ ...options, algorithm })
        assert.deepStrictEqual(
          identity,
          (yield* RlOptions.resolve({ ...options, ...parts, update: { ...options.update, ...parts.update } })).identity
        )
      }).pipe(Effect.provide(Task.layer()))
  )

  it.effect("is overridden by the run's own options", () =>
    Effect.gen(function*() {
      const options = yield* Task.options()
      const resolved = yield* RlOptions.resolve({
        ...options,
        algorithm: Algorithm.grpo({ kl: { coefficient: 0.04 } }),
        update: { learningRate: 1e-3, loss: Loss.cispo(), kl: { coefficient: 0.1 } }
      })
      assert.strictEqual(resolved.update.loss.name, "cispo")
      assert.strictEqual(resolved.update.kl.coefficient, 0.1)
      assert.strictEqual(resolved.identity["learning_rate"], 1e-3)
    }).pipe(Effect.provide(Task.layer())))
})
