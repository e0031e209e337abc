/** Finds out by sampling what a backend promises about seeds. */
import * as Effect from "effect/Effect"
import type * as ModelInput from "../model/ModelInput.ts"
import type * as Sampling from "../model/Sampling.ts"
import type * as Capabilities from "./Capabilities.ts"
import type { SamplingClient } from "./SamplingClient.ts"
import type { TinkerError } from "./TinkerError.ts"

const samples = 3

/** Long enough that two samples are rarely equal by chance. */
const maxTokens = 16

const text = ({ tokens }: Sampling.SampledTokens) => tokens.join(" ")

const equal = (left: ReadonlyArray<string>, right: ReadonlyArray<string>) =>
  left.every((one, index) => one === right[index])

/**
 * Samples up to nine sequences of at most 16 tokens after `prompt` and compares them. Choose a prompt with varied answers: if the model
 * always answers alike, the result is `duplicates`.
 *
 * @example
 * SeedProbe.probe(client, prompt).pipe(Effect.tap((seeds) => Console.log(`seeds: ${seeds}`)))
 */
export const probe = Effect.fnUntraced(function*(
  client: SamplingClient,
  prompt: ModelInput.ModelInput,
  seed = 20_260_101
): Effect.fn.Return<Capabilities.Seeds, TinkerError> {
  const ask = (seed: number, numSamples: number) =>
    Effect.map(
      client.sample({ prompt, numSamples, params: { maxTokens, seed, stop: [] } }),
      ({ sequences }) => sequences.map(text)
    )
  const together = yield* ask(seed, samples)
  if (!equal(together, yield* ask(seed, samples))) return "none"
  if (new Set(together).size === 1) return "duplicates"
  const alone = yield* Effect.forEach(together, (_, index) => ask(seed + index, 1))
  return equal(together, alone.flat()) ? "sample" : "request"
})
