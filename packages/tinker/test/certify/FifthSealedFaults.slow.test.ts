/** Faults that no check found when they were unsealed. Today a check finds each of them. */
import { assert, describe, it } from "@effect/vitest"
import * as FifthSealedFaults from "./FifthSealedFaults.ts"
import * as FoundLater from "./FoundLater.ts"

const foundBy: Readonly<Record<string, string>> = {
  namesMadePlain: "a checkpoint name with unusual characters is kept exactly or refused",
  softTargetsNormalised:
    "random soft targets have the summed value and gradient of their candidates, whatever their weights sum to",
  deletionEndsSamplers: "a sampler is unaffected if its checkpoint is deleted or replaced",
  emptyRunsHidden: "a new run is listed before it has a checkpoint",
  tagsChange: "every range of a download equals the same bytes of the whole file"
}

describe("the fifth sealed faults", () => {
  it("are thirty, each with a unique name", () => {
    assert.strictEqual(new Set(FifthSealedFaults.faults.map(({ id }) => id)).size, 30)
  })

  FoundLater.test(FifthSealedFaults.faults, foundBy)
})
