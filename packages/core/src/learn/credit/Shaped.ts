/**
 * Credit that changes the rewards first, for example by length, or changes the advantages afterwards. A run still reports the original
 * rewards.
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Branch from "../../env/Branch.ts"
import * as Trajectory from "../../env/Trajectory.ts"
import type { JsonObject } from "../../records/Json.ts"
import * as Statistics from "../../records/Statistics.ts"
import * as GroupResult from "../../rollout/GroupResult.ts"
import * as Check from "../../settings/Check.ts"
import type { InvalidOption } from "../../settings/InvalidOption.ts"
import * as TokenAdvantages from "../TokenAdvantages.ts"
import type * as TrainingData from "../TrainingData.ts"
import { type Credit, type GroupCredit, identityOf, orConstant, traitsOf } from "./FromRewards.ts"

/** Computes a member's changed reward. */
export type Shape = (reward: number, trajectory: Trajectory.Trajectory, group: GroupResult.Group) => number

const shape = (result: GroupResult.GroupResult, change: Shape): GroupResult.GroupResult =>
  GroupResult.isSkipped(result) ? result : {
    ...result,
    rewardsG: result.rewardsG.map((reward, member) =>
      Option.match(result.members[member] ?? Option.none(), {
        onNone: () => reward,
        onSome: (trajectory) => change(reward, trajectory, result)
      })
    )
  }

/** Changes the rewards with `change` before another credit is computed. Use it to build custom credits. */
export const shaped =
  (name: string, change: Shape, config: JsonObject = {}) => <E, R>(credit: Credit<E, R>): Credit<E, R> => ({
    name,
    config: { credit: identityOf(credit), ...config },
    ...traitsOf(credit),
    assign: (results, memory, weights) => {
      const byId = new Map(results.map((result) => [GroupResult.idOf(result), result]))
      return Effect.map(
        credit.assign(results.map((result) => shape(result, change)), memory, weights),
        (assigned) => ({
          ...assigned,
          groups: assigned.groups.map((group) => ({
            ...group,
            result: byId.get(GroupResult.idOf(group.result)) ?? group.result
          }))
        })
      )
    }
  })

export interface OverlongOptions {
  /** L: the number of action tokens from which the full penalty applies. */
  readonly maxTokens: number
  /** B: the number of action tokens below L over which the penalty grows. */
  readonly buffer: number
  /** The largest penalty. Default: 1. */
  readonly penalty?: number
}

/**
 * Changes the reward r to r − penalty·clamp((l − (L − B)) / B, 0, 1), where l is the number of the member's action tokens: the soft
 * overlong punishment of DAPO (arXiv:2503.14476). Answers of up to L − B tokens are not penalised.
 *
 * @example
 * const credit = Credit.overlong({ maxTokens: 2048, buffer: 512 })(Credit.groupRelative(Advantage.centered))
 */
export const overlong = ({ buffer, maxTokens, penalty = 1 }: OverlongOptions) =>
<E, R>(
  credit: Credit<E, R>
): Credit<E | InvalidOption, R> => {
  const excess = (length: number) => Math.min(Math.max((length - (maxTokens - buffer)) / buffer, 0), 1)
  const shapedCredit = shaped(
    "overlong",
    (reward, trajectory) => reward - penalty * excess(Trajectory.actionTokens(trajectory)),
    { maxTokens, buffer, penalty }
  )(credit)
  const check = Check.all(
    Check.option("maxTokens", maxTokens, Check.whole(1)),
    Check.option("buffer", buffer, Check.whole(1, maxTokens)),
    Check.option("penalty", penalty, Check.number({ least: 0 }))
  )
  return {
    ...shapedCredit,
    assign: (results, memory, weights) => Effect.andThen(check, shapedCredit.assign(results, memory, weights))
  }
}

export interface LengthPenaltyOptions {
  /** Weight of action tokens. Default: 0. */
  readonly actionTokens?: number
  /** Weight of the other tokens that the last turn reads: prompts and the environment's answers. Default: 0. */
  readonly observationTokens?: number
  /** Weight of turns. Default: 0. */
  readonly turns?: number
}

type Lengths = Required<LengthPenaltyOptions>

/** The number of tokens that the last turn read, without those that the member wrote. */
const observed = (trajectory: Trajectory.Trajectory) => {
  const last = trajectory.transitions.at(-1)
  if (last === undefined) return 0
  return last.observation.length + last.action.tokens.length - Trajectory.actionTokens(trajectory)
}

const lengthsOf = (trajectory: Trajectory.Trajectory): Lengths => ({
  actionTokens: Trajectory.actionTokens(trajectory),
  observationTokens: observed(trajectory),
  turns: trajectory.transitions.length
})

const lengths = ["actionTokens", "observationTokens", "turns"] as const

/**
 * Changes the reward r to r − max(0, mean(r))·Σ w·l / max(l), where l are the lengths with weight w, each relative to the longest in the
 * group. The better the group solves its problem, the more short answers are favoured; in a group with a mean reward of 0 or less there is
 * no penalty.
 *
 * @see prime-rl `GRPOAlgorithm.score_group`, which turns the penalty into a bonus where the mean is negative
 */
export const lengthPenalty = (weights: LengthPenaltyOptions) => <E, R>(credit: Credit<E, R>): Credit<E, R> =>
  shaped(
    "length_penalty",
    (reward, trajectory, group) => {
      const survivors = GroupResult.survivors(group)
      const mean = Statistics.mean(survivors.map(([member]) => group.rewardsG[member] ?? 0))
      const all = survivors.map(([, trajectory]) => lengthsOf(trajectory))
      const own = lengthsOf(trajectory)
      const cost = lengths.reduce((sum, length) => {
        const most = Math.max(...all.map((lengths) => lengths[length]))
        return sum + (most === 0 ? 0 : (weights[length] ?? 0) * own[length] / most)
      }, 0)
      return reward - Math.max(0, mean) * cost
    },
    { ...weights }
  )(credit)

/** Factors for the advantages of turns outside an episode's own conversation. Default: 1. */
export interface BranchShares {
  /** Factor for tokens that were sampled in sub-agent conversations. */
  readonly subagent?: number
  /** Factor for tokens that were sampled after a compaction, which replaced earlier messages with fewer or with a summary. */
  readonly compaction?: number
}

/**
 * The factor of each turn, shape `[turns]`. A turn has the factor of the turn that it continues. If it is rendered from the beginning, it
 * has that of the previous turn, unless it begins a sub-agent or compacted conversation.
 */
const sharesOf = (
  { transitions }: Pick<Trajectory.Trajectory, "transitions">,
  { compaction = 1, subagent = 1 }: BranchShares
) => {
  const shares: Array<number> = []
  transitions.forEach(({ branch }, turn) => {
    const before = Branch.previous(turn, branch)
    const own = shares[before < 0 ? turn - 1 : before] ?? 1
    shares.push(branch?.reason === "subagent" ? subagent : branch?.reason === "compaction" ? compaction : own)
  })
  return shares
}

/** Multiplies the advantages of each turn's tokens by the turn's factor. */
const shared = (datum: TrainingData.TrainingDatum, { transitions }: Trajectory.Trajectory, shares: BranchShares) => {
  const sharesT = new Float64Array(datum.inputs.advantages.length).fill(1)
  const ofTurns = sharesOf({ transitions }, shares)
  for (const turn of datum.origin.turns) {
    const transition = transitions[turn]
    if (transition === undefined) continue
    // Position t predicts token t + 1.
    const start = transition.observation.length - 1
    sharesT.fill(ofTurns[turn] ?? 1, Math.max(0, start), start + transition.action.tokens.length)
  }
  return TokenAdvantages.map(datum, (advantage, t) => advantage * (sharesT[t] ?? 1))
}

const sharedGroup = (credit: GroupCredit, shares: BranchShares): GroupCredit => {
  const { data, result } = credit
  if (GroupResult.isSkipped(result)) return credit
  return orConstant({
    ...credit,
    data: data.map((datum) =>
      Option.match(result.members[datum.origin.member] ?? Option.none(), {
        onNone: () => datum,
        onSome: (trajectory) => shared(datum, trajectory, shares)
      })
    )
  })
}

/**
 * Multiplies the advantages of another credit by a factor that depends on the conversation in which the token was sampled; in the episode's
 * own conversation it is 1. With a factor of 0, sub-agents or turns after a compaction are not trained on.
 *
 * @example
 * const credit = Credit.byBranch({ subagent: 0.5 })(Credit.groupRelative(Advantage.centered))
 */
export const byBranch = (shares: BranchShares) => <E, R>(credit: Credit<E, R>): Credit<E | InvalidOption, R> => {
  const { compaction = 1, subagent = 1 } = shares
  const range = Check.number({ least: 0 })
  const checks = [Check.option("subagent", subagent, range), Check.option("compaction", compaction, range)]
  return {
    name: "by_branch",
    config: { credit: identityOf(credit), subagent, compaction },
    ...traitsOf(credit),
    checks: [...credit.checks ?? [], ...checks],
    assign: Effect.fnUntraced(function*(results, memory, weights) {
      yield* Check.all(...checks)
      const assigned = yield* credit.assign(results, memory, weights)
      return { ...assigned, groups: assigned.groups.map((group) => sharedGroup(group, shares)) }
    })
  }
}
