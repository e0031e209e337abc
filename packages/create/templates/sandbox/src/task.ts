/**
 * A task whose answers are executed. The model's last number goes into a Python program, a sandbox runs the program, and its output decides
 * the reward. Code that a model wrote never runs in this process.
 */
import { type ChatModel, RLDataset } from "@effect-rl/core"
import { Recipe, TrainingSettings } from "@effect-rl/recipes"
import { Outcome, Sandbox, SandboxFiles } from "@effect-rl/sandbox"
import { Effect, Schema } from "effect"

const sums = Array.from({ length: 200 }, (_, i) => [i % 100, (i * 7) % 100] as const)

/** A program that prints the last number the model wrote. */
const programOf = (text: string) => `print(${text.match(/\d+/g)?.at(-1) ?? ""})\n`

/** Whether the program in a message prints the expected value, which the program cannot read. */
const prints = (expected: string) =>
  Effect.fnUntraced(function*(text: string) {
    const sandbox = yield* Sandbox.Sandbox
    const place = yield* sandbox.open({
      runtime: "python",
      role: "grader",
      files: SandboxFiles.make({ "main.py": programOf(text) })
    })
    const { stdout } = yield* place.exec({ argv: ["python3", "main.py"] })
    return Outcome.text(stdout).trim() === expected
  }, Effect.scoped)

interface Batches {
  readonly groupsPerBatch: number
  readonly groupSize: number
}

export const dataset = (model: ChatModel.ChatModel, { groupSize, groupsPerBatch }: Batches) =>
  RLDataset.problems(sums, {
    model,
    groupsPerBatch,
    groupSize,
    problem: ([a, b]) => ({ question: `What is ${a} + ${b}?`, answer: `${a + b}`, check: prints(`${a + b}`) })
  })

/** Every setting is also a flag of `effect-rl train ./src/task.ts`. */
export default Recipe.make({
  name: "task",
  description: "Programs that print a sum, run in a sandbox",
  runsCode: true,
  settings: Schema.Struct(TrainingSettings.fields({
    model: "effect-rl/tiny-128",
    iterations: 10,
    groupsPerBatch: 4,
    groupSize: 8,
    learningRate: 1e-3,
    maxTokens: 40,
    evalEvery: 0
  })),
  build: (model, settings) =>
    Recipe.task({ options: { ...TrainingSettings.options(model, settings), dataset: dataset(model, settings) } })
})
