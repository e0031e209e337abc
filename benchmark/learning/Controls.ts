/** Runs that must not learn, or must unlearn: what remains of a gain when its cause is taken away. */
import { Advantage, Credit, Seed } from "@effect-rl/core"
import type { Change } from "./Experiment.ts"

/** Nothing is learned, so the score stays what it was. */
export const noLearning: Change = (options) => ({ ...options, update: { ...options.update, learningRate: 0 } })

/** Each advantage goes to some member of its group, whatever that member did. */
export const shuffledRewards: Change = (options) => {
  let groups = 0
  const shuffled = Advantage.make("shuffled", (group) => {
    const centeredG = Advantage.centered.of(group)
    const order = Seed.permutation(centeredG.length, Seed.derive(options.run?.seed ?? 0, "shuffled", groups++))
    return Float32Array.from(order, (member) => centeredG[member] ?? 0)
  })
  return { ...options, update: { ...options.update, credit: Credit.groupRelative(shuffled) } }
}

const negated = Advantage.make("negated", (group) => Advantage.centered.of(group).map((advantage) => -advantage))

/** What was good is made rarer. */
export const negatedAdvantages: Change = (options) => ({
  ...options,
  update: { ...options.update, credit: Credit.groupRelative(negated) }
})
