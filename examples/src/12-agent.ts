// Trains an existing agent, a loop over the `openai` client, without changing it. Its requests are the turns of an episode, and the
// correctness of its answer is the reward.
import { AgentEnv } from "@effect-rl/agent"
import { ChatModel, EnvGroupBuilder, Rl, RLDataset, RunRecord, RunStore } from "@effect-rl/core"
import { Engine } from "@effect-rl/engine"
import { Calculation, CalculatorEnv } from "@effect-rl/recipes"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Console, Effect, Stream } from "effect"
import OpenAI from "openai"
import * as OpenAiAgent from "../agents/openai.ts"

export const program = Effect.gen(function*() {
  const model = yield* ChatModel.resolve("effect-rl/tiny-tasks")
  const member = ({ answer, expression }: Calculation.Calculation) =>
    AgentEnv.make({
      model,
      run: async ({ apiKey, baseUrl, fetch }) => {
        const client = new OpenAI({ apiKey, baseURL: baseUrl, fetch })
        const said = await OpenAiAgent.answer(client, model.name, CalculatorEnv.question(expression))
        return said?.match(/-?\d+/g)?.at(-1) === answer ? 1 : 0
      }
    })
  const dataset = RLDataset.fromArray(Calculation.batch(0, 160, "short", 1), {
    groupsPerBatch: 16,
    group: (task) => EnvGroupBuilder.make({ key: task.expression, size: 8, makeEnv: () => member(task) })
  })
  return yield* Rl.run({ model, dataset, sampling: { maxTokens: 48 }, update: { learningRate: 1e-3 } }).pipe(
    Stream.filter(RunRecord.guards.Updated),
    Stream.tap(({ iteration, reward }) => Console.log(`iteration ${iteration + 1}: reward ${reward?.mean.toFixed(2)}`)),
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
