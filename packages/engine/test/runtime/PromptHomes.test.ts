import { PromptHomes } from "@effect-rl/engine/runtime/PromptHomes"
import { assert, describe, it } from "@effect/vitest"
import { Array } from "effect"

const order = (prompt: ReadonlyArray<number>, weights = 0) => ({ model: 0, weights, prompt: Int32Array.from(prompt) })

/**
 * The threads chosen for these orders. Thread 0 is least busy for the first order, and thread 1 for the later orders, by `rows` rows.
 */
const asked = (orders: ReadonlyArray<ReturnType<typeof order>>, rows: number) => {
  const homes = new PromptHomes<number>()
  return orders.map((one, index) => homes.choose(one, index === 0 ? 0 : 1, (home) => home === 1 ? 0 : rows))
}

describe("PromptHomes", () => {
  it("sends equal prompts to the thread that computed them", () => {
    assert.deepStrictEqual(asked([order([1, 2, 3]), order([1, 2, 3]), order([1, 2, 4]), order([1, 2, 3])], 0), [
      0,
      0,
      1,
      0
    ])
  })

  it("sends an equal prompt with other weights to another thread", () => {
    assert.deepStrictEqual(asked([order([1, 2, 3]), order([1, 2, 3], 1)], 0), [0, 1])
  })

  it("waits for a thread at most as long as the prompt takes to compute", () => {
    assert.deepStrictEqual(asked([order([1, 2, 3]), order([1, 2, 3])], 3), [0, 0])
    assert.deepStrictEqual(asked([order([1, 2, 3]), order([1, 2, 3])], 4), [0, 1])
  })

  it("sends a prompt to the thread that computed its prefix", () => {
    const turn = Array.makeBy(20, (t) => t)
    assert.deepStrictEqual(asked([order(turn), order([...turn, 7, 8, 9]), order([8, ...turn])], 0), [0, 0, 1])
    assert.deepStrictEqual(asked([order(turn), order([...turn, 7, 8, 9])], 17), [0, 1])
  })

  it("forgets the least recently used prompts", () => {
    const homes = new PromptHomes<number>()
    const ask = (token: number, least: number) => homes.choose(order([token]), least, () => 0)
    for (const token of Array.range(1, 8192)) ask(token, 0)
    assert.strictEqual(ask(1, 1), 0)
    ask(8193, 0)
    assert.deepStrictEqual([ask(1, 1), ask(2, 1)], [0, 1])
  })
})
