/** Trains on problems of any dataset whose answers are expected in a box. */
import { type ChatModel, Evaluator, ProblemGroupBuilder, RLDataset, Setting } from "@effect-rl/core"
import type { HubError } from "@effect-rl/files"
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { Problem } from "../gsm8k/Gsm8kRow.ts"
import * as PromptLength from "../gsm8k/PromptLength.ts"
import type { Split } from "../gsm8k/Split.ts"
import * as Recipe from "../Recipe.ts"
import * as TrainingSettings from "../TrainingSettings.ts"
import * as MathEnv from "./MathEnv.ts"

/** The value of the setting `data` that selects generated problems instead of a folder. */
export const sampleName = "sample"

/** The files could not be downloaded from the hub. */
export class NotDownloaded extends Schema.TaggedError<NotDownloaded>()("NotDownloaded", { detail: Schema.String }) {
  override get message() {
    return `${this.detail}. Without the hub, give a folder as data, or "${sampleName}" for made-up problems`
  }
}

export const notDownloaded = ({ message }: HubError.HubError) => Effect.fail(new NotDownloaded({ detail: message }))

/**
 * The fields of a recipe's settings. `hub` is the dataset's name on the hub.
 *
 * @example
 * const Settings = Schema.Struct(BoxedProblems.fields({
 *   model: "Qwen/Qwen3-8B",
 *   iterations: 100,
 *   groupsPerBatch: 64,
 *   groupSize: 16,
 *   learningRate: 2e-5,
 *   maxTokens: 512,
 *   evalEvery: 20
 * }, "openai/gsm8k"))
 */
export const fields = (defaults: TrainingSettings.Defaults, hub: string) => ({
  ...TrainingSettings.fields(defaults),
  data: Setting.text({
    default: hub,
    unit: "folder",
    help:
      `Folder with train.jsonl and test.jsonl, ${hub} for the hub's files, or ${sampleName} for generated problems, ` +
      "which are the default if nothing is downloaded: in play, with the mock, and in the engine's short run"
  }),
  /** Show one worked example before each problem. Default: true. */
  fewShot: Setting.toggle({ default: true, help: "Show one worked example before each problem" })
})

type Settings = TrainingSettings.TrainingSettings & { readonly data: string; readonly fewShot: boolean }

const prefix = (fewShot: boolean) => fewShot ? MathEnv.strawberry : []

const group =
  (model: ChatModel.ChatModel, size: number, fewShot: boolean) => ({ answer, question }: Problem, index: number) =>
    ProblemGroupBuilder.make({
      key: String(index),
      size,
      form: fewShot ? "one worked example" : "no example",
      env: () => MathEnv.make({ model, problem: question, answer, prefix: prefix(fewShot) })
    })

/** The task on loaded problems. Each epoch is shuffled again, and an evaluation attempts each test problem once. */
export const task = (model: ChatModel.ChatModel, settings: Omit<Settings, "data">, { test, train }: Split) => {
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

/** Builds the task on the problems that `load` returns for the setting `data`. Fails if a problem leaves no room for an answer. */
export const build = <E, R>(load: (from: string) => Effect.Effect<Split, E, R>) =>
  Effect.fnUntraced(function*(model: ChatModel.ChatModel, settings: Settings) {
    const { data, fewShot, maxTokens } = settings
    const split = yield* load(data)
    yield* PromptLength.check([...split.train, ...split.test], { model, maxTokens, prefix: prefix(fewShot) })
    return yield* task(model, settings, split)
  })

/** Settings that select the generated problems. */
export const sample = { data: sampleName }

/** The short run on the engine. No tiny model can solve the problems, and SmolLM2 solves only a few. */
export const onEngine: Recipe.OnEngine = {
  says:
    "a short run on effect-rl/tiny-128 shows how the recipe works; the problems are too hard for this model, and it will not learn. " +
    "Name a model that can solve some of them with --model, such as smollm2",
  settings: {
    model: "effect-rl/tiny-128",
    iterations: 3,
    groupsPerBatch: 2,
    groupSize: 4,
    maxTokens: 64,
    evalEvery: 0
  },
  withSmolLm2: {
    says:
      "a short run on SmolLM2 shows how the recipe works; it solves few of these problems, so rewards will hardly change. " +
      "SmolLM2 learns sums: train arithmetic --model smollm2",
    settings: { model: "smollm2", learningRate: 3e-4 }
  }
}
