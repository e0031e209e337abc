/**
 * One training example: the model input, and what the loss reads at each position.
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

/** The inputs of each kind. Arrays have shape `[T]` unless stated; `T` is the model input's length. Unknown log-probabilities are NaN. */
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

/** The kinds of inputs. A loss accepts only data of its kind. */
export type Kind = keyof Inputs

/**
 * A training example with inputs of kind `K`. A loss of another kind does not accept it at compile time.
 *
 * @see tinker `Datum`
 */
export interface Datum<K extends Kind> {
  readonly kind: K
  readonly modelInput: ModelInput.ModelInput
  readonly inputs: Inputs[K]
  /** The turns from which the datum was made; absent for data that were not rolled out. */
  readonly origin?: Origin
  /**
   * For each target, the optimizer step of the weights that sampled it, shape `[T]`; −1 for tokens that the policy did not write. Absent if
   * the turns do not record their steps; all targets then have the step in `origin`.
   */
  readonly samplerSteps?: Int32Array
  /** The prompts and samples that the datum's positions come from, for backends that train on data recorded during sampling. */
  readonly provenance?: Provenance
}

/** The member and turns from which a datum was made. Records and metrics of the datum refer to them. */
export interface Origin {
  /** Index of the dataset's batch that contains the group. */
  readonly iteration: number
  /** The group's key, unique within its batch. */
  readonly group: string
  readonly member: number
  /** Indices of the turns in the datum, in order. They have gaps if the turns of several branches alternate. */
  readonly turns: ReadonlyArray<number>
  /** Index of the datum among those of its member, from 0. A new datum begins if a prompt does not continue an earlier turn. */
  readonly segment: number
  /**
   * The optimizer step of the weights that sampled the datum's tokens. If several weights sampled its turns, the step at the beginning of
   * the group.
   */
  readonly samplerStep: number
}

/** The origin as text, unique among the datums of an iteration. */
export const idOf = ({ group, iteration, member, segment }: Origin): string =>
  `${iteration}/${group}/m${member}/s${segment}`

/** A run of tokens at consecutive positions of a sequence that a backend sampled, or of its prompt. */
export interface Span {
  readonly of: "prompt" | "sampled"
  readonly sequenceId: string
  readonly offset: number
  readonly length: number
}

/** Spans that cover, in order, every position of the model input and every target. */
export interface Provenance {
  readonly modelInput: ReadonlyArray<Span>
  readonly targets: ReadonlyArray<Span>
}

/** Creates a datum for policy losses. */
export const policyTokens = (
  modelInput: ModelInput.ModelInput,
  inputs: Inputs["PolicyTokens"]
): Datum<"PolicyTokens"> => ({ kind: "PolicyTokens", modelInput, inputs })

/** Creates a datum for cross entropy, with one target and one weight per position. */
export const weightedTokens = (
  modelInput: ModelInput.ModelInput,
  inputs: Inputs["WeightedTokens"]
): Datum<"WeightedTokens"> => ({ kind: "WeightedTokens", modelInput, inputs })
