import { Tinker } from "@effect-rl/core"
import { type Capabilities, ModelInput, type Sampling, SeedProbe } from "@effect-rl/core/backend"
import { Script, ScriptedTinker } from "@effect-rl/core/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"

const prompt = ModelInput.fromTokens([1, 2, 3])

const probe = (script: Script.Script) =>
  Effect.gen(function*() {
    const tinker = yield* Tinker.Tinker
    const client = yield* tinker.createSamplingClient({ baseModel: Script.defaultModel })
    return yield* SeedProbe.probe(client, prompt)
  }).pipe(Effect.scoped, Effect.provide(ScriptedTinker.layer(script)))

/** A client that answers each sample with the token that `pick` draws. */
const drawing =
  (pick: (seed: number, index: number, request: number) => number): Script.SampleScript =>
  ({ numSamples = 1, params: { seed = 0 } }, { call }) => ({
    sequences: Array.from({ length: numSamples }, (_, index): Sampling.SampledTokens => ({
      tokens: Int32Array.of(pick(seed, index, call)),
      logprobs: Float32Array.of(-1),
      stopReason: "length"
    }))
  })

describe("SeedProbe.probe", () => {
  const backends: ReadonlyArray<readonly [meaning: Capabilities.Seeds, title: string, script: Script.Script]> = [
    ["sample", "each sample has a seed of its own", {}],
    ["sample", "seed + i is that of sample i", { sample: drawing((seed, index) => (seed + index) % 31) }],
    ["request", "samples of one request are drawn one after another", {
      sample: drawing((seed, index) => (seed + 7 * index) % 31)
    }],
    ["duplicates", "all samples of a request share its seed", { sample: drawing((seed) => seed % 31) }],
    ["none", "no sample is repeated", { sample: drawing((_, index, request) => (3 * request + index) % 31) }]
  ]
  for (const [meaning, title, script] of backends) {
    it.effect(`is ${meaning} if ${title}`, () =>
      Effect.gen(function*() {
        assert.strictEqual(yield* probe(script), meaning)
      }))
  }
})
