// An agent that exists already, a loop over the `openai` client with a calculator as its tool, is trained as it is: its requests are the
// turns of an episode, and what is said of its answer is the reward.
import { AgentEnv } from "@effect-rl/agent"
import { ChatModel, EnvGroupBuilder, Rl, RLDataset, RunRecord, RunStore } from "@effect-rl/core"
import { Engine } from "@effect-rl/engine"
import { Calculation, CalculatorEnv } from "@effect-rl/recipes"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Console, Effect, Stream } from "effect"
import OpenAI from "openai"
import { calculate, tools } from "./calculator.ts"

/** It knows nothing of training. */
const agent = async (client: OpenAI, model: string, question: string) => {
  const messages: Array<OpenAI.ChatCompletionMessageParam> = [{ role: "user", content: question }]
  for (let turn = 0; turn < 3; turn++) {
    const { choices: [choice] } = await client.chat.completions.create({ model, messages, tools })
    if (choice === undefined || (choice.message.tool_calls ?? []).length === 0) return choice?.message.content
    messages.push(choice.message)
    for (const call of choice.message.tool_calls ?? []) {
      messages.push({ role: "tool", tool_call_id: call.id, content: calculate(call) })
    }
  }
  return undefined
}

export const program = Effect.gen(function*() {
  const model = yield* ChatModel.resolve("effect-rl/tiny-128")
  const member = ({ answer, expression }: Calculation.Calculation) =>
    AgentEnv.make({
      model,
      run: async ({ apiKey, baseUrl, fetch }) => {
        const client = new OpenAI({ apiKey, baseURL: baseUrl, fetch })
        return (await agent(client, model.name, CalculatorEnv.question(expression)))?.trim() === answer ? 1 : 0
      }
    })
  const dataset = RLDataset.fromArray(Calculation.batch(0, 240, "short", 1), {
    groupsPerBatch: 12,
    group: (task) => EnvGroupBuilder.make({ key: task.expression, size: 8, makeEnv: () => member(task) })
  })
  return yield* Rl.run({ model, dataset, sampling: { maxTokens: 64 }, update: { learningRate: 1e-3 } }).pipe(
    Stream.filter(RunRecord.guards.Updated),
    Stream.tap(({ iteration, reward }) => Console.log(`iteration ${iteration}: reward ${reward?.mean.toFixed(2)}`)),
    Stream.runCollect
  )
})

if (import.meta.main) {
  program.pipe(
    Effect.provide([Engine.layer, RunStore.RunStore.layerMemory]),
    Effect.provide(NodeServices.layer),
    NodeRuntime.runMain
  )
}
