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
}

/** The sequence of a request for one. */
export const onlySequence = (sequences: ReadonlyArray<Sampling.SampledTokens>) => {
  const [sequence] = sequences
  return sequence === undefined
    ? Effect.fail(
      new TinkerError({ operation: "sample", reason: new Unavailable({ detail: "no sequence was returned" }) })
    )
    : Effect.succeed(sequence)
}

/** Samples every turn from one client. */
export const fromSamplingClient = (client: SamplingClient, options: SamplingOptions): Policy<TinkerError> => {
  const { maxTokens, seed, ...shape } = options
  return {
    act: (request) =>
      Effect.flatMap(
        client.sample({
          prompt: request.prompt,
          params: {
            ...shape,
            stop: request.stop,
            maxTokens: Math.min(maxTokens, request.maxTokens ?? maxTokens),
            seed: Seed.turn(seed, request.key)
          }
        }),
        ({ sequences }) => onlySequence(sequences)
      )
  }
}
