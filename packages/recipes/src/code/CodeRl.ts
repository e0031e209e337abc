/** Trains a model to write programs. Hidden tests judge them in a sandbox. */
import {
  type ChatModel,
  type EnvGroupBuilder,
  Evaluator,
  InvalidOption,
  RLDataset,
  Setting,
  type TinkerError
} from "@effect-rl/core"
import type { Renderer } from "@effect-rl/core/renderers"
import { Sandbox, SandboxError } from "@effect-rl/sandbox"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as BaseJudge from "../grading/BaseJudge.ts"
import * as Recipe from "../Recipe.ts"
import * as TrainingSettings from "../TrainingSettings.ts"
import * as CodeEnv from "./CodeEnv.ts"
import type * as CodeGrader from "./CodeGrader.ts"
import * as CodeSource from "./CodeSource.ts"
import type { CodeTask } from "./CodeTask.ts"

const settings = Schema.Struct({
  ...TrainingSettings.fields({
    model: "Qwen/Qwen3.5-9B",
    iterations: 190,
    groupsPerBatch: 100,
    groupSize: 4,
    learningRate: 1e-5,
    maxTokens: 4096,
    evalEvery: 20
  }),
  /** The problems: generated programs, or a published dataset. Default: deepcoder. */
  problems: Setting.choice({
    choices: CodeSource.names,
    default: "deepcoder",
    identity: true,
    help: "The problems: generated programs, or a published dataset"
  }),
  /** Folder with train and test as .jsonl, .parquet or .csv, instead of the hub's files. */
  data: Setting.text({
    default: "",
    unit: "folder",
    help: "Folder with train and test as .jsonl, .parquet or .csv, instead of the hub's files"
  }),
  /**
   * single: one response; check: a tool that tests solutions; repair: another try after a failed example; python: a tool that runs code.
   * Default: check.
   */
  form: Setting.choice({
    choices: CodeEnv.forms,
    default: "check",
    identity: true,
    help:
      "single: one response; check: a tool that tests solutions; repair: another try after a failed example; python: a tool that runs code"
  }),
  /** Time limit of one test; longer for providers that run Python more slowly. Default: 6 seconds. */
  testTimeout: Setting.duration({
    default: "6 seconds",
    identity: true,
    help: "Time limit of one test; longer for providers that run Python more slowly"
  }),
  /** Rubric by which the base model also scores each training program, from 0 to 1. */
  judge: Setting.text({
    default: "",
    identity: true,
    help: "Rubric by which the base model also scores each training program, from 0 to 1"
  }),
  /** Weight of the judge's score; passing the tests has weight 1. Default: 0.2. */
  judgeCoefficient: Setting.number({
    least: 0,
    default: 0.2,
    identity: true,
    help: "Weight of the judge's score; passing the tests has weight 1"
  })
})

type Settings = typeof settings.Type

/** Opens the judge of a group, if the settings have a rubric. */
type OpenRubrics = Effect.Effect<CodeEnv.Rubrics | undefined, TinkerError.TinkerError, Scope.Scope>

const noRubrics: OpenRubrics = Effect.undefined

/** The rubric from the settings, and the judge that applies it. */
const rubricsOf = (model: ChatModel.ChatModel, { judge: text, judgeCoefficient: coefficient }: Settings) =>
  text === "" ? Effect.succeed(noRubrics) : Effect.map(
    BaseJudge.make(model, text),
    (open): OpenRubrics => Effect.map(open, (judge) => ({ rubrics: [{ text }], judge, coefficient }))
  )

/** The reasons why a group cannot be rolled out. */
type Failure = TinkerError.TinkerError | CodeGrader.Error | InvalidOption.InvalidOption | Renderer.RendererError

/** Makes the group of attempts at a problem. */
const groupOf =
  (model: ChatModel.ChatModel, { form, problems, testTimeout: timeout }: Settings, rubrics: OpenRubrics) =>
  (size: number) =>
  (task: CodeTask): EnvGroupBuilder.EnvGroupBuilder<Failure, Sandbox.Sandbox> => ({
    key: task.id,
    size,
    tags: [problems],
    form,
    open: Effect.map(rubrics, (rubrics) => ({
      makeEnv: () => CodeEnv.make({ model, task, form, timeout, ...(rubrics !== undefined && { rubrics }) })
    }))
  })

/** Problems that an evaluation runs at the same time. More programs would wait too long for a sandbox. */
const evaluated = 64

const inFence = (program: string) => `\`\`\`python\n${program}\n\`\`\``

/** The problem's solution, formatted as a model's answer. Some chat templates trim the problem. */
const answerTo = (tasks: ReadonlyArray<CodeTask>) => (prompt: string) =>
  Option.map(
    Option.fromUndefinedOr(tasks.findLast((task) => prompt.includes(task.prompt.trim()))?.solution),
    inFence
  )

/** Fails before any sampling if the sandbox does not run Python. */
const needsPython = Effect.gen(function*() {
  const { capabilities, provider } = yield* Sandbox.Sandbox
  if (capabilities.runtimes.includes("python")) return
  const reason = new SandboxError.Unsupported({ capability: "runtime", detail: "it does not run Python" })
  return yield* new SandboxError.SandboxError({ provider, operation: "probe", reason })
})

/** The training groups. If the dataset is only for evaluation, loading a batch fails. */
const dataset = (settings: Settings, group: ReturnType<typeof groupOf>, tasks: ReadonlyArray<CodeTask>) =>
  tasks.length > 0
    ? RLDataset.fromArray(tasks, {
      groupsPerBatch: settings.groupsPerBatch,
      epochs: Math.max(1, Math.ceil(settings.iterations / Math.ceil(tasks.length / settings.groupsPerBatch))),
      shuffle: true,
      group: group(settings.groupSize)
    })
    : {
      length: 1,
      fingerprint: settings.problems,
      batch: () =>
        Effect.fail(
          new InvalidOption.InvalidOption({
            field: "problems",
            found: settings.problems,
            expected: "problems to train on, such as deepcoder, mbpp or programs: these are only for evaluation"
          })
        )
    }

export const codeRl = Recipe.make({
  name: "code_rl",
  description: "Programming problems, judged by hidden tests in a sandbox; evaluated on held-out problems",
  runsCode: true,
  sample: { problems: "programs" },
  onEngine: {
    says:
      "a short run on effect-rl/tiny-code, which knows a few Python expressions and often writes them wrongly: it learns within " +
      "minutes, but only the generated problems",
    settings: {
      model: "effect-rl/tiny-code",
      form: "single",
      iterations: 12,
      groupsPerBatch: 8,
      groupSize: 8,
      learningRate: 2e-3,
      maxTokens: 80,
      evalEvery: 12
    }
  },
  settings,
  build: Effect.fnUntraced(function*(model, settings) {
    yield* needsPython
    const { test, train } = yield* CodeSource.load(settings.problems, settings.data)
    const options = TrainingSettings.options(model, settings)
    return yield* Recipe.task({
      turns: CodeEnv.turns[settings.form],
      answerTo: answerTo([...train, ...test]),
      emptyAnswer: inFence(""),
      evaluationOnly: train.length === 0,
      options: {
        ...options,
        dataset: dataset(settings, groupOf(model, settings, yield* rubricsOf(model, settings)), train),
        run: {
          ...options.run,
          evaluators: [
            Evaluator.testSet({
              name: "held_out",
              // Held-out problems are judged only by their tests, so results are comparable across runs.
              groups: test.map(groupOf(model, settings, noRubrics)(1)),
              maxTokens: settings.maxTokens,
              concurrency: evaluated
            })
          ]
        }
      }
    })
  })
})
