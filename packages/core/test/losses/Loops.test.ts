import * as Loops from "@effect-rl/core/losses/program/Loops"
import { bounds, functions } from "@effect-rl/core/losses/program/Pointwise"
import { assert, describe, it } from "@effect/vitest"

const { add, exp, ge, gt, le, logical_and, lt, minimum, mul, ne, neg, sub } = functions

const operations = {
  add,
  sub,
  mul,
  neg,
  exp,
  minimum,
  atLeast: bounds.min.number,
  atMost: bounds.max.number,
  gt,
  ge,
  lt,
  le,
  ne,
  and: logical_and
}

const numbers = [-Infinity, -2.5, -1, -0, 0, 0.5, 1, 3, Infinity, NaN]
const pairs = numbers.flatMap((x) => numbers.map((y) => [x, y] as const))
const x = Float64Array.from(pairs, ([left]) => left)
const y = Float64Array.from(pairs, ([, right]) => right)

const forward = (loops: Loops.Loops) => {
  const to = new Float64Array(x.length)
  loops.forward(x, y, to, x.length)
  return to
}

const back = (loops: Loops.Loops, given: number) =>
  loops.back?.map((add) => {
    const own = new Float64Array(x.length).fill(1)
    add(new Float64Array(x.length).fill(given), x, y, forward(loops), own, x.length)
    return own
  })

describe("Loops of an operation", () => {
  for (const [name, operation] of Object.entries(operations)) {
    it(`match its function of one element: ${name}`, () => {
      const { loops } = operation
      if (loops === undefined) return assert.fail(`${name} has no loops`)
      const general = operation.arity === 1 ? Loops.ofOne(operation) : Loops.ofTwo(operation)
      assert.deepStrictEqual(forward(loops), forward(general))
      for (const given of [0, 2]) assert.deepStrictEqual(back(loops, given), back(general, given))
    })
  }

  it("leave the slopes of the arguments unchanged if the slope of the result is 0", () => {
    for (const operation of Object.values(operations)) {
      const slopes = operation.loops === undefined ? undefined : back(operation.loops, 0)
      for (const own of slopes ?? []) assert.isTrue(own.every((slope) => slope === 1))
    }
  })
})
