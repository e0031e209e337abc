/** How much more likely the sampler found its tokens than other weights find them. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as AdaptiveLimiter from "../../backend/limiter/AdaptiveLimiter.ts"
import { Metering } from "../../backend/Metering.ts"
import type { SamplingClient } from "../../backend/SamplingClient.ts"
import type { TinkerError } from "../../backend/TinkerError.ts"
import * as ModelInput from "../../model/ModelInput.ts"
import * as Statistics from "../../records/Statistics.ts"
import * as GroupResult from "../../rollout/GroupResult.ts"
import { InvalidOption } from "../../settings/InvalidOption.ts"
import type * as TrainingData from "../TrainingData.ts"
import { type GroupCredit, noAdvantages } from "./Assigned.ts"

/** Requests for log-probabilities at the same time; an `AdaptiveLimiter` may allow fewer. */
const concurrency = 64

/** The prompt that other weights read in place of the prompt from which a group was sampled. */
export interface OtherPrompt<out E = never, out R = never> {
  /** Part of the run's identity. */
  readonly name: string
  readonly of: (group: GroupResult.Group) => Effect.Effect<ModelInput.ModelInput, E, R>
}

const firstPrompt = ({ members }: GroupResult.Group, { origin }: TrainingData.TrainingDatum) =>
  Option.match(members[origin.member] ?? Option.none(), {
    onNone: () => ModelInput.empty,
    onSome: ({ transitions }) => transitions[0]?.observation ?? ModelInput.empty
  })

/** Everything that a datum's member read and wrote, behind another prompt. */
const behind = (prompt: ModelInput.ModelInput, group: GroupResult.Group, datum: TrainingData.TrainingDatum) => {
  const rest = ModelInput.after(read(datum), firstPrompt(group, datum))
  return rest === undefined
    ? Effect.fail(
      new InvalidOption({
        field: "prompt",
        found: `turn ${datum.origin.turns[0]} of "${group.key}", which does not begin with the first turn's prompt`,
        expected: "left out for environments that rewrite what was read before"
      })
    )
    : Effect.succeed(ModelInput.concat(prompt, rest))
}

const read = ({ inputs, modelInput }: TrainingData.TrainingDatum) =>
  ModelInput.append(modelInput, inputs.targetTokens.subarray(-1))

/** The log-probabilities of the data's tokens under other weights, compared with the sampler's. */
export interface Gaps {
  /**
   * The sampler's log-probabilities less those of other weights `[T]`, which count as `leastLogprob` where they are lower; NaN at
   * positions that were not asked for or have no log-probability.
   */
  readonly of: (datum: TrainingData.TrainingDatum) => Float32Array
  /** Share of the trained tokens that the other weights find less likely than `leastLogprob`, or forbid. */
  readonly forbidden: number
  /** The share of datums that were too long for the other weights to read to the end. */
  readonly truncated: number
}

/** Each datum with what other weights read of it: the same, or what was written behind another prompt. */
const sequences = Effect.fnUntraced(function*<E, R>(
  { data, result }: GroupCredit,
  prompt: OtherPrompt<E, R> | undefined
): Effect.fn.Return<ReadonlyArray<readonly [TrainingData.TrainingDatum, ModelInput.ModelInput]>, E | InvalidOption, R> {
  if (prompt === undefined || GroupResult.isSkipped(result)) return data.map((datum) => [datum, read(datum)])
  const other = yield* prompt.of(result)
  return yield* Effect.forEach(
    data,
    (datum) => Effect.map(behind(other, result, datum), (sequence) => [datum, sequence] as const)
  )
})

/**
 * The lowest log-probability, in nats, that a token can have under other weights. Lower ones, such as −∞ for a forbidden token, are raised to
 * it, so that one token does not outweigh the rest of an update.
 */
const leastLogprob = -50

/** NaN where a log-probability is missing. */
const difference = (logprob: number, other: number) => {
  const gap = logprob - Math.max(other, leastLogprob)
  return Number.isFinite(gap) ? gap : NaN
}

interface Asked {
  readonly gaps: Float32Array
  readonly trained: number
  readonly forbidden: number
}

/** `othersT` begins with `shift` positions that the datum does not have. */
const compared = (
  { inputs: { logprobs, mask } }: TrainingData.TrainingDatum,
  othersT: Float32Array,
  shift: number
): Asked => {
  let trained = 0
  let forbidden = 0
  const gaps = logprobs.map((logprob, t) => {
    const other = othersT[t + shift] ?? NaN
    if (mask[t] && !Number.isNaN(other)) {
      trained++
      if (other < leastLogprob) forbidden++
    }
    return difference(logprob, other)
  })
  return { gaps, trained, forbidden }
}

/** Asks other weights for the log-probabilities of all data, of at most `limit` tokens each. */
export const measure = Effect.fnUntraced(function*<E = never, R = never>(
  client: SamplingClient,
  groups: ReadonlyArray<GroupCredit>,
  { limit = Infinity, prompt }: { readonly limit?: number; readonly prompt?: OtherPrompt<E, R> | undefined } = {}
): Effect.fn.Return<Gaps, E | InvalidOption | TinkerError, R> {
  const { meter } = yield* Metering
  const metered = meter(yield* AdaptiveLimiter.limit(client, "training"))
  const read = (yield* Effect.forEach(groups, (group) => sequences(group, prompt))).flat()
  const entries = yield* Effect.forEach(read, ([datum, sequence]) => {
    const shift = sequence.length - datum.modelInput.length
    const isBeyond = datum.inputs.mask.indexOf(1) + shift >= limit
    const others = isBeyond ? Effect.succeed(noAdvantages) : metered.computeLogprobs(ModelInput.take(sequence, limit))
    return Effect.map(others, (othersT) => [datum, compared(datum, othersT, shift)] as const)
  }, { concurrency })
  const byDatum = new Map(entries)
  const asked = entries.map(([, asked]) => asked)
  return {
    of: (datum) => byDatum.get(datum)?.gaps ?? noAdvantages,
    forbidden: Statistics.sum(asked.map(({ forbidden }) => forbidden)) /
      Math.max(1, Statistics.sum(asked.map(({ trained }) => trained))),
    truncated: read.filter(([, sequence]) => sequence.length > limit).length / Math.max(1, read.length)
  }
})
