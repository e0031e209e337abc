/** Recipes in which a small model learns sums from worked examples, or from a teacher that scores the model's own answers. */
import { type ChatModel, type Evaluator, Rl, Setting, Supervised, SupervisedDataset } from "@effect-rl/core"
import { NllEvaluator } from "@effect-rl/core/evaluation"
import { BatchSettings, RunOptions, type WeightedDatum } from "@effect-rl/core/program"
import type { Renderer, Tokenizer } from "@effect-rl/core/renderers"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as Struct from "effect/Struct"
import * as CommonSettings from "../CommonSettings.ts"
import * as Teacher from "../distillation/Teacher.ts"
import * as ExampleSettings from "../ExampleSettings.ts"
import * as Pipeline from "../Pipeline.ts"
import * as Recipe from "../Recipe.ts"
import * as Sums from "./Sums.ts"
import * as WorkedSums from "./WorkedSums.ts"

/** Errors of a run that evaluates answers and trains on examples, or learns from a teacher. */
export type Error =
  | Rl.Error
  | Renderer.RendererError
  | WeightedDatum.InvalidExample
  | ChatModel.ChatModelError
  | Tokenizer.TokenizerError

type Parts =
  & Pick<Recipe.Task<Error>, "run" | "check" | "maxTokens" | "examples">
  & Partial<Pick<Recipe.Task<Error>, "readers">>

/** The task of a run on examples. Its problems are only for play, one sum at a time. */
export const task = Effect.fnUntraced(function*(options: RunOptions.RunOptions<Error>, parts: Parts) {
  const { model, run: { evaluators = [] } = {} } = options
  const { run: settings } = yield* RunOptions.resolve(options)
  const dataset = Sums.dataset(Sums.boxed, {
    model,
    batches: settings.iterations ?? 1,
    groupsPerBatch: 1,
    groupSize: 1
  })
  const task: Recipe.Task<Error> = { model, dataset, evaluators, settings, turns: 1, answerTo: Sums.answerTo, ...parts }
  return task
})

/** A task that trains a model to imitate the answers in a dataset. */
export const imitating = (
  model: ChatModel.ChatModel,
  settings: CommonSettings.CommonSettings,
  dataset: SupervisedDataset.SupervisedDataset<Error>,
  evaluators: ReadonlyArray<Evaluator.Evaluator<Error>>
) => {
  const options = CommonSettings.options(model, settings)
  const given = { ...options, dataset, run: { ...options.run, evaluators } }
  return task(given, {
    run: Supervised.run(given),
    check: Supervised.validate(given),
    examples: dataset,
    maxTokens: settings.maxTokens
  })
}

/** Imitates worked sums. Evaluates the likelihood of held-out examples, and how often the model's own answers are right. */
export const supervised = Recipe.make({
  name: "supervised",
  description:
    "Imitates worked sums; evaluated on 256 held-out examples and on its own answers to 512 held-out problems",
  settings: Schema.Struct(ExampleSettings.fields({
    model: "effect-rl/tiny-64",
    iterations: 40,
    batchSize: 64,
    learningRate: 1e-3,
    maxTokens: 40,
    evalEvery: 10
  })),
  build: (model, settings) => {
    const examples = WorkedSums.examples()
    const batches = ExampleSettings.batches(examples, settings)
    const heldOut = SupervisedDataset.conversations(WorkedSums.heldOutExamples(), { model, batchSize: 64 })
    return imitating(model, settings, SupervisedDataset.conversations(examples, { model, ...batches }), [
      NllEvaluator.make({ name: "held_out_examples", dataset: heldOut }),
      Sums.evaluator(model, settings.maxTokens)
    ])
  }
})

/**
 * On-policy distillation: the student answers, and the teacher's log-probabilities score each token. Rewards are reported but not trained
 * on.
 *
 * @see tinker-cookbook `recipes/distillation/on_policy_distillation.py`
 */
export const onPolicyDistill = Recipe.make({
  name: "on-policy-distill",
  description: "Learns from a teacher's log-probabilities of the student's own answers to sums",
  settings: Schema.Struct({
    ...CommonSettings.fields({
      model: "effect-rl/tiny-64",
      iterations: 40,
      learningRate: 1e-3,
      maxTokens: 40,
      evalEvery: 40
    }),
    groupsPerBatch: Setting.withDefault(BatchSettings.BatchSettings.fields.groupsPerBatch, 64),
    groupSize: Setting.withHelp(
      Setting.withDefault(BatchSettings.BatchSettings.fields.groupSize, 2),
      "Answers to each problem"
    ),
    /** Model to learn from, or the path of a checkpoint; its tokenizer may differ from the student's. Default: effect-rl/tiny-128. */
    teacher: Setting.checkpoint({
      weights: "sampler",
      default: "effect-rl/tiny-128",
      help: "Model to learn from, or the path of a checkpoint; its tokenizer may differ from the student's"
    })
  }),
  build: Effect.fnUntraced(function*(model, settings) {
    const { iterations, maxTokens, teacher } = settings
    const options = CommonSettings.options(model, settings)
    const given = {
      ...options,
      dataset: Sums.dataset(Sums.boxed, { ...settings, model, batches: iterations }),
      sampling: { maxTokens },
      run: { ...options.run, evaluators: [Sums.evaluator(model, maxTokens)] }
    }
    const run = Effect.map(
      Teacher.credit("teacher", teacher, model),
      (credit) => Rl.run({ ...given, update: { ...given.update, credit } })
    )
    const task = yield* Recipe.task({ options: given, answerTo: Sums.answerTo })
    // The task's credit is that of rewards, which the run replaces.
    return { ...Struct.omit(task, ["credit"]), run: Stream.unwrap(run), readers: 1 }
  })
})

/**
 * A teacher imitates worked sums. Then a student learns from the log-probabilities that the teacher gives to the
 * student's own answers, without ever seeing a worked sum.
 */
export const distill = Pipeline.make({
  name: "distill",
  description:
    "Two stages on sums: trains a teacher on worked examples, then a student on its own answers, which the teacher scores",
  settings: Schema.Struct({
    /** Base model, of the teacher and of the student. Default: effect-rl/tiny-64. */
    model: Setting.text({ default: "effect-rl/tiny-64", help: "Base model, of the teacher and of the student" }),
    seed: RunOptions.RunSettings.fields.seed,
    teacherIterations: Pipeline.iterations(40, "Length of the first stage, in which the teacher imitates worked sums"),
    iterations: Pipeline.iterations(
      40,
      "Length of the second stage, in which the teacher scores the student's own answers"
    ),
    /** Longest answer. Default: 40 tokens. */
    maxTokens: Setting.int({ default: 40, least: 1, unit: "tokens", help: "Longest answer" })
  }),
  stages: ({ iterations, maxTokens, model, seed, teacherIterations }): ReadonlyArray<Pipeline.Stage<Error>> => {
    const lasting = (iterations: number) => ({ model, seed, maxTokens, iterations, evalEvery: iterations })
    return [
      { name: "teacher", recipe: supervised, settings: () => lasting(teacherIterations) },
      {
        name: "student",
        recipe: onPolicyDistill,
        settings: (of) => ({ ...lasting(iterations), teacher: of("teacher").samplerPath })
      }
    ]
  }
})
