/** Faults that no check found when they were unsealed. Today a check finds each of them. */
import { assert, describe, it } from "@effect/vitest"
import * as FifthSealedFaults from "./FifthSealedFaults.ts"
import * as FoundLater from "./FoundLater.ts"

const foundBy: Readonly<Record<string, string>> = {
  namesMadePlain: "a name with unusual characters is refused, or is that of its checkpoint to the letter",
  softTargetsNormalised:
    "soft targets by chance have the value and the gradient of their candidates one by one, whatever their weights add up to",
  deletionEndsSamplers: "a sampler goes on as before when the checkpoint that it was made from is deleted or replaced",
  emptyRunsHidden: "a run is in the list of runs from its beginning, before it has a checkpoint",
  tagsChange: "every part of a download is that part of the whole, to the byte"
}

describe("the fifth sealed faults", () => {
  it("are thirty, each with a unique name", () => {
    assert.strictEqual(new Set(FifthSealedFaults.faults.map(({ id }) => id)).size, 30)
  })

  FoundLater.test(FifthSealedFaults.faults, foundBy)
})
