/** Faults of the open set, each found by the check for its kind. */
import { assert, describe, it } from "@effect/vitest"
import * as FoundLater from "./FoundLater.ts"
import * as OpenFaults from "./OpenFaults.ts"

/** One fault for each part of the API, with the check that finds it. */
const kinds: Readonly<Record<string, string>> = {
  stopMissedAtStart:
    "a stop string ends a sample where its text is complete, in whatever case, length and characters, and nowhere else",
  laterChunksDropped: "a prompt in chunks is the whole prompt, one token is a prompt, and token 0 is a token",
  epsRaised: "an eps of 1e-12 leaves small gradients their steps",
  savesOutOfOrder: "what is saved between steps that are on their way has the weights of its place among them",
  metadataKeysLowercased: "a run and its checkpoints are listed with the metadata that their client gave",
  failuresNotListed: "requests that are told together are told once, finished and failed, each to its own sampler",
  streamIgnoresN: "chat completions: a streamed answer is the whole one, with its end and its usage",
  toolsNotCounted: "count_tokens counts the tokens of the prompt that messages have"
}

describe("the open faults", () => {
  it("are fifty, each with a unique name", () => {
    assert.strictEqual(new Set(OpenFaults.faults.map(({ id }) => id)).size, 50)
  })

  FoundLater.test(OpenFaults.faults, kinds)
})
