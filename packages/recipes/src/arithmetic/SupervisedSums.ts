/** Teaches a small model to work out sums by showing it how. */
import { type Evaluator, Supervised, SupervisedDataset } from "@effect-rl/core"
import { NllEvaluator } from "@effect-rl/core/evaluation"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as CommonSettings from "../CommonSettings.ts"
import * as ExampleSettings from "../ExampleSettings.ts"
import * as Recipe from "../Recipe.ts"
import * as SumsToAnswer from "./SumsToAnswer.ts"
import * as WorkedSum from "./WorkedSum.ts"

const settings = Schema.Struct(ExampleSettings.fields({
  model: "effect-rl/tiny-64",
  iterations: 40,
  batchSize: 64,
  learningRate: 1e-3,
  maxTokens: 40,
  evalEvery: 10
}))

/** Evaluated by the likelihood of held-out examples, and by how often the model's own answers are right. */
export const supervised = Recipe.make({
  name: "supervised",
  description: "Imitates worked sums; evaluated on 256 held-out ones and on its own answers to 512 held-out problems",
  settings,
  build: Effect.fnUntraced(function*(model, settings) {
    const { maxTokens } = settings
    const examples = WorkedSum.examples()
    const dataset = SupervisedDataset.conversations(examples, {
      model,
      ...ExampleSettings.batches(examples, settings)
    })
    const heldOut = SupervisedDataset.conversations(WorkedSum.heldOutExamples(), { model, batchSize: 64 })
    const evaluators: ReadonlyArray<Evaluator.Evaluator<SumsToAnswer.Error>> = [
      NllEvaluator.make({ name: "held_out_examples", dataset: heldOut }),
      SumsToAnswer.evaluator(model, maxTokens)
    ]
    const options = CommonSettings.options(model, settings)
    const given = { ...options, dataset, run: { ...options.run, evaluators } }
    return yield* SumsToAnswer.task(given, {
      run: Supervised.run(given),
      check: Supervised.validate(given),
      examples: dataset,
      maxTokens
    })
  })
})
