import { Rl } from "@effect-rl/core"
import * as Dispatcher from "@effect-rl/core/rl/schedule/Dispatcher"
import { assert, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import * as Task from "../Task.ts"

const run = Stream.unwrap(Effect.map(Task.options({ epochs: 2 }), Rl.run))

it.effect("a stored run's outcomes are those of its groups before an iteration", () =>
  Effect.gen(function*() {
    yield* Stream.runDrain(run)
    const seenBefore = Effect.fnUntraced(function*(iteration: number, readsHistory = true) {
      const { history } = yield* Dispatcher.tracker({ readsHistory }, iteration)
      return [...yield* history].map((
        [key, { iteration, rewards, visits }]
      ) => [key, iteration, visits, rewards.length])
    })
    assert.deepStrictEqual(yield* seenBefore(0), [])
    assert.deepStrictEqual(yield* seenBefore(1), [["sum/0", 0, 1, 4], ["sum/1", 0, 1, 4]])
    assert.deepStrictEqual(yield* seenBefore(3), [
      ["sum/0", 2, 2, 4],
      ["sum/1", 2, 2, 4],
      ["sum/2", 1, 1, 4],
      ["sum/3", 1, 1, 4]
    ])
    assert.deepStrictEqual(yield* seenBefore(3, false), [])
  }).pipe(Effect.provide(Task.layer({ sample: Task.answersHalf }))))
