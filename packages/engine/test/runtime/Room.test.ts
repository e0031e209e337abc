import * as Memory from "@effect-rl/engine/numerics/Memory"
import * as Room from "@effect-rl/engine/runtime/Room"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"

const floats = 10_000

describe("reserved memory", () => {
  it.effect("is freed when the scope closes", () =>
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

  it.effect("is freed immediately if building fails", () =>
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

  it.effect("stays reserved until it is released", () =>
    Effect.gen(function*() {
      const room = Room.make(Memory.make())
      const before = room.free()
      const address = yield* room.acquire(floats)
      assert.isAtMost(room.free(), before - 4 * floats)
      yield* room.release(address)
      assert.strictEqual(room.free(), before)
    }))
})
