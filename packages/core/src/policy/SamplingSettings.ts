/**
 * Sampling settings of a run: the length of a response and the distribution of its tokens.
 *
 * @example
 * Rl.run({ model, dataset, sampling: { maxTokens: 64, temperature: 0.8, topP: 0.95, allowBiased: true }, update: { learningRate: 1e-4 } })
 */
import * as Schema from "effect/Schema"
import * as Setting from "../settings/Setting.ts"

/** The sampling settings of a run. */
export const SamplingSettings = Schema.Struct({
  /** Longest response of one turn. Default: 256 tokens. */
  maxTokens: Setting.int({
    least: 1,
    default: 256,
    unit: "tokens",
    help: "Longest response of one turn",
    identity: true
  }),
  /** Temperature of training samples. Default: 1. */
  temperature: Setting.number({ above: 0, default: 1, help: "Temperature of training samples", identity: true }),
  /** Sample from the likeliest tokens that together have this probability. Default: 1. */
  topP: Setting.number({
    above: 0,
    most: 1,
    default: 1,
    help: "Sample from the likeliest tokens that together have this probability",
    identity: true
  }),
  /** Sample from this many of the likeliest tokens; 0 for all. Default: 0 tokens. */
  topK: Setting.int({
    least: 0,
    default: 0,
    unit: "tokens",
    help: "Sample from this many of the likeliest tokens; 0 for all",
    identity: true
  }),
  /** Train even if temperature, topP or topK make the log-probabilities differ from the distribution that was sampled. Default: false. */
  allowBiased: Setting.toggle({
    default: false,
    help:
      "Train even if temperature, topP or topK make the log-probabilities differ from the distribution that was sampled"
  })
}).annotate({ title: "Sampling" })
export interface SamplingSettings extends Schema.Codec.Encoded<typeof SamplingSettings> {}

type Resolved = typeof SamplingSettings.Type

/** The first setting, if any, that makes the sampler's log-probabilities differ from the distribution that it sampled from. */
export const bias = (
  { temperature, topK, topP }: Resolved
): readonly [field: "temperature" | "topP" | "topK", value: number] | undefined => {
  if (temperature !== 1) return ["temperature", temperature]
  if (topP < 1) return ["topP", topP]
  return topK > 0 ? ["topK", topK] : undefined
}

/** The options of a policy. Parameters with neutral values are left out. */
export const options = ({ maxTokens, temperature, topK, topP }: Resolved, seed: number) => ({
  maxTokens,
  temperature,
  seed,
  ...(topP < 1 ? { topP } : {}),
  ...(topK > 0 ? { topK } : {})
})
