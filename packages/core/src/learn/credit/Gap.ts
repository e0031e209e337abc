/** How much more likely the sampler found its tokens than other weights find them. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as AdaptiveLimiter from "../../backend/AdaptiveLimiter.ts"
import { Metering } from "../../backend/Metering.ts"
import type { SamplingClient } from "../../backend/SamplingClient.ts"
import type { TinkerError } from "../../backend/TinkerError.ts"
import * as ModelInput from "../../model/ModelInput.ts"
import { InvalidOption } from "../../record/InvalidOption.ts"
import * as GroupResult from "../../rollout/GroupResult.ts"
import type * as TrainingData from "../TrainingData.ts"
import { type GroupCredit, noAdvantages } from "./Assigned.ts"

/** Requests for log-probabilities at the same time; an `AdaptiveLimiter` may allow fewer. */
const concurrency = 64

/** What other weights read in place of the prompt that the members of a group were sampled from. */
export interface OtherPrompt<out E = never, out R = never> {
  /** Part of the run's identity. */
  readonly name: string
  readonly of: (group: GroupResult.Group) => Effect.Effect<ModelInput.ModelInput, E, R>
}

const firstPrompt = ({ members }: GroupResult.Group, { lineage }: TrainingData.TrainingDatum) =>
  Option.match(members[lineage.member] ?? Option.none(), {
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
        found: `turn ${datum.lineage.firstTurn} of "${group.key}", which does not begin with the first turn's prompt`,
        expected: "left out for environments that rewrite what was read before"
      })
    )
    : Effect.succeed(ModelInput.concat(prompt, rest))
}

const read = ({ inputs, modelInput }: TrainingData.TrainingDatum) =>
  ModelInput.append(modelInput, inputs.targetTokens.subarray(-1))

/** Log-probabilities of other weights for the positions of a datum; NaN at those that were not asked for. */
export interface Gaps {
  /** The sampler's log-probabilities less those of other weights `[T]`; NaN where either is missing or infinite. */
  readonly of: (datum: TrainingData.TrainingDatum) => Float32Array
  /** Share of the datums whose end the other weights did not read. */
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

/** NaN where a log-probability is missing or infinite. */
const difference = (logprob: number, other = NaN) => {
  const gap = logprob - other
  return Number.isFinite(gap) ? gap : NaN
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
    const { logprobs, mask } = datum.inputs
    const shift = sequence.length - datum.modelInput.length
    if (mask.indexOf(1) + shift >= limit) return Effect.succeed([datum, logprobs.map(() => NaN)] as const)
    return Effect.map(
      metered.computeLogprobs(ModelInput.take(sequence, limit)),
      (others) => [datum, logprobs.map((logprob, t) => difference(logprob, others[t + shift]))] as const
    )
  }, { concurrency })
  const byDatum = new Map(entries)
  return {
    of: (datum) => byDatum.get(datum) ?? noAdvantages,
    truncated: read.filter(([, sequence]) => sequence.length > limit).length / Math.max(1, read.length)
  }
})
