/** Values that docstring examples use without defining them, created on a scripted backend so that the examples can run. */
import {
  ChatModel,
  Evaluator,
  FunctionTool,
  Message,
  MessagePolicy,
  Policy,
  Preferences,
  ProblemEnv,
  ProblemGroupBuilder,
  Rl,
  RLDataset,
  Rollout,
  type RunRecord,
  RunStore,
  SupervisedDataset,
  Tinker
} from "@effect-rl/core"
import { type Capabilities, Datum, ModelInput, type SamplingClient, type TrainingClient } from "@effect-rl/core/backend"
import type { Game, Trajectory } from "@effect-rl/core/environments"
import type { LossGraph } from "@effect-rl/core/losses"
import { type GroupResult, type Program, RolloutTask } from "@effect-rl/core/program"
import { ModelRegistry, type Renderer } from "@effect-rl/core/renderers"
import { Script, ScriptedTinker, TestTokenizer } from "@effect-rl/core/testing"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect, Layer, ManagedRuntime, Schema, Scope, Stream } from "effect"
import type { NonEmptyReadonlyArray } from "effect/Array"

/** Special tokens of the model families in the examples. */
const specialTokens = [
  ...TestTokenizer.specialTokens,
  ...`<|im_middle|> <|im_system|> <|im_user|> <|im_assistant|> <|tool_calls_section_begin|> <|tool_calls_section_end|>
    <|tool_call_begin|> <|tool_call_argument_begin|> <|tool_call_end|> <|media_begin|> <|media_content|> <|media_end|> [EOS]
    <|start|> <|message|> <|end|> <|return|> <|channel|> <|call|> <|constrain|>
    <｜begin▁of▁sentence｜> <｜end▁of▁sentence｜> <｜User｜> <｜Assistant｜> <｜System｜> <｜tool▁sep｜>
    <｜tool▁calls▁begin｜> <｜tool▁calls▁end｜> <｜tool▁call▁begin｜> <｜tool▁call▁end｜> <｜tool▁output▁begin｜> <｜tool▁output▁end｜>
    ｜DSML｜
    <|system|> <|user|> <|assistant|> <|observation|> [gMASK] <sop>
    <|message_system|> <|message_user|> <|message_model|> <|message_tool|> <|end_message|> <|content_text|> <|content_thinking|>
    <|content_xml|> <|content_invoke_tool_json|> <|content_invoke_tool_text|> <|content_tool_error|> <|content_image|>
    <|content_audio_input|> <|content_model_end_sampling|> <|unused_200024|>
    <|begin_of_text|> <|start_header_id|> <|end_header_id|> <|eot_id|> <|eom_id|> <|python_tag|>
    <|vision_start|> <|vision_end|> <|image_pad|>`.split(/\s+/)
]

export const tokenizer: TestTokenizer.TestTokenizer = TestTokenizer.make({
  name: "examples",
  specialTokens: [...new Set(specialTokens)],
  pieces: TestTokenizer.characterPieces
})

/** A verdict if the prompt asks a judge for one; otherwise `2`, or `0` if the seed is odd. */
const answerTo = (prompt: string, seed: number) => {
  if (prompt.includes("<score>")) return "<score>5</score>"
  if (prompt.includes("==== Preference ====")) return "A"
  return seed % 2 === 0 ? "2" : "0"
}

const models = [
  Script.defaultModel,
  "effect-rl/tiny-64",
  "effect-rl/tiny-128",
  "/models/Qwen3-0.6B",
  ...ModelRegistry.models.map(({ name }) => name)
]

/** A backend on which every known model answers with the same script. */
const backend = ScriptedTinker.layer({
  tokenizer,
  models: Object.fromEntries(models.map((name) => [name, { contextLength: 131_072 }])),
  sample: Script.reply(
    tokenizer,
    (prompt, { seed = 0 }) => Script.text(tokenizer, `${answerTo(prompt, seed)}<|im_end|>`)
  )
})

/** The services of the examples: the scripted backend, an empty record store, and files. */
export const services = Layer.mergeAll(
  backend,
  TestTokenizer.layer(tokenizer),
  RunStore.RunStore.layerMemory,
  NodeServices.layer
)

const runtime = ManagedRuntime.make(services)

export const model: ChatModel.ChatModel = await runtime.runPromise(
  ChatModel.resolve(Script.defaultModel, { renderer: "qwen3_instruct" })
)
const tinker = await runtime.runPromise(Tinker.Tinker)
/** A scope that keeps clients open until the process ends. */
const scope = await runtime.runPromise(Scope.make())

export const renderer: Renderer.Renderer = model.renderer
export const messages: ReadonlyArray<Message.Message> = [Message.user("1 + 1?"), Message.assistant("2")]
export const conversations: ReadonlyArray<ReadonlyArray<Message.Message>> = [messages]
export const preferences: ReadonlyArray<Preferences.Preference> = [
  { prompt: [Message.user("1 + 1?")], chosen: [Message.assistant("2")], rejected: [Message.assistant("3")] }
]
export const prompt: ModelInput.ModelInput = ModelInput.fromTokens(tokenizer.encode("1 + 1?"))
export const rows: ReadonlyArray<readonly [number, number]> = [[1, 1], [0, 2], [2, 0], [1, 2]]

export const client: SamplingClient.SamplingClient = await runtime.runPromise(
  Scope.provide(tinker.createSamplingClient({ baseModel: Script.defaultModel }), scope)
)
export const training: TrainingClient.TrainingClient = await runtime.runPromise(
  Scope.provide(tinker.createLoraTrainingClient({ baseModel: Script.defaultModel, loraRank: 8 }), scope)
)
export const capabilities: Capabilities.Capabilities = model.capabilities
export const policy = Policy.fromSamplingClient(client, { maxTokens: 16, seed: 1 })
export const judge = MessagePolicy.fromSamplingClient(client, { model, maxTokens: 32, seed: 2 })

const makeProblem = (question: string) =>
  ProblemEnv.make({ model, question, referenceAnswer: "2", checkAnswer: (text) => text.trim() === "2" })

export const problemEnv = makeProblem("1 + 1?")
export const env = problemEnv
export const task = RolloutTask.make("sum", {
  payload: Schema.String,
  builder: (question) => ProblemGroupBuilder.make({ key: question, size: 4, env: () => makeProblem(question) })
})
export const builder = task.builder("1 + 1?")
export const dataset = RLDataset.fromArray(rows, { groupsPerBatch: 2, group: ([a, b]) => task.builder(`${a} + ${b}?`) })
export const examples = SupervisedDataset.conversations(conversations, { model, batchSize: 1 })
export const pairs = Preferences.pairs(preferences, { model, batchSize: 1 })
export const evaluator = Evaluator.testSet({ name: "held_out", groups: [builder], maxTokens: 16 })
export const tool = FunctionTool.make({
  name: "add",
  description: "Adds two numbers",
  parameters: Schema.Struct({ a: Schema.Number, b: Schema.Number }),
  handler: ({ a, b }) => Effect.succeed(String(a + b))
})
/** A pile from which two players take one or two stones in turns. The player who takes the last one wins. */
export const game: Game.Game<number> = {
  players: 2,
  start: 4,
  toMove: (left) => left === 0 ? undefined : left % 2,
  rules: () => "Take 1 or 2.",
  view: (left) => `${left} left.`,
  move: (left, said) => (said === "1" || said === "2") && Number(said) <= left ? left - Number(said) : undefined,
  rewards: () => [1, -1]
}

export const group: GroupResult.Completed = await runtime.runPromise(
  Effect.filterOrFail(Rollout.group(builder, policy), (result) => result._tag === "Completed")
)
export const trajectory: Trajectory.Trajectory = await runtime.runPromise(
  Rollout.episode(env, policy, { iteration: 0, group: "1 + 1", member: 0, attempt: 0 })
)

export const data: NonEmptyReadonlyArray<Datum.Datum<"PolicyTokens">> = [
  Datum.policyTokens(prompt, {
    targetTokens: new Int32Array(prompt.length),
    logprobs: new Float32Array(prompt.length).fill(-0.5),
    advantages: new Float32Array(prompt.length).fill(1),
    mask: new Float32Array(prompt.length).fill(1)
  })
]
const weightedDatum = Datum.weightedTokens(prompt, {
  targetTokens: new Int32Array(prompt.length),
  weights: new Float32Array(prompt.length).fill(1)
})
/** Two datums that also form a preference pair: the chosen response, then the rejected one. */
export const weightedData: NonEmptyReadonlyArray<Datum.Datum<"WeightedTokens">> = [weightedDatum, weightedDatum]
const logprobsOfOne = new Float32Array(prompt.length).fill(-0.5)
export const logprobs: ReadonlyArray<Float32Array> = [logprobsOfOne, logprobsOfOne]
export const graphData: NonEmptyReadonlyArray<TrainingClient.GraphDatum> = [
  { modelInput: prompt, targetTokens: new Int32Array(prompt.length), inputs: {} }
]
export const lossGraph: LossGraph.LossGraph = {
  name: "negative_sum",
  inputs: [{ name: "logprobs", rank: 1 }],
  graph: {
    format: 1,
    nodes: [
      { op: "placeholder", name: "logprobs", target: "logprobs", args: [], kwargs: {} },
      { op: "call_method", name: "total", target: "sum", args: [{ ref: "logprobs" }], kwargs: {} },
      { op: "call_method", name: "loss", target: "neg", args: [{ ref: "total" }], kwargs: {} },
      { op: "output", name: "output", target: "output", args: [{ tuple: [{ ref: "loss" }, { dict: {} }] }], kwargs: {} }
    ]
  }
}

export const program: Program.Program<number> = {
  name: "examples",
  identity: {},
  cursor: Schema.Number,
  start: 0,
  ahead: 0,
  length: 0,
  iterations: () => Stream.empty
}

/** The records of a short run. */
const recordsOf = (seed: number) =>
  runtime.runPromise(
    Effect.gen(function*() {
      const held = { evalEvery: 1, evaluators: [evaluator] }
      yield* Stream.runDrain(
        Rl.run({ model, dataset, sampling: { maxTokens: 8 }, update: { learningRate: 1e-3 }, run: { seed, ...held } })
      )
      const store = yield* RunStore.RunStore
      return { reader: store, records: yield* Stream.runCollect(store.read) }
    }).pipe(Effect.provide(Layer.fresh(RunStore.RunStore.layerMemory)))
  )

const [runOfA, runOfB] = [await recordsOf(0), await recordsOf(1)]

export const reader: RunStore.RunReader = runOfA.reader
export const records: ReadonlyArray<RunRecord.RunRecord> = runOfA.records
export const recordsOfA = records
export const recordsOfB: ReadonlyArray<RunRecord.RunRecord> = runOfB.records
