/**
 * One training example: what the model reads and what the loss reads at each of its positions.
 *
 * @example
 * Datum.policyTokens(ModelInput.fromTokens([1, 2, 3]), {
 *   targetTokens: Int32Array.of(2, 3, 4),
 *   logprobs: Float32Array.of(0, -0.5, -0.1),
 *   advantages: Float32Array.of(0, 1, 1),
 *   mask: Float32Array.of(0, 1, 1)
 * })
 */
import type * as ModelInput from "./ModelInput.ts"

/** Per-position inputs `[T]`, `T` the length of the model input. Missing log-probabilities are NaN. */
export interface Inputs {
  /** The inputs of the policy-gradient losses. `mask` is 1 on action tokens; it is never sent to a service. */
  PolicyTokens: {
    readonly targetTokens: Int32Array
    readonly logprobs: Float32Array
    readonly advantages: Float32Array
    readonly mask: Float32Array
  }
  /** The inputs of cross entropy. */
  WeightedTokens: {
    readonly targetTokens: Int32Array
    readonly weights: Float32Array
  }
  /** Soft targets for cross entropy: `K` candidates per position, both arrays row-major `[T, K]`. */
  WeightedCandidates: {
    readonly targetTokens: Int32Array
    readonly weights: Float32Array
    readonly candidates: number
  }
}

/** The kinds of inputs, by which datums and losses are matched. */
export type Kind = keyof Inputs

/**
 * A datum of one input kind does not compile with a loss of another.
 *
 * @see tinker `Datum`
 */
export interface Datum<K extends Kind> {
  readonly kind: K
  readonly modelInput: ModelInput.ModelInput
  readonly inputs: Inputs[K]
  /** The turns of which it was made; absent on data that were not rolled out. */
  readonly origin?: Origin
  /**
   * Optimizer steps behind the weights that sampled each target `[T]`, and −1 where the policy did not write it; absent where all are those of
   * the origin.
   */
  readonly samplerSteps?: Int32Array
  /** Where its tokens were sampled, for backends that train on what they recorded at that time. */
  readonly provenance?: Provenance
}

/** The turns of a member that a datum was made of. What is measured of a datum belongs to them. */
export interface Origin {
  /** The dataset's batch to which the group belongs. */
  readonly iteration: number
  /** The group's key, unique within its batch. */
  readonly group: string
  readonly member: number
  /** Indices of the turns that it holds, in order; not all in a row where turns of several branches alternate. */
  readonly turns: ReadonlyArray<number>
  /** Counts the datums of a member from 0: another one begins where a prompt does not go on after a turn that could be continued. */
  readonly segment: number
  /** Optimizer steps behind the weights that sampled it, or with which its group began where others sampled some of its turns. */
  readonly samplerStep: number
}

/** The origin as text, which differs for different datums of an iteration. */
export const idOf = ({ group, iteration, member, segment }: Origin): string =>
  `${iteration}/${group}/m${member}/s${segment}`

/** A run of tokens: positions of a sequence that a backend sampled, or of the prompt that it was sampled from. */
export interface Span {
  readonly of: "prompt" | "sampled"
  readonly sequenceId: string
  readonly offset: number
  readonly length: number
}

/** Runs in order that cover every position of the model input, and every target. */
export interface Provenance {
  readonly modelInput: ReadonlyArray<Span>
  readonly targets: ReadonlyArray<Span>
}

/** A datum for policy losses. */
export const policyTokens = (
  modelInput: ModelInput.ModelInput,
  inputs: Inputs["PolicyTokens"]
): Datum<"PolicyTokens"> => ({ kind: "PolicyTokens", modelInput, inputs })

/** A datum for cross entropy, with one target and one weight per position. */
export const weightedTokens = (
  modelInput: ModelInput.ModelInput,
  inputs: Inputs["WeightedTokens"]
): Datum<"WeightedTokens"> => ({ kind: "WeightedTokens", modelInput, inputs })
