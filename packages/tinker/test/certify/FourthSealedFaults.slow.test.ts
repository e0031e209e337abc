/** Faults that no check found when they were unsealed. Today a check finds each of them. */
import { assert, describe, it } from "@effect/vitest"
import * as FoundLater from "./FoundLater.ts"
import * as FourthSealedFaults from "./FourthSealedFaults.ts"

const foundBy: Readonly<Record<string, string>> = {
  coldTemperaturesRaised: "temperatures from 0.02 to 8 draw tokens by their probabilities",
  customLossByName: "a custom loss has its own value and gradient, even if earlier losses had the same name",
  loraSeedZeroRandom: "the same seed gives the same adapter, in the same session and in another one",
  deleteByPrefix: "an operation on a checkpoint changes no other checkpoint of any run, however similar the names",
  deltasTrimmed: "chat completions: a stream has every character of the whole answer, including whitespace at its ends",
  rangeOneShort: "every range of a download equals the same bytes of the whole file"
}

describe("the fourth sealed faults", () => {
  it("are thirty, each with a unique name", () => {
    assert.strictEqual(new Set(FourthSealedFaults.faults.map(({ id }) => id)).size, 30)
  })

  FoundLater.test(FourthSealedFaults.faults, foundBy)
})
