import * as PostedItems from "@effect-rl/engine/runtime/PostedItems"
import type { Item } from "@effect-rl/engine/runtime/Protocol"
import { assert, describe, it } from "@effect/vitest"

const integers = (...values: ReadonlyArray<number>) => Int32Array.from(values)
const floats = (...values: ReadonlyArray<number>) => Float32Array.from(values)

const policy = (length: number): Item => ({
  kind: "PolicyTokens",
  tokens: new Int32Array(length).fill(length),
  inputs: {
    targetTokens: new Int32Array(length).fill(length + 1),
    logprobs: new Float32Array(length).fill(NaN),
    advantages: new Float32Array(length).fill(-0.5),
    mask: new Float32Array(length).fill(0)
  }
})

const kinds: Readonly<Record<string, ReadonlyArray<Item>>> = {
  "a policy loss": [policy(3), policy(1), policy(5)],
  "cross entropy with several targets": [
    { kind: "WeightedTokens", tokens: integers(1), inputs: { targetTokens: integers(2, 3), weights: floats(1, 0.5) } },
    {
      kind: "WeightedTokens",
      tokens: integers(4, 5),
      inputs: { targetTokens: integers(6, 7, 8, 9), weights: floats(0, 0, 2, 1) }
    }
  ],
  "a loss graph": [
    {
      kind: "Graph",
      tokens: integers(1, 2),
      inputs: {
        targetTokens: integers(2, 3),
        counted: Uint8Array.of(0, 1),
        values: { advantages: floats(1, 2), alpha: floats(3, 4), weight: { data: [0.25], shape: [] } }
      }
    },
    {
      kind: "Graph",
      tokens: integers(9),
      inputs: {
        targetTokens: integers(8),
        counted: Uint8Array.of(1),
        values: { advantages: floats(-1), alpha: { data: [7], shape: [1, 1] }, weight: { data: [0.5], shape: [] } }
      }
    }
  ]
}

/** The number of number arrays in a message. */
const arraysIn = (value: unknown): number => {
  if (ArrayBuffer.isView(value)) return 1
  return typeof value === "object" && value !== null
    ? Object.values(value).reduce<number>((sum, part) => sum + arraysIn(part), 0)
    : 0
}

describe("data posted to a thread", () => {
  for (const [name, items] of Object.entries(kinds)) {
    it(`arrive unchanged: ${name}`, () => {
      assert.deepStrictEqual(PostedItems.unpack(structuredClone(PostedItems.pack(items))), items)
    })
  }

  it("need no more arrays for many data than for one datum", () => {
    const arrays = (count: number) => arraysIn(PostedItems.pack(Array.from({ length: count }, () => policy(4))))
    assert.strictEqual(arrays(100), arrays(1))
  })

  it("must be of one kind", () => {
    assert.throws(() => PostedItems.pack(Object.values(kinds).flat()), "the data of a pass are of several kinds")
  })
})
