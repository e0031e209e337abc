/** Finds steps that change log-probabilities far more than rounding does, but keep the model near its starting point. */
import * as Effect from "effect/Effect"
import * as Check from "./Check.ts"

export const visible = 0.3

/** Smaller changes may be rounding, including in bfloat16. */
const rounding = 0.01

export const largest = (changeT: Float32Array): number => Math.max(...changeT.map(Math.abs))

const mostAttempts = 12

/** A learning rate of at least `smallest` whose step is visible, and the change of log-probabilities `[T]` that it causes. */
export const step = <E, R>(changeOf: (learningRate: number) => Effect.Effect<Float32Array, E, R>, smallest: number) =>
  Effect.gen(function*() {
    let learningRate = smallest
    for (let attempt = 0; attempt < mostAttempts; attempt++) {
      const changeT = yield* changeOf(learningRate)
      const found = largest(changeT)
      if (found > visible) return { changeT, learningRate }
      learningRate *= found < rounding ? 32 : Math.min(32, 1.5 * visible / found)
    }
    return yield* Effect.fail(
      new Check.Mismatch({ expected: "a step that changes the model at some learning rate", found: "none" })
    )
  })
