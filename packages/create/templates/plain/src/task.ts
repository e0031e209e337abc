/** The task: add two numbers below 100. `npm start` trains a small model on it. */
import { type ChatModel, RLDataset } from "@effect-rl/core"
import { Recipe, TrainingSettings } from "@effect-rl/recipes"
import { Schema } from "effect"

const sums = Array.from({ length: 400 }, (_, i) => [i % 100, (i * 7) % 100] as const)

/** The last number in an answer. */
const lastNumber = (text: string) => text.match(/\d+/g)?.at(-1)

interface Batches {
  readonly groupsPerBatch: number
  readonly groupSize: number
}

/** Every problem is attempted `groupSize` times. An attempt earns reward 1 if `check` accepts it. */
export const dataset = (model: ChatModel.ChatModel, { groupSize, groupsPerBatch }: Batches) =>
  RLDataset.problems(sums, {
    model,
    groupsPerBatch,
    groupSize,
    problem: ([a, b]) => ({
      question: `What is ${a} + ${b}?`,
      answer: `${a + b}`,
      check: (text) => lastNumber(text) === `${a + b}`
    })
  })

/** Every setting is also a flag of `effect-rl train ./src/task.ts`. */
export default Recipe.make({
  name: "task",
  description: "Sums of two numbers",
  settings: Schema.Struct(TrainingSettings.fields({
    model: "effect-rl/tiny-128",
    iterations: 20,
    groupsPerBatch: 16,
    groupSize: 8,
    learningRate: 1e-3,
    maxTokens: 40,
    evalEvery: 0
  })),
  build: (model, settings) =>
    Recipe.task({ options: { ...TrainingSettings.options(model, settings), dataset: dataset(model, settings) } })
})
