/** Chooses the next tokens. */
import * as Effect from "effect/Effect"
import type { SamplingClient } from "../backend/SamplingClient.ts"
import { TinkerError, Unavailable } from "../backend/TinkerError.ts"
import type { Weights } from "../backend/Weights.ts"
import type { Grammar } from "../model/Grammar.ts"
import type * as ModelInput from "../model/ModelInput.ts"
import type * as Sampling from "../model/Sampling.ts"
import type { TurnKey } from "../records/Key.ts"
import * as Seed from "../records/Seed.ts"

/** A request for the next tokens after a prompt. */
export interface Request {
  readonly prompt: ModelInput.ModelInput
  readonly stop: Sampling.Stop
  /** Tighter limit for this turn only. */
  readonly maxTokens?: number
  /** The grammar to which the tokens are held; a policy whose backend has none fails. */
  readonly grammar?: Grammar
  readonly key: TurnKey
}

/** @see tinker-cookbook `TokenCompleter` */
export interface Policy<out E = never, out R = never> {
  readonly act: (request: Request) => Effect.Effect<Sampling.SampledTokens, E, R>
  /** The description from which another process can make the same policy; absent for a policy that only this process has. */
  readonly description?: Description
}

/** How tokens are sampled. */
export interface SamplingOptions {
  /** Most tokens of a turn. */
  readonly maxTokens: number
  /** 1 unless given: anything else biases the log-probabilities that training reads. */
  readonly temperature?: number
  readonly topP?: number
  readonly topK?: number
  /** Seed of the run, from which each turn's own seed is derived. */
  readonly seed: number
  /** Let the backend record what `Loss.stableReinforce` trains on. */
  readonly recordStabilityInfo?: boolean
}

/** A policy that samples: the weights, and how. */
export interface Description {
  readonly modelPath: string
  readonly options: SamplingOptions
}

/** The sequence of a request for one. */
export const onlySequence = (
  [sequence]: ReadonlyArray<Sampling.SampledTokens>
): Effect.Effect<Sampling.SampledTokens, TinkerError> =>
  sequence === undefined
    ? Effect.fail(
      new TinkerError({ operation: "sample", reason: new Unavailable({ detail: "no sequence was returned" }) })
    )
    : Effect.succeed(sequence)

/**
 * Samples every turn from one client.
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
      return Effect.flatMap(client.sample(request), ({ sequences }) => onlySequence(sequences))
    }
  }
}

/**
 * Samples each turn with the weights that are the newest when it begins, and says in `samplerStep` which these were.
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
