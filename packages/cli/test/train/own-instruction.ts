/** A recipe that optimises the instruction of sums in place of weights. Its reflector numbers its proposals. */
import { type InvalidOption, Message, type MessagePolicy, RLDataset } from "@effect-rl/core"
import { Prompts, RunOptions } from "@effect-rl/core/program"
import type { Renderer } from "@effect-rl/core/renderers"
import { Recipe, Sums, TrainingSettings } from "@effect-rl/recipes"
import { Effect, Schema } from "effect"

type Error = InvalidOption.InvalidOption | Renderer.RendererError

const reflector: MessagePolicy.MessagePolicy = {
  respond: ({ key }) => Effect.succeed(Message.assistant(`<instruction>Add, as proposed in ${key}.</instruction>`))
}

export default Recipe.make({
  name: "own-instruction",
  description: "An instruction for sums",
  settings: Schema.Struct(TrainingSettings.fields({
    model: "effect-rl/tiny-64",
    iterations: 2,
    groupsPerBatch: 2,
    groupSize: 2,
    learningRate: 1e-4,
    maxTokens: 16,
    evalEvery: 0
  })),
  build: Effect.fnUntraced(function*(model, settings) {
    const { run: given, sampling } = TrainingSettings.options(model, settings)
    const { run } = yield* RunOptions.resolve({ model, run: given })
    const sums = (instruction: string) =>
      RLDataset.problems(Sums.trainingPairs.slice(0, 16), {
        model,
        prefix: [Message.system(instruction)],
        groupsPerBatch: settings.groupsPerBatch,
        groupSize: settings.groupSize,
        problem: ([a, b]) => ({ question: Sums.question([a, b]), answer: String(a + b) })
      })
    const options: Prompts.Options<Error> = {
      model,
      instruction: "Add.",
      dataset: sums,
      validation: (instruction) => Effect.runSync(sums(instruction).batch(0, 0)),
      reflector,
      sampling,
      run: given
    }
    const task: Recipe.Task<Error | Prompts.Error> = {
      model,
      run: Prompts.run(options),
      check: Prompts.validate(options),
      dataset: sums("Add."),
      evaluators: [],
      maxTokens: settings.maxTokens,
      settings: run,
      turns: 1,
      answerTo: Sums.answerTo
    }
    return task
  })
})
