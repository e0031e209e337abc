/** Faults that no check found when they were unsealed. Today a check finds each of them. */
import { assert, describe, it } from "@effect/vitest"
import * as FoundLater from "./FoundLater.ts"
import * as FourthSealedFaults from "./FourthSealedFaults.ts"

const foundBy: Readonly<Record<string, string>> = {
  coldTemperaturesRaised: "temperatures from 0.02 to 8 draw tokens by their probabilities",
  customLossByName:
    "a loss of the client's own has its value and its gradient, whichever losses of its name came before it",
  loraSeedZeroRandom:
    "an adapter of the same seed is the same adapter, whatever the seed, in this session and in another",
  deleteByPrefix:
    "what is done to a checkpoint leaves every other one of its run and of other runs as it was, however it is named",
  deltasTrimmed: "chat completions: a stream has every space and sign of the whole answer, at its ends too",
  rangeOneShort: "every part of a download is that part of the whole, to the byte"
}

describe("the fourth sealed faults", () => {
  it("are thirty, each with a unique name", () => {
    assert.strictEqual(new Set(FourthSealedFaults.faults.map(({ id }) => id)).size, 30)
  })

  FoundLater.test(FourthSealedFaults.faults, foundBy)
})
