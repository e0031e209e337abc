/**
 * Trains any agent that answers questions about sums. The agent gets a session, which tells it where its model is, and returns its answer.
 */
import { AgentEnv } from "@effect-rl/agent"
import { ChatModel, EnvGroupBuilder, Rl, RLDataset, RunRecord, RunStore } from "@effect-rl/core"
import { Engine } from "@effect-rl/engine"
import { Calculation, CalculatorEnv } from "@effect-rl/recipes"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Console, Effect, Stream } from "effect"

/** An agent: a function that returns its answer, or undefined if it has none. */
export type Answer = (session: AgentEnv.Session, model: string, question: string) => Promise<string | undefined>

const train = Effect.fnUntraced(function*(answer: Answer) {
  const model = yield* ChatModel.resolve("effect-rl/tiny-tasks")
  const member = ({ answer: right, expression }: Calculation.Calculation) =>
    AgentEnv.make({
      model,
      run: async (session) => {
        const said = await answer(session, model.name, CalculatorEnv.question(expression))
        return said?.match(/-?\d+/g)?.at(-1) === right ? 1 : 0
      }
    })
  const dataset = RLDataset.fromArray(Calculation.batch(0, 160, "short", 1), {
    groupsPerBatch: 16,
    group: (task) => EnvGroupBuilder.make({ key: task.expression, size: 8, makeEnv: () => member(task) })
  })
  yield* Rl.run({ model, dataset, sampling: { maxTokens: 48 }, update: { learningRate: 1e-3 } }).pipe(
    Stream.filter(RunRecord.guards.Updated),
    Stream.runForEach(({ iteration, reward }) =>
      Console.log(`iteration ${iteration + 1}: reward ${reward?.mean.toFixed(2)}`)
    )
  )
})

/** Trains the agent on the embedded engine, and prints the mean reward of each iteration. */
export const runMain = (answer: Answer) =>
  train(answer).pipe(
    Effect.provide([Engine.layer, RunStore.RunStore.layerMemory]),
    Effect.provide(NodeServices.layer),
    NodeRuntime.runMain
  )
