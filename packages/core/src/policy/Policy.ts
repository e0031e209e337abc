/** Policies choose the next tokens. */
import * as Effect from "effect/Effect"
import * as AnswerRules from "../backend/AnswerRules.ts"
import type { SamplingClient } from "../backend/SamplingClient.ts"
import type { TinkerError } from "../backend/TinkerError.ts"
import type { Weights } from "../backend/Weights.ts"
import type { Grammar } from "../model/Grammar.ts"
import type * as ModelInput from "../model/ModelInput.ts"
import type * as Sampling from "../model/Sampling.ts"
import type { TurnKey } from "../records/Key.ts"
import * as Seed from "../records/Seed.ts"

/** A request for the tokens that follow a prompt. */
export interface Request {
  readonly prompt: ModelInput.ModelInput
  readonly stop: Sampling.Stop
  /** Maximum number of tokens for this turn, if it is lower than the policy's. */
  readonly maxTokens?: number
  /** A grammar that constrains the tokens. The policy fails if its backend does not support grammars. */
  readonly grammar?: Grammar
  readonly key: TurnKey
}

/** Responds to a prompt with sampled tokens. @see tinker-cookbook `TokenCompleter` */
export interface Policy<out E = never, out R = never> {
  readonly act: (request: Request) => Effect.Effect<Sampling.SampledTokens, E, R>
  /** A description from which another process can create the same policy; absent if only this process can have the policy. */
  readonly description?: Description
}

/** How a policy samples tokens. */
export interface SamplingOptions {
  /** Maximum number of tokens per turn. */
  readonly maxTokens: number
  /** Sampling temperature. Values other than the default bias the log-probabilities that training reads. Default: 1. */
  readonly temperature?: number
  /** Samples from the most likely tokens that together have this probability. Default: 1, all tokens. */
  readonly topP?: number
  /** Samples from this many of the most likely tokens. Default: all tokens. */
  readonly topK?: number
  /** The run's seed, from which the seed of each turn is derived. */
  readonly seed: number
  /** Let the backend record the data that `Loss.stableReinforce` needs. */
  readonly recordStabilityInfo?: boolean
}

/** The weights and the sampling options of a policy that samples. */
export interface Description {
  readonly modelPath: string
  readonly options: SamplingOptions
}

/**
 * A policy that samples every turn from one client.
 *
 * @example
 * const policy = Policy.fromSamplingClient(client, { maxTokens: 64, temperature: 1, seed: 1 })
 */
export const fromSamplingClient = (client: SamplingClient, options: SamplingOptions): Policy<TinkerError> => {
  const { maxTokens, recordStabilityInfo = false, seed, ...shape } = options
  const record = recordStabilityInfo ? { recordStabilityInfo } : {}
  return {
    description: { modelPath: client.modelPath, options },
    act: ({ grammar, key, maxTokens: tighter = maxTokens, prompt, stop }) => {
      const params = { ...shape, stop, maxTokens: Math.min(maxTokens, tighter), seed: Seed.turn(seed, key) }
      const request = { prompt, params, ...record, ...(grammar !== undefined && { grammar }) }
      return Effect.flatMap(client.sample(request), (response) => AnswerRules.onlySequence(request, response))
    }
  }
}

/**
 * A policy that samples each turn with the newest weights at the start of the turn, and reports their optimizer step in `samplerStep`.
 *
 * @example
 * const policyOf = ({ sampler }: Weights.Weights) => Policy.newest(sampler, { maxTokens: 64, temperature: 1, seed: 1 })
 */
export const newest = (sampler: Weights["sampler"], options: SamplingOptions): Policy<TinkerError> => ({
  act: (request) =>
    Effect.scoped(Effect.flatMap(sampler, ({ client, step }) =>
      Effect.map(
        fromSamplingClient(client, options).act(request),
        (sampled) => ({ ...sampled, samplerStep: step })
      )))
})
