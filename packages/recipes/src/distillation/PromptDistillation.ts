/** Trains a model to answer as if it had read a prompt. */
import {
  type ChatModel,
  Evaluator,
  InvalidOption,
  Message,
  ProblemEnv,
  ProblemGroupBuilder,
  RLDataset,
  Setting,
  Supervised,
  SupervisedDataset
} from "@effect-rl/core"
import { Capabilities, Metering } from "@effect-rl/core/backend"
import { RunOptions } from "@effect-rl/core/program"
import type { RowError } from "@effect-rl/files"
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import type * as Path from "effect/Path"
import type { PlatformError } from "effect/PlatformError"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type * as SupervisedSums from "../arithmetic/SupervisedSums.ts"
import * as CommonSettings from "../CommonSettings.ts"
import * as ExampleSettings from "../ExampleSettings.ts"
import * as Format from "../format/Format.ts"
import * as OtherModel from "../OtherModel.ts"
import * as Pipeline from "../Pipeline.ts"
import * as Recipe from "../Recipe.ts"
import * as Teacher from "./Teacher.ts"
import * as TeacherAnswers from "./TeacherAnswers.ts"

const settings = Schema.Struct({
  ...ExampleSettings.fields({
    model: "Qwen/Qwen3.6-35B-A3B",
    iterations: 64,
    batchSize: 128,
    learningRate: 1e-4,
    schedule: "linear",
    maxTokens: 1000,
    evalEvery: 5
  }),
  /**
   * Folder with prompt.txt, in which {text} stands for the query, and queries.txt with one query per line; or lists, for generated ones.
   */
  data: Setting.text({
    default: TeacherAnswers.listsName,
    unit: "folder",
    help:
      "Folder with prompt.txt, in which {text} stands for the query, and queries.txt with one query per line; or lists, for generated ones"
  }),
  /** Model or checkpoint that answers with the prompt (the base model unless given). */
  teacher: Setting.checkpoint({
    weights: "sampler",
    default: "",
    help: "Model or checkpoint that answers with the prompt (the base model unless given)"
  }),
  /** Temperature of the teacher's answers. Default: 0.15. */
  teacherTemperature: Setting.number({
    least: 0,
    default: 0.15,
    identity: true,
    help: "Temperature of the teacher's answers"
  }),
  /** Regular expression whose first group is the answer to learn; answers that do not match are left out. Default: ([^]*) pattern. */
  pattern: Setting.text({
    default: "([^]*)",
    unit: "pattern",
    identity: true,
    help: "Regular expression whose first group is the answer to learn; answers that do not match are left out"
  }),
  /** File that stores the teacher's answers; required if the backend cannot repeat them for a resumed run. */
  answers: Setting.text({
    default: "",
    unit: "file",
    help: "File that stores the teacher's answers; required if the backend cannot repeat them for a resumed run"
  })
})

type Settings = typeof settings.Type

const patternOf = ({ pattern }: Settings) =>
  Effect.try({
    try: () => new RegExp(pattern),
    catch: () => new InvalidOption.InvalidOption({ field: "pattern", found: pattern, expected: "a regular expression" })
  })

/** The teacher's answers, from the file if one is given. */
const answersOf = Effect.fnUntraced(function*(
  model: ChatModel.ChatModel,
  queries: TeacherAnswers.Queries,
  settings: Settings
) {
  const { answers, maxTokens, teacherTemperature: temperature } = settings
  const teacher = settings.teacher === "" ? model.name : settings.teacher
  if (answers === "" && !Capabilities.promise(model.capabilities.seeds, "request")) {
    const expected = "a file, because the backend cannot repeat the teacher's answers for a resumed run"
    return yield* new InvalidOption.InvalidOption({ field: "answers", found: "none", expected })
  }
  const pattern = yield* patternOf(settings)
  const sampled = Effect.gen(function*() {
    const { client, model: own } = yield* Teacher.open("teacher", teacher, model)
    const writer = yield* OtherModel.withoutThinking(own)
    return yield* TeacherAnswers.sample(client, queries, { model: writer, maxTokens, temperature, pattern })
  })
  return yield* (answers === "" ? sampled : TeacherAnswers.kept(answers, sampled))
})

const group = (model: ChatModel.ChatModel) => ({ answer, isRight, query }: TeacherAnswers.Known) =>
  ProblemGroupBuilder.make({
    key: query,
    size: 1,
    env: () => ProblemEnv.make({ model, question: query, referenceAnswer: answer, checkAnswer: isRight })
  })

/**
 * Trains a student, without the prompt, on the answers that a teacher gave with the prompt.
 *
 * @see tinker-cookbook `recipes/prompt_distillation`
 */
export const promptDistillation = Recipe.make({
  name: "prompt_distillation",
  description: "Learns to answer without a prompt as a teacher answers with it; evaluated on held-out lists of words",
  onEngine: {
    says:
      "effect-rl/tiny-tasks often answers in a form that the prompt does not ask for, and so does its student; the pipeline " +
      "distill-prompt trains a teacher first",
    settings: {
      model: "effect-rl/tiny-tasks",
      iterations: 120,
      batchSize: 31,
      learningRate: 4e-3,
      maxTokens: 32,
      teacherTemperature: 1,
      evalEvery: 30
    }
  },
  settings,
  build: Effect.fnUntraced(function*(given: ChatModel.ChatModel, settings) {
    const model = yield* OtherModel.withoutThinking(given)
    const queries = yield* TeacherAnswers.load(settings.data)
    yield* patternOf(settings)
    const { maxTokens } = settings
    const options = CommonSettings.options(model, settings)
    const groups = queries.test.map(group(model))
    const evaluators = groups.length === 0 ? [] : [Evaluator.testSet({ name: "held_out", groups, maxTokens })]
    const imitating = (rows: ReadonlyArray<{ readonly messages: SupervisedDataset.Conversation }>) => ({
      ...options,
      dataset: SupervisedDataset.conversations(rows.map(({ messages }) => messages), {
        model,
        ...ExampleSettings.batches(rows, settings)
      }),
      run: { ...options.run, evaluators }
    })
    // When a run is planned, the queries are known, but not the length of their answers.
    const planned = imitating(
      queries.train.map((query) => ({ messages: [Message.user(query), Message.assistant("")] }))
    )
    const { run: resolved } = yield* RunOptions.resolve(planned)
    return {
      model,
      run: Stream.unwrap(Effect.gen(function*() {
        const { metering, used } = Metering.counter()
        const rows = yield* Effect.provideService(answersOf(model, queries, settings), Metering.Metering, metering)
        const { dataset, ...rest } = imitating(rows)
        // The run's budget exists only once the run is open.
        const counted = yield* Effect.cached(
          Effect.flatMap(
            Metering.Metering,
            ({ count }) => Effect.forEach(used(), ([name, tokens]) => count(name, tokens), { discard: true })
          )
        )
        const batch: typeof dataset.batch = (index, seed) => Effect.andThen(counted, dataset.batch(index, seed))
        return Supervised.run({ ...rest, dataset: { ...dataset, batch } })
      })),
      check: Supervised.validate(planned),
      examples: planned.dataset,
      dataset: RLDataset.fromArray(queries.test, { groupsPerBatch: 1, group: group(model) }),
      evaluators,
      maxTokens,
      settings: resolved,
      turns: 1,
      answerTo: (prompt: string) =>
        Option.map(Arr.findFirst(queries.test, ({ query }) => prompt.includes(query)), ({ answer }) => answer)
    }
  })
})

type Stage = Pipeline.Stage<SupervisedSums.Error | RowError.RowError | PlatformError, FileSystem.FileSystem | Path.Path>

/** A teacher learns to write lists in the requested format, then a student learns to use one format without being asked. */
export const distillPrompt = Pipeline.make({
  name: "distill-prompt",
  description:
    "Two stages: trains a teacher to follow prompts, then a student that imitates its answers without the prompt",
  settings: Schema.Struct({
    /** Base model, of the teacher and of the student. Default: effect-rl/tiny-tasks. */
    model: Setting.text({ default: "effect-rl/tiny-tasks", help: "Base model, of the teacher and of the student" }),
    seed: RunOptions.RunSettings.fields.seed,
    teacherIterations: Pipeline.iterations(
      25,
      "Length of the first stage, in which a teacher learns to write lists as asked"
    ),
    iterations: Pipeline.iterations(
      120,
      "Length of the second stage, in which the student imitates the teacher's answers"
    )
  }),
  stages: ({ iterations, model, seed, teacherIterations }): ReadonlyArray<Stage> => [
    {
      name: "teacher",
      recipe: Format.format,
      settings: () => ({ model, seed, iterations: teacherIterations, evalEvery: teacherIterations })
    },
    {
      name: "student",
      recipe: promptDistillation,
      settings: (of) => ({
        ...promptDistillation.onEngine?.settings,
        model,
        seed,
        iterations,
        teacher: of("teacher").samplerPath
      })
    }
  ]
})
