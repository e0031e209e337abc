/**
 * Soft targets for distillation: at each trained position the teacher's K likeliest tokens, with their probabilities renormalised over
 * these K tokens.
 *
 * @example
 * const soft = TopK.read({ teacher: client, k: 20 }, weightedData.map((datum) => TopK.asTarget(datum)))
 */
import * as Effect from "effect/Effect"
import * as AdaptiveLimiter from "../backend/limiter/AdaptiveLimiter.ts"
import { Metering } from "../backend/Metering.ts"
import type { SamplingClient } from "../backend/SamplingClient.ts"
import { TinkerError, Unsupported } from "../backend/TinkerError.ts"
import type * as Datum from "../model/Datum.ts"
import * as ModelInput from "../model/ModelInput.ts"
import type * as Sampling from "../model/Sampling.ts"
import type { JsonObject } from "../records/Json.ts"
import * as Statistics from "../records/Statistics.ts"

/** A teacher, and how many of its tokens become targets. */
export interface Teacher {
  readonly teacher: SamplingClient
  /** How many of the teacher's likeliest tokens become targets at each position. Default: 20. */
  readonly k?: number
  /**
   * Number of trained positions to leave out at the beginning of each datum. Default: 0. tinker-cookbook's self-distillation leaves out 3.
   */
  readonly skipFirst?: number
}

/** The default number of a teacher's tokens per position. */
export const defaultK = 20

/** The teacher's part of a run's identity. */
export const identity = ({ k = defaultK, skipFirst = 0, teacher }: Teacher): JsonObject => ({
  teacher: teacher.modelPath,
  k,
  skip_first: skipFirst
})

/** A datum that gets soft targets: the sequence that the teacher reads instead of the datum's own, and the positions that are trained. */
export interface Target {
  readonly modelInput: ModelInput.ModelInput
  /** The sequence that the teacher reads. It must end with the datum's own targets, after the datum's prompt or another one. */
  readonly sequence: ModelInput.ModelInput
  /** Nonzero at positions whose targets are trained, shape `[T]`. */
  readonly trained: Float32Array
  readonly origin?: Datum.Origin
}

/** A target whose teacher reads the datum's own sequence. The datum's weights only mark the trained positions. */
export const asTarget = (
  { inputs, modelInput, origin }: Datum.Datum<"PolicyTokens"> | Datum.Datum<"WeightedTokens">
): Target => ({
  modelInput,
  sequence: ModelInput.append(modelInput, inputs.targetTokens.subarray(-1)),
  trained: "mask" in inputs ? inputs.mask : inputs.weights,
  ...(origin === undefined ? {} : { origin })
})

/**
 * Data with soft targets, the number of positions that got targets, and the teacher's mean entropy there, over the renormalised candidates
 * and in nats. The entropy is absent if there are no such positions.
 */
export interface Soft {
  readonly data: ReadonlyArray<Datum.Datum<"WeightedCandidates">>
  readonly positions: number
  readonly teacherEntropy?: number
}

/** Renormalises log-probabilities over the candidates. */
const renormalised = (logprobs: ReadonlyArray<number>): ReadonlyArray<number> => {
  const most = Math.max(...logprobs)
  const total = most + Math.log(Statistics.sum(logprobs.map((logprob) => Math.exp(logprob - most))))
  return logprobs.map((logprob) => logprob - total)
}

/**
 * Makes the candidates the targets. `topk` has the teacher's tokens at each position of the sequence; a position without them is not
 * trained.
 */
const soften = (
  { modelInput, origin, sequence, trained }: Target,
  topk: ReadonlyArray<ReadonlyArray<Sampling.TokenLogprob>>,
  k: number,
  skipFirst: number
) => {
  const shift = sequence.length - modelInput.length
  const targetTokens = new Int32Array(modelInput.length * k)
  const weights = new Float32Array(modelInput.length * k)
  let seen = 0
  let positions = 0
  let entropy = 0
  for (let t = 0; t < modelInput.length; t++) {
    if (trained[t] === 0 || seen++ < skipFirst) continue
    const candidates = (topk[t + shift] ?? []).slice(0, k)
    if (candidates.length === 0) continue
    positions++
    const logprobs = renormalised(candidates.map(({ logprob }) => logprob))
    for (const [slot, { token }] of candidates.entries()) {
      const probability = Math.exp(logprobs[slot] ?? NaN)
      targetTokens[t * k + slot] = token
      weights[t * k + slot] = probability
      if (probability > 0) entropy -= probability * (logprobs[slot] ?? NaN)
    }
  }
  const datum: Datum.Datum<"WeightedCandidates"> = {
    kind: "WeightedCandidates",
    modelInput,
    inputs: { targetTokens, weights, candidates: k },
    ...(origin === undefined ? {} : { origin })
  }
  return { datum, positions, entropy }
}

/** Number of concurrent log-probability requests. An `AdaptiveLimiter` may allow fewer. */
const concurrency = 64

/** The part of a sequence that fits into the teacher's context. Positions after it get no targets. */
const readable = ({ capabilities }: SamplingClient, sequence: ModelInput.ModelInput) =>
  capabilities === undefined ? sequence : ModelInput.take(sequence, capabilities.contextLength - 1)

/** Fails as `Unsupported` if the teacher is known to return fewer than k likeliest tokens. */
export const check = ({ k = defaultK, teacher }: Teacher): Effect.Effect<void, TinkerError> => {
  const most = teacher.capabilities?.topkPromptLogprobs ?? Infinity
  if (k <= most) return Effect.void
  const detail = `${teacher.modelPath} tells the ${most} likeliest tokens of a position, expected ${k}`
  const reason = new Unsupported({ capability: "topkPromptLogprobs", detail })
  return Effect.fail(new TinkerError({ operation: "sample", reason }))
}

/**
 * Requests the teacher's likeliest tokens and makes them the targets. The teacher must have the student's tokenizer. Positions beyond its
 * context get no targets. Fails as `check` does, or if a request fails.
 *
 * @see tinker-cookbook `build_topk_distillation_datums`, `build_reverse_kl_datums`, `_collect_topk_for_datum`
 */
export const read = Effect.fn("TopK.read")(function*(
  options: Teacher,
  targets: ReadonlyArray<Target>
): Effect.fn.Return<Soft, TinkerError> {
  const { k = defaultK, skipFirst = 0, teacher } = options
  yield* check(options)
  const { meter } = yield* Metering
  const client = meter(yield* AdaptiveLimiter.limit(teacher, "training"))
  const softened = yield* Effect.forEach(targets, (target) => {
    const request = {
      prompt: readable(teacher, target.sequence),
      params: { maxTokens: 1 },
      promptLogprobs: true,
      topkPromptLogprobs: k
    }
    return Effect.map(
      client.sample(request),
      ({ topkPromptLogprobs = [] }) => soften(target, topkPromptLogprobs, k, skipFirst)
    )
  }, { concurrency })
  const positions = Statistics.sum(softened.map(({ positions }) => positions))
  return {
    data: softened.map(({ datum }) => datum),
    positions,
    ...(positions > 0 && { teacherEntropy: Statistics.sum(softened.map(({ entropy }) => entropy)) / positions })
  }
})

/** The reverse KL divergence of a batch, and its derivatives with respect to the log-probabilities of the candidates. */
export interface ReverseKl {
  readonly loss: number
  readonly positions: number
  /** Σ −p·log p over candidates and positions, where p is the student's probability, renormalised over the candidates. */
  readonly entropy: number
  /** ∂loss/∂logprob, shape `[T, K]` per datum. */
  readonly gradients: ReadonlyArray<Float32Array>
}

/**
 * Σₜ Σₖ p·(log p − log q), where p is the student's and q the teacher's probability, each renormalised over the teacher's K candidates.
 * Candidates with weight 0 are ignored. `logprobsD` are the student's log-probabilities of the candidates, shape `[T, K]` per datum.
 *
 * @see tinker-cookbook `reverse_kl_custom_loss`
 */
export const reverseKl = (
  data: ReadonlyArray<Datum.Datum<"WeightedCandidates">>,
  logprobsD: ReadonlyArray<Float32Array>
): ReverseKl => {
  let loss = 0
  let entropy = 0
  let positions = 0
  const gradients = data.map(({ inputs: { candidates, weights } }, d) => {
    const gradient = new Float32Array(weights.length)
    for (let start = 0; start < weights.length; start += candidates) {
      const slots = Array.from({ length: candidates }, (_, slot) => start + slot).filter((at) => (weights[at] ?? 0) > 0)
      if (slots.length === 0) continue
      positions++
      const logprobs = renormalised(slots.map((at) => logprobsD[d]?.[at] ?? NaN))
      const gaps = slots.map((at, slot) => (logprobs[slot] ?? NaN) - Math.log(weights[at] ?? NaN))
      const divergence = Statistics.sum(gaps.map((gap, slot) => Math.exp(logprobs[slot] ?? NaN) * gap))
      loss += divergence
      for (const [slot, at] of slots.entries()) {
        const probability = Math.exp(logprobs[slot] ?? NaN)
        entropy -= probability * (logprobs[slot] ?? NaN)
        gradient[at] = probability * ((gaps[slot] ?? NaN) - divergence)
      }
    }
    return gradient
  })
  return { loss, positions, entropy, gradients }
}
