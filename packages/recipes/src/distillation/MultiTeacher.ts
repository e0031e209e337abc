/** Distillation with a teacher for each kind of prompt: mathematical problems and chats, or sums and lists. */
import { type ChatModel, Credit, EnvGroupBuilder, Evaluator, Message, Rl, RLDataset, Setting } from "@effect-rl/core"
import { PromptEnv } from "@effect-rl/core/environments"
import { BatchSettings, RunOptions } from "@effect-rl/core/program"
import type { Hub, HubError, RowError } from "@effect-rl/files"
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import type * as Path from "effect/Path"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as Struct from "effect/Struct"
import * as Sums from "../arithmetic/Sums.ts"
import * as SupervisedSums from "../arithmetic/SupervisedSums.ts"
import * as CommonSettings from "../CommonSettings.ts"
import * as ChatSets from "../datasets/ChatSets.ts"
import * as MathSets from "../datasets/MathSets.ts"
import * as Source from "../datasets/Source.ts"
import * as Format from "../format/Format.ts"
import * as Pipeline from "../Pipeline.ts"
import * as Recipe from "../Recipe.ts"
import * as Teacher from "./Teacher.ts"

const { groupSize, groupsPerBatch } = BatchSettings.BatchSettings.fields

const settings = Schema.Struct({
  ...CommonSettings.fields({
    model: "Qwen/Qwen3.5-9B",
    iterations: 201,
    learningRate: 1e-4,
    maxTokens: 4096,
    evalEvery: 20
  }),
  loraRank: Setting.withDefault(RunOptions.LoraSettings.fields.rank, 128),
  groupsPerBatch: Setting.withHelp(Setting.withDefault(groupsPerBatch, 512), "Problems of each kind in each iteration"),
  groupSize: Setting.withHelp(Setting.withDefault(groupSize, 4), "Answers to each problem"),
  /** hub: problems of DeepMath and chats of Tulu 3; made-up: sums and lists of words. Default: hub. */
  prompts: Setting.choice({
    choices: ["hub", "made-up"],
    default: "hub",
    identity: true,
    help: "hub: problems of DeepMath and chats of Tulu 3; made-up: sums and lists of words"
  }),
  /** Model or checkpoint that teaches problems or sums; its tokenizer may differ from the student's. Default: Qwen/Qwen3.6-27B. */
  mathTeacher: Setting.checkpoint({
    weights: "sampler",
    default: "Qwen/Qwen3.6-27B",
    help: "Model or checkpoint that teaches problems or sums; its tokenizer may differ from the student's"
  }),
  /** Model or checkpoint that teaches chats or lists; its tokenizer may differ from the student's. Default: Qwen/Qwen3.5-397B-A17B. */
  chatTeacher: Setting.checkpoint({
    weights: "sampler",
    default: "Qwen/Qwen3.5-397B-A17B",
    help: "Model or checkpoint that teaches chats or lists; its tokenizer may differ from the student's"
  })
})

type Settings = typeof settings.Type

/** The longest prompt. A longer one is cut, as in the cookbook. */
const longestPrompt = 1024

/** Groups that answer the prompts in a split of a published dataset, and earn nothing. */
const fromHub = Effect.fnUntraced(function*<Row>(
  { tokenizer, ...model }: ChatModel.ChatModel,
  { groupsPerBatch, groupSize: size, iterations }: Settings,
  { promptOf, source }: { readonly source: Source.Source<Row>; readonly promptOf: (row: Row) => string | undefined }
) {
  const rows = Source.rows(source, "train").pipe(Stream.map(promptOf), Stream.filter((prompt) => prompt !== undefined))
  const prompts = yield* Stream.runCollect(Stream.take(rows, iterations * groupsPerBatch))
  return RLDataset.fromArray(prompts, {
    groupsPerBatch,
    group: (prompt, index) => {
      const cut = tokenizer.decode([...tokenizer.encode(prompt)].slice(0, longestPrompt))
      const makeEnv = () => Effect.sync(() => PromptEnv.make(model, [Message.user(cut)]))
      return EnvGroupBuilder.make({ key: String(index), size, makeEnv })
    }
  })
})

const tagged = (tag: string) => <E, R>(group: EnvGroupBuilder.EnvGroupBuilder<E, R>) => ({
  ...group,
  key: `${tag}/${group.key}`,
  tags: [tag]
})

/** Batches of both kinds, until one of them is used up. */
const together = <E, R, E2, R2>(
  math: RLDataset.RLDataset<E, R>,
  chat: RLDataset.RLDataset<E2, R2>
): RLDataset.RLDataset<E | E2, R | R2> => ({
  length: Math.min(math.length, chat.length),
  fingerprint: `math: ${math.fingerprint}; chat: ${chat.fingerprint}`,
  batch: (index, seed) =>
    Effect.map(
      Effect.all([math.batch(index, seed), chat.batch(index, seed)]),
      ([math, chat]) => [...math.map(tagged("math")), ...chat.map(tagged("chat"))]
    )
})

const hub = (model: ChatModel.ChatModel, settings: Settings) => {
  const firstOf = ({ messages }: { readonly messages: ReadonlyArray<Message.Message> }) => {
    const first = messages.find(({ role }) => role === "user")
    return first === undefined ? undefined : Message.text(first)
  }
  return Effect.map(
    Effect.all([
      fromHub(model, settings, { source: MathSets.deepMath.source, promptOf: ({ question }) => question }),
      fromHub(model, settings, { source: ChatSets.tulu3.source, promptOf: firstOf })
    ]),
    ([math, chat]) => ({ dataset: together(math, chat), evaluators: [] })
  )
}

const madeUp = (model: ChatModel.ChatModel, settings: Settings) => {
  const groups = [...Sums.heldOut(model).map(tagged("math")), ...Format.heldOutGroups(model).map(tagged("chat"))]
  return Effect.succeed({
    dataset: together(
      Sums.dataset(Sums.boxed, { ...settings, model, batches: settings.iterations }),
      Format.dataset(model, settings)
    ),
    evaluators: [Evaluator.testSet({ name: "held_out", groups, maxTokens: settings.maxTokens })]
  })
}

/**
 * On-policy distillation from two teachers: one scores answers to mathematical problems, the other scores chats.
 *
 * @see tinker-cookbook `recipes/distillation/on_policy_multi_teacher.py`
 */
export const multiTeacher = Recipe.make({
  name: "multi-teacher",
  description: "Learns from two teachers' log-probabilities of its own answers: one teaches problems, the other chats",
  sample: { prompts: "made-up" },
  onEngine: {
    says:
      "effect-rl/tiny-tasks is its own teacher here, so it learns nothing; the pipeline distill-multi trains two teachers first",
    settings: {
      model: "effect-rl/tiny-tasks",
      mathTeacher: "effect-rl/tiny-tasks",
      chatTeacher: "effect-rl/tiny-tasks",
      iterations: 3,
      loraRank: 32,
      groupsPerBatch: 16,
      groupSize: 2,
      learningRate: 1e-3,
      maxTokens: 40,
      evalEvery: 0
    }
  },
  settings,
  build: Effect.fnUntraced(function*(model: ChatModel.ChatModel, settings) {
    const { chatTeacher, mathTeacher, maxTokens, prompts } = settings
    const { dataset, evaluators } = yield* (prompts === "hub" ? hub(model, settings) : madeUp(model, settings))
    const options = CommonSettings.options(model, settings)
    const given = { ...options, dataset, sampling: { maxTokens }, run: { ...options.run, evaluators } }
    const run = Effect.gen(function*() {
      const math = yield* Teacher.credit("mathTeacher", mathTeacher, model)
      const chat = yield* Teacher.credit("chatTeacher", chatTeacher, model)
      return Rl.run({ ...given, update: { ...given.update, credit: Credit.byTag({ math, chat }) } })
    })
    const answerTo = (prompt: string) => Option.orElse(Sums.answerTo(prompt), () => Format.answerTo(prompt))
    const task = yield* Recipe.task({ options: given, ...(prompts === "made-up" && { answerTo }) })
    // The task's credit is that of rewards, which the run replaces.
    return { ...Struct.omit(task, ["credit"]), run: Stream.unwrap(run), readers: 1 }
  })
})

type Stage = Pipeline.Stage<
  SupervisedSums.Error | HubError.HubError | RowError.RowError,
  FileSystem.FileSystem | Hub.Hub | Path.Path
>

/**
 * Trains one teacher on worked sums and another to write lists. A student then learns both from the teachers'
 * log-probabilities, without any example or reward.
 */
export const distillMulti = Pipeline.make({
  name: "distill-multi",
  description: "Three stages: trains a teacher for sums and one for lists, then a student whose answers both score",
  settings: Schema.Struct({
    /** Base model, of the teachers and of the student. Default: effect-rl/tiny-tasks. */
    model: Setting.text({ default: "effect-rl/tiny-tasks", help: "Base model, of the teachers and of the student" }),
    seed: RunOptions.RunSettings.fields.seed,
    sumsIterations: Pipeline.iterations(40, "Length of the first stage, in which a teacher imitates worked sums"),
    listsIterations: Pipeline.iterations(25, "Length of the second stage, in which a teacher learns to write lists"),
    iterations: Pipeline.iterations(
      40,
      "Length of the third stage, in which both teachers score the student's own answers"
    )
  }),
  stages: ({ iterations, listsIterations, model, seed, sumsIterations }): ReadonlyArray<Stage> => {
    const lasting = (iterations: number) => ({ model, seed, iterations, evalEvery: iterations })
    return [
      { name: "sums-teacher", recipe: SupervisedSums.supervised, settings: () => lasting(sumsIterations) },
      { name: "lists-teacher", recipe: Format.format, settings: () => lasting(listsIterations) },
      {
        name: "student",
        recipe: multiTeacher,
        settings: (of) => ({
          ...multiTeacher.onEngine?.settings,
          ...multiTeacher.sample,
          ...lasting(iterations),
          groupsPerBatch: 32,
          mathTeacher: of("sums-teacher").samplerPath,
          chatTeacher: of("lists-teacher").samplerPath
        })
      }
    ]
  }
})
