/**
 * Measures how existing agents learn: a single request with the `openai` client, calculator loops of several libraries in this process, a
 * Python program over HTTP, and a loop with tools that its model has never seen. Measures what `benchmark/results/curves/agents.json`
 * lacks, for all agents or only for those named as arguments, and prints a Markdown table of all.
 */
import { AgentEnv, AgentGateway } from "@effect-rl/agent"
import { ChatModel, EnvGroupBuilder, Evaluator, Rl, RLDataset, RunStore, Score } from "@effect-rl/core"
import { SmolLm2 } from "@effect-rl/engine"
import { Calculation, CalculatorEnv, Sums } from "@effect-rl/recipes"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Clock, Context, Effect, Layer, Stream } from "effect"
import { existsSync } from "node:fs"
import { createServer } from "node:http"
import OpenAI from "openai"
import * as OpenAiAgent from "../../examples/agents/openai.ts"
import type { Answer } from "../../examples/agents/training.ts"
import * as ToolLoop from "../../examples/src/13-tool-loop-agent.ts"
import * as OpenAiAgents from "../../examples/src/14-openai-agents.ts"
import * as Controls from "../learning/Controls.ts"
import * as Kept from "../learning/Kept.ts"
import * as OnEngine from "../OnEngine.ts"
import * as Report from "../Report.ts"
import * as Outcome from "./Outcome.ts"
import * as Pi from "./Pi.ts"
import * as PythonAgent from "./PythonAgent.ts"
import * as Vessels from "./Vessels.ts"

/** A question for an agent, and the expected answer. */
interface Task {
  readonly question: string
  readonly answer: string
}

/** An agent's model and settings, its training tasks, and the tasks on which it is measured. */
interface Tasks extends Pick<Rl.Options, "lora"> {
  readonly model: string
  /** Default: 1e-3. */
  readonly learningRate?: number
  readonly maxTokens: number
  readonly iterations: number
  /** Problems in an iteration. */
  readonly groups: number
  readonly train: (count: number, seed: number) => ReadonlyArray<Task>
  readonly heldOut: ReadonlyArray<Task>
}

const asked = ({ answer, expression }: Calculation.Calculation): Task => ({
  answer,
  question: CalculatorEnv.question(expression)
})

const calculations: Tasks = {
  model: "effect-rl/tiny-tasks",
  maxTokens: 48,
  iterations: 20,
  groups: 16,
  train: (count, seed) => Calculation.batch(0, count, "short", seed + 1).map(asked),
  heldOut: Calculation.heldOut(256, "short").map(asked)
}

const sum = (index: number): Task => {
  const [left, right] = [index % 100, (index * 7) % 99]
  return { question: `What is ${left} + ${right}?`, answer: String(left + right) }
}

const sums: Tasks = {
  model: "effect-rl/tiny-128",
  maxTokens: 40,
  iterations: 25,
  groups: 16,
  train: (count, seed) => Array.from({ length: count }, (_, index) => sum(256 + seed * count + index)),
  heldOut: Array.from({ length: 256 }, (_, index) => sum(index))
}

const smolLm2Sum = ([left, right]: readonly [number, number]): Task => ({
  question: `Calculate ${left} + ${right}.`,
  answer: String(left + right)
})

/** The sums, learning rate and adapter of the recipe `smollm2-sums`. */
const smolLm2Sums: Tasks = {
  model: SmolLm2.name,
  learningRate: 3e-4,
  lora: { rank: 8 },
  maxTokens: 24,
  iterations: 10,
  groups: 16,
  train: (count, seed) => Sums.unboxed.pairs(0, count, seed).map(smolLm2Sum),
  heldOut: Sums.heldOutPairs.slice(0, 128).map(smolLm2Sum)
}

const vessels: Tasks = {
  model: "effect-rl/tiny-tools",
  maxTokens: 48,
  iterations: 16,
  groups: 8,
  train: Vessels.train,
  heldOut: Vessels.heldOut
}

const files: Tasks = {
  model: "effect-rl/tiny-tools",
  maxTokens: 48,
  iterations: 8,
  groups: 4,
  train: Pi.train,
  heldOut: Pi.heldOut
}

const openAi = ({ apiKey, baseUrl: baseURL, fetch }: AgentEnv.Session) => new OpenAI({ apiKey, baseURL, fetch })

const oneQuestion: Answer = async (session, model, content) => {
  const { choices } = await openAi(session).chat.completions.create({ model, messages: [{ role: "user", content }] })
  return choices[0]?.message.content ?? undefined
}

const loop: Answer = (session, model, question) => OpenAiAgent.answer(openAi(session), model, question)

const ownTools: Answer = (session, model, question) => Vessels.answer(openAi(session), model, question)

type MakeEnv = (model: ChatModel.ChatModel, task: Task) => ReturnType<typeof AgentGateway.env<never, never>>

const judged = (answer: Answer, { name }: ChatModel.ChatModel, task: Task) => async (session: AgentEnv.Session) => {
  const said = await answer(session, name, task.question)
  return Score.correct(said?.match(/-?\d+/g)?.at(-1) === task.answer)
}

const inProcess = (answer: Answer): MakeEnv => (model, task) =>
  AgentEnv.make({ model, run: judged(answer, model, task) })

const overHttp = ({ answer }: PythonAgent.PythonAgent["Service"]): MakeEnv => (model, task) =>
  AgentGateway.env({
    model,
    run: judged(({ apiKey, baseUrl }, model, question) => answer({ apiKey, baseUrl, model, question }), model, task)
  })

const train = (tasks: Tasks, makeEnv: MakeEnv, control: Controls.Control) =>
  Effect.fnUntraced(function*(seed: number) {
    const { groups, heldOut, iterations, learningRate = 1e-3, lora, maxTokens } = tasks
    const model = yield* ChatModel.resolve(tasks.model)
    const group = (size: number) => (task: Task) =>
      EnvGroupBuilder.make({ key: task.question, size, makeEnv: () => makeEnv(model, task) })
    const evaluator = Evaluator.testSet({ name: "held_out", groups: heldOut.map(group(1)), maxTokens })
    const began = yield* Clock.currentTimeMillis
    const records = yield* Stream.runCollect(Rl.run({
      model,
      dataset: RLDataset.fromArray(tasks.train(iterations * groups, seed), { groupsPerBatch: groups, group: group(8) }),
      sampling: { maxTokens },
      ...(lora !== undefined && { lora }),
      update: { learningRate, ...control(seed) },
      run: { seed, evalEvery: iterations, evaluators: [evaluator] }
    }))
    return yield* Outcome.of(records, began)
  }, Effect.provide(RunStore.RunStore.layerMemory, { local: true }))

const row = (title: string, tasks: Tasks, makeEnv: MakeEnv) => ({
  title,
  kinds: {
    trained: train(tasks, makeEnv, Controls.none),
    "learning rate 0": train(tasks, makeEnv, Controls.noLearning),
    "rewards shuffled": train(tasks, makeEnv, Controls.shuffledRewards)
  }
})

const shown = ({ interval, value }: Kept.Score = { value: NaN }) =>
  interval === undefined
    ? value.toFixed(3)
    : `${value.toFixed(3)} [${interval.map((end) => end.toFixed(3)).join(", ")}]`

const table = ({ rows }: Kept.Kept) =>
  Report.table(
    ["agent", "seed", "before [95 %]", "after [95 %]", "seconds", "load"],
    Object.entries(rows).flatMap(([title, kinds]) =>
      Object.entries(kinds).flatMap(([kind, outcomes]) =>
        outcomes.map(({ after, before, besides: { load = NaN, seconds = NaN } }, seed) => [
          `${title}, ${kind}`,
          String(seed),
          shown(before),
          shown(after),
          seconds.toFixed(0),
          load.toFixed(1)
        ])
      )
    )
  )

const gateway = AgentGateway.AgentGateway.layer.pipe(
  Layer.provide(NodeHttpServer.layer(() => createServer({ keepAliveTimeout: 120_000 }), { host: "127.0.0.1", port: 0 }))
)

/** The Python agent if Python is installed, otherwise none. */
const pythons = Effect.suspend(() =>
  PythonAgent.isThere()
    ? Effect.map(Layer.build(PythonAgent.PythonAgent.layer), (context) => [
      overHttp(Context.get(context, PythonAgent.PythonAgent))
    ])
    : Effect.succeed([])
)

/** Pi if the environment variable `PI` is set, otherwise none. */
const pis = Effect.suspend(() => {
  const { program } = Pi
  return program === undefined
    ? Effect.succeed([])
    : Effect.map(Layer.build(Pi.Pi.layer), (context) => [Pi.env(Context.get(context, Pi.Pi), program)])
})

const isSmolLm2There = existsSync(await Effect.runPromise(Effect.provide(SmolLm2.file, NodeServices.layer)))

const smolLm2 = {
  title: "`openai`, one question to SmolLM2",
  kinds: {
    trained: train(smolLm2Sums, inProcess(oneQuestion), Controls.none),
    "learning rate 0": train(smolLm2Sums, inProcess(oneQuestion), Controls.noLearning)
  }
}

const program = Effect.gen(function*() {
  const python = yield* pythons
  const pi = yield* pis
  if (pi.length === 0) Report.progress("Pi is left out: the environment variable PI does not name its program")
  if (python.length === 0) Report.progress("the Python agent is left out: python3 is not installed")
  const rows = [
    row("`openai`, one question", sums, inProcess(oneQuestion)),
    row("`openai`, a loop with a tool", calculations, inProcess(loop)),
    row("`openai`, tools of its own", vessels, inProcess(ownTools)),
    row("AI SDK `ToolLoopAgent`", calculations, inProcess(ToolLoop.answer)),
    row("OpenAI Agents", calculations, inProcess(OpenAiAgents.answer)),
    ...python.map((makeEnv) => row("Python over HTTP", calculations, makeEnv)),
    ...pi.map((makeEnv) => row("Pi, its own tool", files, makeEnv))
  ]
  if (!isSmolLm2There) Report.progress("SmolLM2 is left out: npm run smollm2 fetches it")
  const named = process.argv.slice(2)
  const isChosen = ({ title }: { readonly title: string }) => named.length === 0 || named.includes(title)
  yield* Kept.measure({ name: "agents", seeds: [0, 1, 2], rows: rows.filter(isChosen) })
  if (isSmolLm2There) yield* Kept.measure({ name: "agents", seeds: [0], rows: [smolLm2].filter(isChosen) })
  Report.print(table(yield* Kept.read("agents")))
}).pipe(Effect.provide(gateway))

OnEngine.runMain(program, isSmolLm2There ? [SmolLm2.name] : [])
