import * as Memory from "@effect-rl/engine/numerics/Memory"
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"

describe("Memory", () => {
  it("grows for allocations, which do not overlap", () => {
    const memory = Memory.make()
    const { allocate, reserve } = Memory.reserver(memory)
    const small = allocate(3)
    const large = reserve(40 << 20)
    const after = allocate(1)
    assert.isAtLeast(memory.buffer.byteLength, large.start + large.bytes)
    Memory.floats(memory, small, 3).fill(1)
    Memory.bytes(memory, large.start, large.bytes).fill(7)
    Memory.floats(memory, after, 1).fill(2)
    assert.deepStrictEqual([...Memory.floats(memory, small, 3)], [1, 1, 1])
    assert.deepStrictEqual([...Memory.floats(memory, after, 1)], [2])
    assert.notStrictEqual(small, 0)
  })

  it("refuses to exceed the address space, and reports the free memory and a remedy", () => {
    const { free, reserve } = Memory.reserver(Memory.make())
    assert.strictEqual(free(), Memory.capacity)
    assert.throws(
      () => reserve(2 ** 32),
      /memory is full: 4294967296 bytes are needed, 4294966272 of 4294966272 are free; close unused clients/
    )
  })

  it("allocates scratch space in order and frees it back to a mark", () => {
    const memory = Memory.make()
    const arena = Memory.arena(Memory.reserver(memory).reserve(4096))
    const first = arena.allocate(10)
    const mark = arena.mark()
    const second = arena.allocate(100)
    assert.isAtLeast(second, first + 40)
    arena.reset(mark)
    assert.strictEqual(arena.allocate(1), second)
    assert.isAtLeast(arena.peak(), 440)
    assert.throws(() => arena.allocate(1024), /4096 bytes is too small/)
  })

  it("frees an allocation only once, and nothing that was never allocated", () => {
    const { allocate, release } = Memory.reserver(Memory.make())
    const place = allocate(100)
    release(place)
    assert.throws(() => release(place), /is not reserved/)
    assert.throws(() => release(4096), /is not reserved/)
  })

  it("reuses freed memory in pieces of any size", () => {
    const { allocate, release } = Memory.reserver(Memory.make())
    const [first, second] = [allocate(1600), allocate(16)]
    release(first)
    assert.deepStrictEqual([allocate(800), allocate(400), allocate(400)], [first, first + 3200, first + 4800])
    assert.isAbove(allocate(16), second)
  })

  it("merges adjacent free pieces, freed in any order", () => {
    const { allocate, free, release } = Memory.reserver(Memory.make())
    const last = allocate(16)
    const before = free()
    for (const order of [[0, 1, 2, 3], [3, 2, 1, 0], [1, 3, 0, 2], [2, 0, 3, 1]]) {
      const places = [100, 200, 300, 400].map((count) => allocate(count))
      allocate(16)
      for (const index of order) release(places[index] ?? 0)
      const whole = allocate(1000)
      assert.strictEqual(whole, places[0])
      release(whole)
    }
    assert.strictEqual(free(), before - 4 * 64)
    release(last)
  })

  it.prop(
    "never lets allocations overlap, and is empty after all are freed",
    [Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: -30, maximum: 5000 })))],
    ([steps]) => {
      const { allocate, free, release } = Memory.reserver(Memory.make())
      const live: Array<readonly [start: number, end: number]> = []
      for (const step of steps) {
        const [freed] = step < 0 ? live.splice(-step % Math.max(1, live.length), 1) : []
        if (freed !== undefined) release(freed[0])
        if (step < 0) continue
        const start = allocate(step)
        const end = start + Math.max(step * 4, 1)
        assert.isTrue(live.every(([from, to]) => end <= from || start >= to))
        live.push([start, end])
      }
      for (const [start] of live) release(start)
      assert.strictEqual(free(), Memory.capacity)
    }
  )
})
