import { Tinker } from "@effect-rl/core"
import { Capabilities, SeedProbe } from "@effect-rl/core/backend"
import * as Effect from "effect/Effect"
import * as Check from "../Check.ts"
import * as Examples from "../Examples.ts"
import { RawRequests } from "../RawRequests.ts"

const words: Readonly<Record<Capabilities.Seeds, string>> = {
  sample: "a seed belongs to a sample: sample i of a request equals a single sample with seed + i",
  request: "a seed belongs to a request: the same request gives the same samples",
  duplicates: "all samples of a request with a seed are equal: a group is one request per member",
  none: "seeds are ignored"
}

export const meaning: Check.Check = {
  theme: "seeds",
  name: "seeds behave as the server's capabilities say",
  why: "Runs are repeated by their seeds, and a group of equal samples has nothing to compare.",
  run: Effect.gen(function*() {
    const { model } = yield* RawRequests
    const tinker = yield* Tinker.Tinker
    const { seeds } = yield* tinker.capabilities(model)
    const client = yield* tinker.createSamplingClient({ baseModel: model })
    const found = yield* SeedProbe.probe(client, Examples.input)
    yield* Check.expect(
      Capabilities.promise(found, seeds),
      `what the server says: ${words[seeds]}`,
      words[found]
    )
    return words[found]
  })
}

export const all = [meaning]
