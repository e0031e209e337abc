import { HeldOutPairs } from "@effect-rl/recipes"
import { assert, describe, it } from "@effect/vitest"
import { createHash } from "node:crypto"

const { heldOutPairs, isHeldOut } = HeldOutPairs

describe("HeldOutPairs", () => {
  it("are the 256 pairs that the embedded models were pretrained without", () => {
    assert.strictEqual(heldOutPairs.length, 256)
    assert.strictEqual(
      createHash("sha256").update(JSON.stringify(heldOutPairs)).digest("hex"),
      "206b139f16301da0801cb7a8aa1ac038b74bc872a2eb70695f85a2621e039898"
    )
  })

  it("are held out in either order, and the worked example is not", () => {
    for (const [a, b] of heldOutPairs) assert.isTrue(isHeldOut(a, b) && isHeldOut(b, a), `${a} + ${b}`)
    assert.isFalse(isHeldOut(4, 5))
  })
})
