/**
 * How an agent that exists already learns: one question to the `openai` client, whose request is the only turn. Every problem is asked once,
 * so that the rewards of the last iterations are those of problems that were never trained on. Prints Markdown.
 */
import { AgentEnv } from "@effect-rl/agent"
import { Advantage, ChatModel, Credit, EnvGroupBuilder, Rl, RLDataset, RunRecord, RunStore } from "@effect-rl/core"
import { Statistics } from "@effect-rl/core/evaluation"
import { Clock, Console, Effect, Stream } from "effect"
import OpenAI from "openai"
import * as Controls from "../learning/Controls.ts"
import * as OnEngine from "../OnEngine.ts"

const problems = Array.from(
  { length: 400 },
  (_, index) => [index % 100, (index * 7 + Math.floor(index / 100)) % 100] as const
)

const ends = 3

interface Trained {
  readonly first: number
  readonly last: number
  readonly seconds: number
}

const train = Effect.fnUntraced(
  function*(seed: number, learningRate: number, credit: Credit.Credit) {
    const model = yield* ChatModel.resolve("effect-rl/tiny-128")
    const member = (a: number, b: number) =>
      AgentEnv.make({
        model,
        run: async ({ apiKey, baseUrl, fetch }) => {
          const client = new OpenAI({ apiKey, baseURL: baseUrl, fetch })
          const { choices } = await client.chat.completions.create({
            model: model.name,
            messages: [{ role: "user", content: `What is ${a} + ${b}?` }]
          })
          return choices[0]?.message.content?.endsWith(String(a + b)) === true ? 1 : 0
        }
      })
    const dataset = RLDataset.fromArray(problems, {
      groupsPerBatch: 16,
      shuffle: true,
      group: ([a, b]) => EnvGroupBuilder.make({ key: `${a} + ${b}`, size: 8, makeEnv: () => member(a, b) })
    })
    const began = yield* Clock.currentTimeMillis
    const rewards = yield* Rl.run({
      model,
      dataset,
      sampling: { maxTokens: 40 },
      update: { learningRate, credit },
      run: { seed }
    }).pipe(
      Stream.filter(RunRecord.guards.Updated),
      Stream.map(({ reward }) => reward?.mean ?? NaN),
      Stream.runCollect
    )
    const trained: Trained = {
      first: Statistics.mean(rewards.slice(0, ends)),
      last: Statistics.mean(rewards.slice(-ends)),
      seconds: ((yield* Clock.currentTimeMillis) - began) / 1000
    }
    return trained
  },
  Effect.scoped,
  Effect.provide(RunStore.RunStore.layerMemory, { local: true })
)

const centered = Credit.groupRelative(Advantage.centered)

const rows: ReadonlyArray<readonly [name: string, learningRate: number, credit: (seed: number) => Credit.Credit]> = [
  ["trained", 1e-3, () => centered],
  ["learning rate 0", 0, () => centered],
  ["rewards shuffled in each group", 1e-3, (seed) => Controls.shuffled(seed)(centered)]
]

const program = Effect.gen(function*() {
  yield* Console.log(`| run | seed | first ${ends} iterations | last ${ends} | seconds |`)
  yield* Console.log("| --- | ---: | ---: | ---: | ---: |")
  for (const [name, learningRate, credit] of rows) {
    for (const seed of [0, 1, 2]) {
      const { first, last, seconds } = yield* train(seed, learningRate, credit(seed))
      yield* Console.log(`| ${name} | ${seed} | ${first.toFixed(3)} | ${last.toFixed(3)} | ${seconds.toFixed(0)} |`)
    }
  }
})

OnEngine.runMain(program)
