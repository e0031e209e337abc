/** Runs that must not learn, or must unlearn: what remains of a gain when its cause is taken away. */
import { Advantage, Credit, GroupResult, Seed, Signal } from "@effect-rl/core"
import type { Change } from "./Experiment.ts"

/** Nothing is learned, so the score stays what it was. */
export const noLearning: Change = (options) => ({ ...options, update: { ...options.update, learningRate: 0 } })

/** Each reward goes to some member of its group, whatever that member did. */
export const shuffled = (seed: number) => {
  const orders = new Map<GroupResult.Group, Uint32Array>()
  const orderOf = (group: GroupResult.Group) => {
    const order = orders.get(group) ??
      Seed.permutation(GroupResult.survivors(group).length, Seed.derive(seed, "shuffled", orders.size))
    orders.set(group, order)
    return order
  }
  return Credit.shaped("shuffled", (reward, trajectory, group) => {
    if (!Signal.isInformative(group)) return reward
    const survivors = GroupResult.survivors(group)
    const own = survivors.findIndex(([, other]) => other === trajectory)
    const [member = 0] = survivors[orderOf(group)[own] ?? own] ?? []
    return group.rewardsG[member] ?? reward
  })
}

export const shuffledRewards: Change = (options) => ({
  ...options,
  update: {
    ...options.update,
    credit: shuffled(options.run?.seed ?? 0)(Credit.groupRelative(Advantage.centered))
  }
})

const negated = Advantage.make("negated", (group) => Advantage.centered.of(group).map((advantage) => -advantage))

/** What was good is made rarer. */
export const negatedAdvantages: Change = (options) => ({
  ...options,
  update: { ...options.update, credit: Credit.groupRelative(negated) }
})
