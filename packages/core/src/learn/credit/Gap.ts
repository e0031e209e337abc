/** How much more likely the sampler found its tokens than other weights find them. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as AdaptiveLimiter from "../../backend/AdaptiveLimiter.ts"
import { Metering } from "../../backend/Metering.ts"
import type { SamplingClient } from "../../backend/SamplingClient.ts"
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

/** The sampler's log-probabilities less those of other weights, per datum `[T]`; NaN where either is missing or infinite. */
export const measure = Effect.fnUntraced(function*<E = never, R = never>(
  client: SamplingClient,
  groups: ReadonlyArray<GroupCredit>,
  prompt?: OtherPrompt<E, R>
) {
  const { meter } = yield* Metering
  const metered = meter(yield* AdaptiveLimiter.limit(client, "training"))
  const read = yield* Effect.forEach(groups, (group) => sequences(group, prompt))
  const entries = yield* Effect.forEach(read.flat(), ([datum, sequence]) => {
    const { logprobs } = datum.inputs
    const shift = sequence.length - datum.modelInput.length
    return Effect.map(
      metered.computeLogprobs(sequence),
      (others) => [datum, logprobs.map((logprob, t) => difference(logprob, others[t + shift]))] as const
    )
  }, { concurrency })
  const byDatum = new Map(entries)
  return (datum: TrainingData.TrainingDatum) => byDatum.get(datum) ?? noAdvantages
})
