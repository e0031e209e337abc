/** Faults of the open set, each found by the check for its kind. */
import { assert, describe, it } from "@effect/vitest"
import * as FoundLater from "./FoundLater.ts"
import * as OpenFaults from "./OpenFaults.ts"

/** One fault for each part of the API, with the check that finds it. */
const kinds: Readonly<Record<string, string>> = {
  stopMissedAtStart:
    "a stop string ends a sample exactly at the token that completes it, whatever its length and characters",
  laterChunksDropped:
    "a prompt in chunks equals the whole prompt, a single token is a valid prompt, and token 0 is read like others",
  epsRaised: "an eps of 1e-12 does not shorten the steps of small gradients",
  savesOutOfOrder: "a save submitted between unfinished steps has the weights at its place in the order",
  metadataKeysLowercased: "a run and its checkpoints are listed with their client's metadata",
  failuresNotListed: "retrieve_futures reports each finished or failed request once, and only to its own sampler",
  streamIgnoresN: "chat completions: a streamed answer equals the whole answer, including its finish reason and usage",
  toolsNotCounted: "count_tokens equals the number of prompt tokens that messages report"
}

describe("the open faults", () => {
  it("are fifty, each with a unique name", () => {
    assert.strictEqual(new Set(OpenFaults.faults.map(({ id }) => id)).size, 50)
  })

  FoundLater.test(OpenFaults.faults, kinds)
})
