import { Pending } from "@effect-rl/core/backend"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"

it.effect("Pending.map changes a result without running the request again", () =>
  Effect.gen(function*() {
    let computed = 0
    const pending: Pending.Pending<number> = { await: yield* Effect.cached(Effect.sync(() => ++computed)) }
    const text = Pending.map(pending, (value) => `${value} done`)
    assert.strictEqual(yield* text.await, "1 done")
    assert.strictEqual(yield* text.await, "1 done")
    assert.strictEqual(yield* pending.await, 1)
  }))
