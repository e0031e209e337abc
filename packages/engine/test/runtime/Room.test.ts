import * as Memory from "@effect-rl/engine/numerics/Memory"
import * as Room from "@effect-rl/engine/runtime/Room"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"

const floats = 10_000

describe("room in the memory", () => {
  it.effect("is given back when the scope of what was built closes", () =>
    Effect.gen(function*() {
      const room = Room.make(Memory.make())
      const before = room.free()
      yield* Effect.scoped(Effect.gen(function*() {
        yield* room.allocated(({ allocate }) => [allocate(floats), allocate(floats)])
        yield* room.scoped(floats)
        assert.isAtMost(room.free(), before - 3 * 4 * floats)
      }))
      assert.strictEqual(room.free(), before)
    }))

  it.effect("is given back at once where building fails", () =>
    Effect.gen(function*() {
      const room = Room.make(Memory.make())
      const before = room.free()
      const error = yield* room.allocated(({ allocate }) => {
        allocate(floats)
        throw new Error("no such layer")
      }).pipe(Effect.scoped, Effect.flip)
      assert.include(error.message, "no such layer")
      assert.strictEqual(room.free(), before)
    }))

  it.effect("is held until it is released", () =>
    Effect.gen(function*() {
      const room = Room.make(Memory.make())
      const before = room.free()
      const address = yield* room.acquire(floats)
      assert.isAtMost(room.free(), before - 4 * floats)
      yield* room.release(address)
      assert.strictEqual(room.free(), before)
    }))
})
