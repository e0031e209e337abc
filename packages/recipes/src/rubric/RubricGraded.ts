/** Trains a model on answers that a judge grades by rubrics. */
import {
  type ChatModel,
  type EnvGroupBuilder,
  Evaluator,
  type InvalidOption,
  RLDataset,
  RubricGradedGroupBuilder,
  Setting,
  type TinkerError
} from "@effect-rl/core"
import type { Judge } from "@effect-rl/core/environments"
import type { Renderer } from "@effect-rl/core/renderers"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Sums from "../arithmetic/Sums.ts"
import * as OtherModel from "../OtherModel.ts"
import * as Recipe from "../Recipe.ts"
import * as TrainingSettings from "../TrainingSettings.ts"
import * as RubricTasks from "./RubricTasks.ts"
import * as SumsJudge from "./SumsJudge.ts"

const scripted = "scripted"

const settings = Schema.Struct({
  ...TrainingSettings.fields({
    model: "Qwen/Qwen3.5-9B",
    iterations: 100,
    groupsPerBatch: 100,
    groupSize: 4,
    learningRate: 1e-5,
    maxTokens: 32,
    evalEvery: 20
  }),
  /** Folder with train.jsonl and test.jsonl, or made-up sums: sums up to 1000, or small-sums below 100. Default: sums. */
  data: Setting.text({
    default: RubricTasks.sumsName,
    unit: "folder",
    help: `Folder with train.jsonl and test.jsonl, or made-up sums: ${RubricTasks.sumsName} up to 1000, or ` +
      `${RubricTasks.smallSumsName} below 100`
  }),
  /** Model that grades the answers; scripted, a rule grades those to sums. Default: Qwen/Qwen3.6-35B-A3B. */
  judge: Setting.text({
    default: "Qwen/Qwen3.6-35B-A3B",
    unit: "model",
    identity: true,
    help: `Model that grades the answers; ${scripted}, a rule grades those to sums`
  })
})

const longestJudgement = 2048

const always: OtherModel.Open = Effect.succeed(SumsJudge.judge)

const judgeOf = (name: string) =>
  name === scripted
    ? Effect.succeed(always)
    : OtherModel.make("judge", name, { maxTokens: longestJudgement, temperature: 1 })

type Group = EnvGroupBuilder.EnvGroupBuilder<
  Judge.JudgeError | TinkerError.TinkerError | InvalidOption.InvalidOption | Renderer.RendererError
>

/** @see tinker-cookbook `recipes/rubric` */
export const rubric = Recipe.make({
  name: "rubric",
  description:
    "Answers graded by a judge with rubrics, to sums unless a folder is given; evaluated on held-out problems",
  sample: { data: RubricTasks.smallSumsName, judge: scripted },
  onEngine: {
    says:
      "a short run on effect-rl/tiny-128, with answers to sums below 100 that a rule grades: it learns within two minutes",
    settings: {
      model: "effect-rl/tiny-128",
      iterations: 25,
      groupsPerBatch: 32,
      groupSize: 8,
      learningRate: 1e-3,
      maxTokens: 16,
      evalEvery: 25
    }
  },
  settings,
  build: Effect.fnUntraced(function*(given: ChatModel.ChatModel, settings) {
    const { data, groupSize, groupsPerBatch, iterations, judge: name, maxTokens } = settings
    const model = yield* OtherModel.withoutThinking(given)
    const open = yield* judgeOf(name)
    const { test, train } = yield* RubricTasks.load(data)
    const group = (size: number) => (task: RubricTasks.RubricTask, index: number): Group => ({
      key: String(index),
      size,
      tags: ["rubric"],
      open: Effect.flatMap(
        open,
        (judge) => RubricGradedGroupBuilder.make({ ...task, key: String(index), size, model, judge }).open
      )
    })
    const options = TrainingSettings.options(model, settings)
    return yield* Recipe.task({
      answerTo: Sums.answerTo,
      // A judge gives a score, so answers do not count as right or wrong.
      referenceReward: 1,
      options: {
        ...options,
        dataset: RLDataset.fromArray(train, {
          groupsPerBatch,
          epochs: Math.max(1, Math.ceil(iterations / Math.ceil(train.length / groupsPerBatch))),
          group: group(groupSize)
        }),
        run: {
          ...options.run,
          evaluators: [Evaluator.testSet({ name: "held_out", groups: test.map(group(1)), maxTokens })]
        }
      }
    })
  })
})
