/** Chooses the next tokens. */
import * as Effect from "effect/Effect"
import type { SamplingClient } from "../backend/SamplingClient.ts"
import { TinkerError, Unavailable } from "../backend/TinkerError.ts"
import type * as ModelInput from "../model/ModelInput.ts"
import type * as Sampling from "../model/Sampling.ts"
import type { TurnKey } from "../record/Key.ts"
import * as Seed from "../record/Seed.ts"

export interface Request {
  readonly prompt: ModelInput.ModelInput
  readonly stop: Sampling.Stop
  /** Tighter cap for this turn alone. */
  readonly maxTokens?: number
  readonly key: TurnKey
}

/** @see tinker-cookbook `TokenCompleter` */
export interface Policy<out E = never, out R = never> {
  readonly act: (request: Request) => Effect.Effect<Sampling.SampledTokens, E, R>
  /** What the same policy can be made from in another process; some policies can be made nowhere else. */
  readonly description?: Description
}

export interface SamplingOptions {
  /** Cap per turn. */
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
    act: ({ key, maxTokens: tighter = maxTokens, prompt, stop }) => {
      const params = { ...shape, stop, maxTokens: Math.min(maxTokens, tighter), seed: Seed.turn(seed, key) }
      return Effect.flatMap(client.sample({ prompt, params, ...record }), ({ sequences }) => onlySequence(sequences))
    }
  }
}
