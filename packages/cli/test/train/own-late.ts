/** A recipe with its own credit, whose parameter is a setting of the recipe. */
import { Advantage, Credit, RLDataset, Setting } from "@effect-rl/core"
import { Recipe, TrainingSettings } from "@effect-rl/recipes"
import { Option, Schema } from "effect"

/** Aᵢ = (rᵢ − mean(r))·γ^(tokens that follow in the episode), so the last tokens of an episode count most. */
const late = (gamma: number) =>
  Advantage.perToken("late", (informative) => {
    const advantagesG = Advantage.centered.of(informative)
    const turnsG = informative.group.members.map((member) => Option.getOrUndefined(member)?.transitions ?? [])
    return (member, turn, position) => {
      const turns = turnsG[member]?.slice(turn) ?? []
      const following = turns.reduce((sum, { action }) => sum + action.tokens.length, -1 - position)
      return (advantagesG[member] ?? 0) * gamma ** following
    }
  }, { gamma })

const sums = Array.from({ length: 100 }, (_, i) => [i % 10, (7 * i) % 10] as const)

export default Recipe.make({
  name: "late-sums",
  description: "Sums of two digits, whose last tokens count most",
  settings: Schema.Struct({
    ...TrainingSettings.fields({
      model: "effect-rl/tiny-64",
      iterations: 2,
      groupsPerBatch: 2,
      groupSize: 4,
      learningRate: 1e-3,
      maxTokens: 16,
      evalEvery: 0
    }),
    gamma: Setting.number({
      default: 0.95,
      least: 0,
      most: 1,
      help: "Discount per token, from the end",
      identity: true
    })
  }),
  build: (model, settings) => {
    const { update, ...options } = TrainingSettings.options(model, settings)
    return Recipe.task({
      options: {
        ...options,
        update: { ...update, credit: Credit.groupRelative(late(settings.gamma)) },
        dataset: RLDataset.problems(sums, {
          model,
          groupsPerBatch: settings.groupsPerBatch,
          groupSize: settings.groupSize,
          problem: ([a, b]) => ({ question: `What is ${a} + ${b}?`, answer: `${a + b}` })
        })
      }
    })
  }
})
