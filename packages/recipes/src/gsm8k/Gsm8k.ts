/** Grade-school word problems, as upstream's first large run. */
import { type ChatModel, Evaluator, ProblemGroupBuilder, RLDataset, Setting } from "@effect-rl/core"
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as MathEnv from "../math/MathEnv.ts"
import * as Recipe from "../Recipe.ts"
import * as TrainingSettings from "../TrainingSettings.ts"
import type { Problem } from "./Gsm8kRow.ts"
import * as Gsm8kSource from "./Gsm8kSource.ts"
import * as PromptLength from "./PromptLength.ts"
import * as SampleProblems from "./SampleProblems.ts"
import type { Split } from "./Split.ts"

export const Settings = Schema.Struct({
  ...TrainingSettings.fields({
    model: "Qwen/Qwen3.5-9B-Base",
    iterations: 58,
    groupsPerBatch: 128,
    groupSize: 16,
    learningRate: 4e-5,
    maxTokens: 256,
    evalEvery: 20
  }),
  data: Setting.text({
    default: Gsm8kSource.hubName,
    unit: "folder",
    help:
      `Folder with train.jsonl and test.jsonl, ${Gsm8kSource.hubName} for the hub's own files, or ${Gsm8kSource.sampleName} for a few made-up problems`
  }),
  fewShot: Setting.toggle({ default: true, help: "Show one worked example before each problem" })
})

const prefix = (fewShot: boolean) => fewShot ? MathEnv.strawberry : []

const group =
  (model: ChatModel.ChatModel, size: number, fewShot: boolean) => ({ answer, question }: Problem, index: number) =>
    ProblemGroupBuilder.make({
      key: String(index),
      size,
      form: fewShot ? "one worked example" : "no example",
      env: () => MathEnv.make({ model, problem: question, answer, prefix: prefix(fewShot) })
    })

/** The task on problems already loaded; each pass goes through them in an order of its own. */
export const task = (
  model: ChatModel.ChatModel,
  settings: Omit<typeof Settings.Type, "data">,
  { test, train }: Split
) => {
  const options = TrainingSettings.options(model, settings)
  return Recipe.task({
    answerTo: (prompt) =>
      Option.map(
        Arr.findFirst([...train, ...test], ({ question }) => prompt.includes(MathEnv.question(question))),
        ({ answer }) => answer
      ),
    options: {
      ...options,
      dataset: RLDataset.fromArray(train, {
        groupsPerBatch: settings.groupsPerBatch,
        epochs: Math.max(1, Math.ceil(settings.iterations / Math.ceil(train.length / settings.groupsPerBatch))),
        shuffle: true,
        group: group(model, settings.groupSize, settings.fewShot)
      }),
      run: {
        ...options.run,
        evaluators: [
          Evaluator.testSet({
            name: "held_out",
            groups: test.map(group(model, 1, settings.fewShot)),
            maxTokens: settings.maxTokens
          })
        ]
      }
    }
  })
}

/**
 * Rows are shuffled by our own generator, not in the order of upstream's `datasets`. @see tinker-cookbook `rl_basic`
 *
 * @example
 * const task = Gsm8k.gsm8k.configure({ data: "data/gsm8k" }).pipe(Effect.flatMap(({ build }) => build(model)))
 */
export const gsm8k = Recipe.make({
  name: "gsm8k",
  description: "Grade-school word problems, answers in a box; evaluated on the test problems",
  onEngine: SampleProblems.onEngine({ data: Gsm8kSource.sampleName }),
  settings: Settings,
  build: Effect.fnUntraced(function*(model, settings) {
    const split = yield* Gsm8kSource.load(settings.data)
    const { fewShot, maxTokens } = settings
    yield* PromptLength.check([...split.train, ...split.test], { model, maxTokens, prefix: prefix(fewShot) })
    return yield* task(model, settings, split)
  })
})
