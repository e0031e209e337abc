import * as Memory from "@effect-rl/engine/numerics/Memory"
import { assert, describe, it } from "@effect/vitest"

describe("Memory", () => {
  it("grows as places are reserved, and they do not overlap", () => {
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

  it("refuses more than the address space, and says how much there is and what helps", () => {
    const { free, reserve } = Memory.reserver(Memory.make())
    assert.strictEqual(free(), Memory.capacity)
    assert.throws(
      () => reserve(2 ** 32),
      /memory is full: 4294967296 bytes are needed, 4294966272 of 4294966272 are free; close clients/
    )
  })

  it("takes scratch in order and gives it back to a mark", () => {
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

  it("reuses slabs of the same size only", () => {
    const memory = Memory.make()
    const slabs = Memory.slabs(Memory.reserver(memory))
    const [a, b] = [slabs.acquire(100), slabs.acquire(100)]
    assert.notStrictEqual(a, b)
    slabs.release(a)
    assert.notStrictEqual(slabs.acquire(50), a)
    assert.strictEqual(slabs.acquire(100), a)
    slabs.release(b)
    assert.throws(() => slabs.release(b), /holds no slab/)
  })
})
