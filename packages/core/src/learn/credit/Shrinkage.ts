/** Credit against a baseline that is drawn from the group's mean towards that of all groups. */
import * as Effect from "effect/Effect"
import * as Statistics from "../../records/Statistics.ts"
import * as GroupResult from "../../rollout/GroupResult.ts"
import * as Advantage from "../Advantage.ts"
import { type Credit, credited, orConstant } from "./Assigned.ts"

/** Σ(r − mean)² / (m(m − 1)): the sampling variance of the mean of m rewards. */
const varianceOfMean = (rewards: Float64Array) =>
  Statistics.squaredDeviations(rewards) / (rewards.length * (rewards.length - 1))

const meanOrZero = (values: Statistics.Values) => values.length === 0 ? 0 : Statistics.mean(values)

/** Where a group's baseline is drawn to, and the share λ of it, by the rewards of the other groups. */
const pull = (others: ReadonlyArray<Float64Array>) => {
  const means = others.map(Statistics.mean)
  const target = meanOrZero(means)
  const within = meanOrZero(others.filter(({ length }) => length > 1).map(varianceOfMean))
  const between = meanOrZero(means.map((value) => (value - target) ** 2))
  const share = within === 0 ? 0 : (others.length / (others.length + 1)) * (within / (within + between))
  return { target, share }
}

const finishedRewards = (group: GroupResult.Group) => group.rewardsG.filter((reward) => !Number.isNaN(reward))

/** A member without others to compare it with has the other groups' mean as its baseline. */
const baseline = (reward: number, rewards: Float64Array, others: ReadonlyArray<Float64Array>) => {
  const { share, target } = pull(others)
  if (rewards.length < 2) return others.length === 0 ? reward : target
  return (1 - share) * (Statistics.sum(rewards) - reward) / (rewards.length - 1) + share * target
}

const shrunk = (results: ReadonlyArray<GroupResult.GroupResult>) => {
  const groups = results.filter((result): result is GroupResult.Completed | GroupResult.Partial =>
    !GroupResult.isSkipped(result)
  )
  const rewardsP = new Map<GroupResult.Group, Float64Array>(groups.map((group) => [group, finishedRewards(group)]))
  return Advantage.make("shrinkage", ({ group }) => {
    const rewards = finishedRewards(group)
    const others = [...rewardsP].flatMap(([other, rewards]) => other === group || rewards.length === 0 ? [] : [rewards])
    return group.rewardsG.map((reward) => Number.isNaN(reward) ? 0 : reward - baseline(reward, rewards, others))
  })
}

/**
 * Aᵢ = rᵢ − (1 − λ)·m₋ᵢ − λ·M, m₋ᵢ the mean of the other members' rewards and M the mean of the other groups' means, with
 * λ = (n − 1)/n · v/(v + s) for n groups, v the mean sampling variance of the other groups' means and s the variance between them
 * (James and Stein's shrinkage, both levels leave-one-out, so that the gradient stays unbiased: arXiv:2511.03710). For few attempts
 * at many problems. Groups whose rewards are all equal are trained on too, unless those of the whole batch are.
 */
export const shrinkage: Credit = {
  name: "shrinkage",
  config: {},
  assign: (groups, memory) =>
    Effect.sync(() => ({
      groups: credited(groups, "batch", shrunk(groups)).map(orConstant),
      metrics: {},
      memory
    }))
}
