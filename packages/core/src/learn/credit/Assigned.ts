/** The interface of credit, and the groups that it was assigned to. */
import type * as Effect from "effect/Effect"
import type { SamplingClient } from "../../backend/SamplingClient.ts"
import type { Weights } from "../../backend/Weights.ts"
import type { Json, JsonObject } from "../../records/Json.ts"
import type * as GroupResult from "../../rollout/GroupResult.ts"
import type * as Check from "../../settings/Check.ts"
import * as Advantage from "../Advantage.ts"
import * as Signal from "../Signal.ts"
import * as TrainingData from "../TrainingData.ts"

/**
 * The verdict on a group: trained on, as a term of the credit gives its tokens a weight; constant, as none does; without rewards; or
 * suspected by an audit.
 */
export type Verdict = "informative" | "constant" | "skipped" | "quarantined"

/** One group's credit. */
export interface GroupCredit {
  readonly result: GroupResult.GroupResult
  readonly verdict: Verdict
  /** Why a group is not trained on, in words; what a quarantined group is suspected of. */
  readonly reason?: string
  /** One advantage per member; empty where the group is not trained on. */
  readonly advantagesG: Float32Array
  /** Training datums in the order of members and turns; empty where the group is not trained on. */
  readonly data: ReadonlyArray<TrainingData.TrainingDatum>
}

export interface Assigned {
  /** One per given group, in their order. */
  readonly groups: ReadonlyArray<GroupCredit>
  /** Datums of earlier iterations to train on once more, spread over the updates; metrics of the iteration leave them out. */
  readonly replayed?: ReadonlyArray<TrainingData.TrainingDatum>
  readonly metrics: Readonly<Record<string, number>>
  /** The memory to pass to the next call. */
  readonly memory: Json
}

/** Facts about a credit that a run needs before it is assigned. */
export interface Traits {
  /** A group's credit does not depend on the groups that are given with it: groups may be credited as they end. */
  readonly isByGroup?: true
  /** Models that it asks for log-probabilities of prompts, which a run refuses at its start where they have none. */
  readonly readers?: ReadonlyArray<SamplingClient>
  /** Metrics that it compares in place of the reward. A run refuses one that no attempt of its first iteration reports. */
  readonly components?: ReadonlyArray<string>
  /** Options that a run checks before it starts. */
  readonly checks?: ReadonlyArray<Check.Check>
  /** The smallest group that an option allows, and the name of that option. A run checks its groups in the first iteration. */
  readonly leastMembers?: { readonly option: string; readonly members: number }
}

/** A rule of credit, with the name and configuration that identify it in a run's records. */
export interface Credit<out E = never, out R = never> extends Traits {
  readonly name: string
  readonly config: JsonObject
  /**
   * Credit for the groups of one iteration. `memory` is what the previous iteration returned, null before the first. A run keeps it with
   * its checkpoints, so that a resumed run continues exactly. `weights` are those being trained, as they are before the iteration's
   * update, for teachers and references that move with them.
   */
  readonly assign: (
    groups: ReadonlyArray<GroupResult.GroupResult>,
    memory: Json,
    weights: Weights
  ) => Effect.Effect<Assigned, E, R>
}

export const noAdvantages = new Float32Array(0)

export const identityOf = ({ config, name }: Pick<Credit, "config" | "name">): JsonObject => ({ name, ...config })

/** The traits of a credit, or of the estimator that it is made of, for a credit that is made of it. */
export const traitsOf = ({ checks, components, isByGroup, leastMembers, readers }: Traits): Traits => ({
  ...(checks !== undefined && { checks }),
  ...(leastMembers !== undefined && { leastMembers }),
  ...(isByGroup === true && { isByGroup }),
  ...(readers !== undefined && { readers }),
  ...(components !== undefined && { components })
})

const constant = (result: GroupResult.GroupResult, reason: string): GroupCredit => ({
  result,
  verdict: "constant",
  reason,
  advantagesG: noAdvantages,
  data: []
})

/** A group that is not trained on where all its advantages are 0, such as one whose equal best members cancel. */
export const orConstant = (credit: GroupCredit): GroupCredit => {
  const isZero = ({ inputs }: TrainingData.TrainingDatum) => inputs.advantages.every((advantage) => advantage === 0)
  return credit.verdict === "informative" && credit.data.every(isZero)
    ? constant(credit.result, "all advantages are 0")
    : credit
}

/**
 * Each result with the estimator's advantages and its datums; the source of the signal says which groups are trained on, unless the
 * estimator has one of its own. A rescaling changes advantages, given those of all tokens that are trained on.
 */
export const credited = (
  results: ReadonlyArray<GroupResult.GroupResult>,
  source: Signal.Source,
  estimator: Advantage.Estimator,
  rescaling?: (trained: ReadonlyArray<number>) => (advantage: number) => number
): ReadonlyArray<GroupCredit> => {
  const signals = Signal.each(results, estimator.source ?? source)
  const trained = () =>
    signals.flatMap((signal) => signal._tag === "Informative" ? TrainingData.trained(signal, estimator) : [])
  const scale = rescaling?.(trained())
  return signals.map((signal) => {
    switch (signal._tag) {
      case "Informative": {
        const { advantagesG, data, group } = TrainingData.assemble(signal, estimator, scale)
        return { result: group, verdict: "informative", advantagesG, data }
      }
      case "Constant":
        return constant(signal.group, signal.reason)
      case "Skipped":
        return {
          result: signal,
          verdict: "skipped",
          reason: signal.reason.failure,
          advantagesG: noAdvantages,
          data: []
        }
    }
  })
}

/** A group relative to which no member is better. */
const zero = Advantage.make("zero", ({ group }) => new Float32Array(group.members.length))

/** Each result with its datums, whose advantages are all 0 until other terms are added. */
export const uncredited = (results: ReadonlyArray<GroupResult.GroupResult>) => credited(results, "tokens", zero)

/**
 * The groups with those that are constant as datums whose advantages are all 0, so that terms of single tokens reach them as well.
 * Members that failed, and groups that were skipped or quarantined, stay out.
 */
export const withConstant = (groups: ReadonlyArray<GroupCredit>): ReadonlyArray<GroupCredit> =>
  groups.flatMap((group) => group.verdict === "constant" ? uncredited([group.result]) : [group])
