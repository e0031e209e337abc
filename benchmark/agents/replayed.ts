/**
 * Measures whether a policy that was trained on replayed tools does better with the live tool. Sessions of the `openai` client with a
 * calculator are logged and imported, the policy is trained with tools that answer as in these sessions alone, and the same client measures
 * it with the calculator on held-out questions. Measures what `benchmark/results/curves/replayed.json` lacks, and prints a Markdown table.
 */
import { AgentEnv } from "@effect-rl/agent"
import { ReplayedTools, Traces } from "@effect-rl/agent/traces"
import {
  ChatModel,
  EnvGroupBuilder,
  Evaluator,
  Message,
  Policy,
  Rl,
  RLDataset,
  Rollout,
  RunStore,
  Score,
  Tinker,
  ToolEnv
} from "@effect-rl/core"
import { Calculation, CalculatorEnv } from "@effect-rl/recipes"
import { Array as Arr, Clock, Effect, FileSystem, Stream } from "effect"
import OpenAI from "openai"
import * as OpenAiAgent from "../../examples/agents/openai.ts"
import * as Controls from "../learning/Controls.ts"
import * as Kept from "../learning/Kept.ts"
import * as OnEngine from "../OnEngine.ts"
import * as Report from "../Report.ts"
import * as Outcome from "./Outcome.ts"

const modelName = "effect-rl/tiny-tasks"
const maxTokens = 48
const iterations = 20
const groups = 16
const groupSize = 8

/** Number of recorded sessions per question. */
const sessions = 8

const tasksOf = (seed: number) => Calculation.batch(0, iterations * groups, "short", seed + 1)

const isRight = (answer: string, said: string | undefined) => said?.match(/-?\d+/g)?.at(-1) === answer

type Ask = (question: string, session: AgentEnv.Session) => Promise<string | undefined>

const ask: Ask = (question, { apiKey, baseUrl: baseURL, fetch }) =>
  OpenAiAgent.answer(new OpenAI({ apiKey, baseURL, fetch }), modelName, question)

/** The agent with its calculator. */
const live = (model: ChatModel.ChatModel, { answer, expression }: Calculation.Calculation, log: Array<string> = []) =>
  AgentEnv.make({
    model,
    run: async (session) => {
      const logged: typeof fetch = async (input, init) => {
        const response = await session.fetch(input, init)
        const text = await response.clone().text()
        log.push(JSON.stringify({ request: String(init?.body), response: text }))
        return response
      }
      const said = await ask(CalculatorEnv.question(expression), { ...session, fetch: logged })
      return Score.correct(isRight(answer, said))
    }
  })

/** The conversations of the untrained model, by question. */
const recorded = Effect.fnUntraced(function*(model: ChatModel.ChatModel, seed: number) {
  const fs = yield* FileSystem.FileSystem
  const client = yield* Tinker.Tinker.use((tinker) => tinker.createSamplingClient({ baseModel: modelName }))
  const policy = Policy.fromSamplingClient(client, { maxTokens, temperature: 1, seed })
  const log: Array<string> = []
  const members = tasksOf(seed).flatMap((task) => Array.from({ length: sessions }, (_, member) => ({ task, member })))
  yield* Effect.forEach(
    members,
    ({ member, task }) =>
      Effect.scoped(
        Effect.flatMap(live(model, task, log), (env) =>
          Rollout.episode(env, policy, { iteration: 0, group: task.expression, member, attempt: 0 }))
      ),
    {
      concurrency: 64,
      discard: true
    }
  )
  const file = `${yield* fs.makeTempDirectoryScoped()}/log.jsonl`
  yield* fs.writeFileString(file, log.join("\n"))
  const { conversations } = yield* Traces.load([file])
  return Arr.groupBy(conversations, ({ messages: [first] }) => first === undefined ? "" : Message.text(first))
}, Effect.scoped)

type Conversations = Effect.Success<ReturnType<typeof recorded>>

/** An environment for the question, whose calculator answers as in the recorded sessions. */
const replayed = (
  model: ChatModel.ChatModel,
  conversations: Conversations,
  { answer, expression }: Calculation.Calculation
) =>
  Effect.flatMap(
    ReplayedTools.make(conversations[CalculatorEnv.question(expression)] ?? [], "tell"),
    (tools) =>
      ToolEnv.make({
        model,
        tools,
        messages: [Message.user(CalculatorEnv.question(expression))],
        maxTurns: 3,
        grade: (messages) => {
          const last = messages.at(-1)
          const correct = last?.role === "assistant" && isRight(answer, Message.text(last))
          return Effect.succeed({ reward: Number(correct), score: Score.correct(correct) })
        }
      })
  )

const train = (control: Controls.Control) =>
  Effect.fnUntraced(function*(seed: number) {
    const model = yield* ChatModel.resolve(modelName)
    const began = yield* Clock.currentTimeMillis
    const conversations = yield* recorded(model, seed)
    const heldOut = Calculation.heldOut(256, "short").map((task) =>
      EnvGroupBuilder.make({ key: task.expression, size: 1, makeEnv: () => live(model, task) })
    )
    const tasks = tasksOf(seed).filter(({ expression }) => CalculatorEnv.question(expression) in conversations)
    const records = yield* Stream.runCollect(Rl.run({
      model,
      dataset: RLDataset.fromArray(tasks, {
        groupsPerBatch: groups,
        group: (task) =>
          EnvGroupBuilder.make({
            key: task.expression,
            size: groupSize,
            makeEnv: () => replayed(model, conversations, task)
          })
      }),
      sampling: { maxTokens },
      update: { learningRate: 1e-3, ...control(seed) },
      run: {
        seed,
        evalEvery: iterations,
        evaluators: [Evaluator.testSet({ name: "live", groups: heldOut, maxTokens })]
      }
    }))
    return yield* Outcome.of(records, began, { conversations: Object.values(conversations).flat().length })
  }, Effect.provide(RunStore.RunStore.layerMemory, { local: true }))

const shown = ({ interval = [NaN, NaN], value }: Kept.Score = { value: NaN }) =>
  `${value.toFixed(3)} [${interval.map((end) => end.toFixed(3)).join(", ")}]`

const table = ({ rows }: Kept.Kept) =>
  Report.table(
    ["trained on replays", "seed", "conversations", "live before [95 %]", "live after [95 %]", "seconds", "load"],
    Object.values(rows).flatMap((kinds) =>
      Object.entries(kinds).flatMap(([kind, outcomes]) =>
        outcomes.map(({ after, before, besides: { conversations = NaN, load = NaN, seconds = NaN } }, seed) => [
          kind,
          String(seed),
          String(conversations),
          shown(before),
          shown(after),
          seconds.toFixed(0),
          load.toFixed(1)
        ])
      )
    )
  )

const program = Effect.gen(function*() {
  const kinds = {
    rewarded: train(Controls.none),
    "rewards shuffled": train(Controls.shuffledRewards)
  }
  yield* Kept.measure({ name: "replayed", seeds: [0, 1, 2], rows: [{ title: "calculator", kinds }] })
  Report.print(table(yield* Kept.read("replayed")))
})

OnEngine.runMain(program)
