import * as Comparison from "@effect-rl/core/losses/graph/Comparison"
import * as Elementwise from "@effect-rl/core/losses/graph/Elementwise"
import * as Loops from "@effect-rl/core/losses/graph/Loops"
import { assert, describe, it } from "@effect/vitest"

const { add, atLeast, atMost, exp, minimum, multiply, negate, subtract } = Elementwise
const { ge, gt, le, logical_and, lt, ne } = Comparison.shared

const operations = {
  add: add.pointwise,
  subtract: subtract.pointwise,
  multiply: multiply.pointwise,
  negate: negate.pointwise,
  exp: exp.pointwise,
  minimum: minimum.pointwise,
  atLeast: atLeast.pointwise,
  atMost: atMost.pointwise,
  gt: gt?.pointwise,
  ge: ge?.pointwise,
  lt: lt?.pointwise,
  le: le?.pointwise,
  ne: ne?.pointwise,
  and: logical_and?.pointwise
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

describe("the loops of an operation", () => {
  for (const [name, operation] of Object.entries(operations)) {
    it(`compute what its function of one element does: ${name}`, () => {
      const { loops } = operation ?? {}
      if (operation === undefined || loops === undefined) return assert.fail(`${name} has no loops`)
      const general = operation.arity === 1 ? Loops.ofOne(operation) : Loops.ofTwo(operation)
      assert.deepStrictEqual(forward(loops), forward(general))
      for (const given of [0, 2]) assert.deepStrictEqual(back(loops, given), back(general, given))
    })
  }

  it("leave a slope of 0 as it is, whatever it is multiplied by", () => {
    for (const operation of Object.values(operations)) {
      const slopes = operation?.loops === undefined ? undefined : back(operation.loops, 0)
      for (const own of slopes ?? []) assert.isTrue(own.every((slope) => slope === 1))
    }
  })
})
