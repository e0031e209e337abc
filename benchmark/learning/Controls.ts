/** Control runs that must not learn or must unlearn. They show how much of a gain remains without its cause. */
import { Advantage, Credit, type Rl } from "@effect-rl/core"
import { Seed } from "@effect-rl/core/environments"
import { GroupResult, Signal } from "@effect-rl/core/program"

/** Replaces parts of a run's update, given the run's seed. */
export type Control = (seed: number) => Pick<NonNullable<Rl.Options["update"]>, "learningRate" | "credit">

export const none: Control = () => ({})

/** A learning rate of 0: nothing is learned, so the score must stay the same. */
export const noLearning: Control = () => ({ learningRate: 0 })

/** Shuffled rewards: the rewards of each informative group are permuted at random among its members. */
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

export const shuffledRewards: Control = (seed) => ({
  credit: shuffled(seed)(Credit.groupRelative(Advantage.centered))
})

const negated = Advantage.make("negated", (group) => Advantage.centered.of(group).map((advantage) => -advantage))

/** Negated advantages: good answers become less likely. */
export const negatedAdvantages: Control = () => ({ credit: Credit.groupRelative(negated) })
