import { MathGrader } from "@effect-rl/recipes"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"

const isCorrect = (answer: string, reference: string) =>
  MathGrader.MathGrader.use((grader) => grader.isCorrect(answer, reference))

describe("MathGrader", () => {
  it.effect("grades on the caller's thread by default", () =>
    Effect.gen(function*() {
      assert.isTrue(yield* isCorrect("\\frac12", "0.5"))
      assert.isFalse(yield* isCorrect("\\frac13", "0.5"))
    }))

  it.effect("gives the same verdicts in a separate thread", () =>
    Effect.gen(function*() {
      const verdicts = yield* Effect.all([isCorrect("\\frac12", "0.5"), isCorrect("1", "2"), isCorrect("2x", "x*2")], {
        concurrency: "unbounded"
      })
      assert.deepStrictEqual(verdicts, [true, false, true])
    }).pipe(Effect.provide(MathGrader.layerWorker())))

  const stuck = MathGrader.layerWorker({ deadline: "1 second", file: new URL("./stuckWorker.ts", import.meta.url) })

  it.effect("stops a thread at the deadline, grades its answer as wrong and serves the next answer", () =>
    Effect.gen(function*() {
      assert.isTrue(yield* isCorrect("1", "1"))
      const first = yield* Effect.forkChild(isCorrect("stuck", "1"))
      const second = yield* Effect.forkChild(isCorrect("2", "2"))
      yield* TestClock.adjust("1 second")
      assert.isFalse(yield* Fiber.join(first))
      assert.isTrue(yield* Fiber.join(second))
    }).pipe(Effect.provide(stuck)))

  it.effect("grades the answer of a thread that crashed as wrong and serves the next answer", () =>
    Effect.gen(function*() {
      assert.isFalse(yield* isCorrect("crash", "1"))
      assert.isTrue(yield* isCorrect("1", "1"))
    }).pipe(Effect.provide(stuck)))
})
