/** Teaches a small model to prefer right answers to wrong ones. */
import { Dpo, type Evaluator, Preferences, Setting } from "@effect-rl/core"
import { PreferenceEvaluator } from "@effect-rl/core/evaluation"
import { DpoOptions } from "@effect-rl/core/program"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as CommonSettings from "../CommonSettings.ts"
import * as ExampleSettings from "../ExampleSettings.ts"
import * as Recipe from "../Recipe.ts"
import * as SumsToAnswer from "./SumsToAnswer.ts"
import * as WorkedSum from "./WorkedSum.ts"

const settings = Schema.Struct({
  ...ExampleSettings.fields({
    model: "effect-rl/tiny-64",
    iterations: 40,
    batchSize: 32,
    learningRate: 3e-4,
    maxTokens: 40,
    evalEvery: 10
  }),
  dpoBeta: Setting.number({
    above: 0,
    default: DpoOptions.defaultBeta,
    help: "DPO's beta: the larger it is, the closer the model stays to the reference"
  })
})

/** Evaluated by held-out preferences, and by how often the model's own answers are right. */
export const dpo = Recipe.make({
  name: "dpo",
  description:
    "Prefers right answers to wrong ones; evaluated on 256 held-out preferences and on its own answers to 512 held-out problems",
  settings,
  build: Effect.fnUntraced(function*(model, settings) {
    const { dpoBeta: beta, maxTokens } = settings
    const preferences = WorkedSum.preferences()
    const dataset = Preferences.pairs(preferences, {
      model,
      ...ExampleSettings.batches(preferences, settings)
    })
    const heldOut = Preferences.pairs(WorkedSum.heldOutPreferences(), { model, batchSize: 64 })
    const evaluators: ReadonlyArray<Evaluator.Evaluator<SumsToAnswer.Error>> = [
      PreferenceEvaluator.make({ name: "held_out_preferences", dataset: heldOut }),
      SumsToAnswer.evaluator(model, maxTokens)
    ]
    const options = CommonSettings.options(model, settings)
    const given = { ...options, dataset, beta, run: { ...options.run, evaluators } }
    return yield* SumsToAnswer.task(given, {
      run: Dpo.run(given),
      check: Dpo.validate(given),
      examples: {
        length: dataset.length,
        batch: (index, seed) => Effect.map(dataset.batch(index, seed), Preferences.interleaved)
      },
      readers: 1,
      maxTokens
    })
  })
})
