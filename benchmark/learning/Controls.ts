/** Runs that must not learn, or must unlearn: what remains of a gain when its cause is taken away. */
import { Advantage, Seed } from "@effect-rl/core"
import type { Change } from "./Experiment.ts"

/** Nothing is learned, so the score stays what it was. */
export const noLearning: Change = (config) => ({ ...config, learningRate: 0 })

/** Each advantage goes to some member of its group, whatever that member did. */
export const shuffledRewards: Change = (config) => {
  let groups = 0
  const advantage: Advantage.Estimator = (group) => {
    const centeredG = Advantage.centered(group)
    const order = Seed.permutation(centeredG.length, Seed.derive(config.seed ?? 0, "shuffled", groups++))
    return Float32Array.from(order, (member) => centeredG[member] ?? 0)
  }
  return { ...config, advantage }
}

/** What was good is made rarer. */
export const negatedAdvantages: Change = (config) => ({
  ...config,
  advantage: (group) => Advantage.centered(group).map((advantage) => -advantage)
})
