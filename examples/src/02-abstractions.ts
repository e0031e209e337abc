// Tutorial 05: reinforcement learning with the library's abstractions. Steps through an environment by hand, rolls out a group, looks at
// its advantages and datums, and trains for four iterations. The tiny model has only learned sums, so its reward on these word problems
// stays near 0.
import {
  Advantage,
  ChatModel,
  Hyperparameters,
  Policy,
  ProblemGroupBuilder,
  Rl,
  RLDataset,
  Rollout,
  RunRecord,
  RunStore,
  Tinker
} from "@effect-rl/core"
import { Signal, TrainingData } from "@effect-rl/core/program"
import { Engine } from "@effect-rl/engine"
import { MathEnv } from "@effect-rl/recipes"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Array, Console, Effect, Stream } from "effect"

const problems = [
  ["What is 15 * 23?", "345"],
  ["If a train travels 60 miles in 2 hours, what is its speed in mph?", "30"],
  ["A store has 48 apples. It sells 3/4 of them. How many are left?", "12"],
  ["What is 144 / 12?", "12"],
  ["A rectangle has length 8 and width 5. What is its area?", "40"],
  ["What is 7 * 8 + 6?", "62"],
  ["If you have 100 dollars and spend 37, how much do you have left?", "63"],
  ["What is 25% of 200?", "50"]
] as const

/** A group of four attempts at a problem. */
const attempts = (model: ChatModel.ChatModel, problem: string, answer: string) =>
  ProblemGroupBuilder.make({ key: problem, size: 4, env: () => MathEnv.make({ model, problem, answer }) })

/** Steps through one environment by hand. A correct response without a stop token is not well ended: 1 + 0.1·(0 − 1) = 0.9. */
export const walkThrough = Effect.fnUntraced(function*(model: ChatModel.ChatModel) {
  const env = MathEnv.make({ model, problem: "What is 2 + 3?", answer: "5" })
  const observation = yield* env.initialObservation
  if (observation._tag === "Overflow") return yield* Effect.die("a short prompt fits")
  yield* Console.log(`Question: ${env.question}\nObservation length: ${observation.input.length} tokens`)
  const step = yield* env.step({ tokens: model.tokenizer.encode("The answer is \\boxed{5}") })
  yield* Console.log(`Reward: ${step.reward}`)
  return { observationLength: observation.input.length, reward: step.reward }
})

/**
 * Rolls out a group of four, and returns its rewards, advantages, number of datums and the names of a datum's inputs. Returns undefined if
 * the group has no training signal.
 */
export const oneGroup = Effect.fnUntraced(function*(model: ChatModel.ChatModel, problem: string, answer: string) {
  const sampler = yield* Tinker.Tinker.use((tinker) => tinker.createSamplingClient({ baseModel: model.name }))
  const policy = Policy.fromSamplingClient(sampler, { maxTokens: 40, seed: 5 })
  const result = yield* Rollout.group(attempts(model, problem, answer), policy)
  const [informative] = Signal.informative([result])
  if (informative === undefined) return yield* Console.log("All four earned the same: there is nothing to learn")
  const rewards = Array.fromIterable(informative.group.rewardsG)
  const advantages = Array.fromIterable(Advantage.centered.of(informative))
  const { data: datums } = TrainingData.assemble(informative, Advantage.centered)
  const keys = datums.slice(0, 1).flatMap(({ inputs }) => Object.keys(inputs))
  yield* Console.log(`Rewards:    ${rewards.join(", ")}`)
  yield* Console.log(`Advantages: ${advantages.map((advantage) => advantage.toFixed(3)).join(", ")}`)
  yield* Console.log(`${datums.length} datums, each with ${keys.join(", ")}`)
  return { rewards, advantages, datums: datums.length, keys }
}, Effect.scoped)

/** Trains on eight problems, two per iteration, with four attempts each. Returns the learning rate. */
export const train = Effect.fnUntraced(function*(model: ChatModel.ChatModel) {
  const learningRate = yield* Hyperparameters.getLr(model.name)
  const group = ([problem, answer]: (typeof problems)[number]) => attempts(model, problem, answer)
  const dataset = RLDataset.fromArray(problems, { groupsPerBatch: 2, group })
  yield* Console.log(`Training for ${dataset.length} iterations, LR=${learningRate.toExponential(2)}`)
  yield* Rl.run({ model, dataset, sampling: { maxTokens: 40 }, update: { learningRate } }).pipe(
    Stream.filter(RunRecord.guards.Updated),
    Stream.runForEach(({ iteration, metrics, reward }) =>
      Console.log(`Iteration ${iteration}: mean_reward=${reward?.mean.toFixed(2)}, datums=${metrics["optim/datums"]}`)
    )
  )
  return learningRate
})

export const program = Effect.fnUntraced(function*(modelName: string) {
  const model = yield* ChatModel.resolve(modelName)
  yield* walkThrough(model)
  yield* oneGroup(model, "What is 15 + 23?", "38")
  yield* train(model)
})

if (import.meta.main) {
  program("effect-rl/tiny-128").pipe(
    Effect.provide([Engine.layer, RunStore.RunStore.layerMemory]),
    Effect.provide(NodeServices.layer),
    NodeRuntime.runMain
  )
}
