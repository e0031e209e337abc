/** Trains the agent without changing it. Its requests are the turns of an episode; the reward is 1 if its answer is right. */
import { AgentEnv } from "@effect-rl/agent"
import { type ChatModel, EnvGroupBuilder, RLDataset } from "@effect-rl/core"
import { Recipe, TrainingSettings } from "@effect-rl/recipes"
import { Schema } from "effect"
import OpenAI from "openai"
import { answer } from "./agent.ts"

const sums = Array.from({ length: 400 }, (_, i) => [i % 100, (i * 7) % 100] as const)

/** One episode: the agent runs once, with a client that talks to the model in training. */
const episode = (model: ChatModel.ChatModel, a: number, b: number) =>
  AgentEnv.make({
    model,
    limits: { maxTurns: 2 },
    run: async ({ apiKey, baseUrl, fetch }) => {
      const client = new OpenAI({ apiKey, baseURL: baseUrl, fetch })
      const said = await answer({ client, model: model.name }, `What is ${a} + ${b}?`)
      return said.match(/\d+/g)?.at(-1) === `${a + b}` ? 1 : 0
    }
  })

interface Batches {
  readonly groupsPerBatch: number
  readonly groupSize: number
}

export const dataset = (model: ChatModel.ChatModel, { groupSize, groupsPerBatch }: Batches) =>
  RLDataset.fromArray(sums, {
    groupsPerBatch,
    group: ([a, b]) =>
      EnvGroupBuilder.make({ key: `${a} + ${b}`, size: groupSize, makeEnv: () => episode(model, a, b) })
  })

/** Every setting is also a flag of `effect-rl train ./src/task.ts`. */
export default Recipe.make({
  name: "task",
  description: "An agent that adds two numbers",
  settings: Schema.Struct(TrainingSettings.fields({
    model: "effect-rl/tiny-128",
    iterations: 20,
    groupsPerBatch: 16,
    groupSize: 8,
    learningRate: 1e-3,
    maxTokens: 40,
    evalEvery: 0
  })),
  build: (model, settings) =>
    Recipe.task({
      turns: 2,
      options: { ...TrainingSettings.options(model, settings), dataset: dataset(model, settings) }
    })
})
