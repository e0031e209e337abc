// Tutorial 05: the same with the library's own pieces. An environment is walked through by hand, then a group is rolled out,
// its advantages and datums looked at, and at last four iterations are trained. The tiny model has learned sums alone: on these
// word problems it stays near 0.
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
import { Abstractions, MathEnv } from "@effect-rl/recipes"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Array, Console, Effect, Stream } from "effect"

/** One environment by hand: a response without a stop token is right but not well ended, 1 + 0.1·(0 − 1) = 0.9. */
export const walkThrough = Effect.fnUntraced(function*(model: ChatModel.ChatModel) {
  const env = MathEnv.make({ model, problem: "What is 2 + 3?", answer: "5" })
  const observation = yield* env.initialObservation
  if (observation._tag === "Overflow") return yield* Effect.die("a short prompt fits")
  yield* Console.log(`Observation length: ${observation.input.length} tokens`)
  yield* Console.log(`Question: ${env.question}`)
  const step = yield* env.step({ tokens: model.tokenizer.encode("The answer is \\boxed{5}") })
  yield* Console.log(`Reward: ${step.reward}`)
  return { observationLength: observation.input.length, reward: step.reward }
})

/** One group of four: rewards, advantages, datums. */
export const oneGroup = Effect.fnUntraced(function*(model: ChatModel.ChatModel, problem: string, answer: string) {
  const tinker = yield* Tinker.Tinker
  const sampler = yield* tinker.createSamplingClient({ baseModel: model.name })
  const policy = Policy.fromSamplingClient(sampler, { maxTokens: 40, seed: 5 })
  const group = ProblemGroupBuilder.make({ key: problem, size: 4, env: () => MathEnv.make({ model, problem, answer }) })
  const result = yield* Rollout.group(group, policy)
  const [informative] = Signal.informative([result])
  if (informative === undefined) {
    yield* Console.log("All four earned the same: there is nothing to learn from this group")
    return undefined
  }
  const rewards = Array.fromIterable(informative.group.rewardsG)
  const advantages = Array.fromIterable(Advantage.centered.of(informative))
  const { data: datums } = TrainingData.assemble(informative, Advantage.centered)
  const [datum] = datums
  const keys = datum === undefined ? [] : Object.keys(datum.inputs)
  yield* Console.log(`Rewards:    ${rewards.join(", ")}`)
  yield* Console.log(`Advantages: ${advantages.map((advantage) => advantage.toFixed(3)).join(", ")}`)
  yield* Console.log(`${datums.length} datums, each with ${keys.join(", ")}`)
  return { rewards, advantages, datums: datums.length, keys }
}, Effect.scoped)

/** Eight problems, two an iteration, four attempts each. */
export const train = Effect.fnUntraced(function*(model: ChatModel.ChatModel) {
  const learningRate = yield* Hyperparameters.getLr(model.name)
  const dataset = RLDataset.fromArray(Abstractions.problems, {
    groupsPerBatch: 2,
    group: ({ answer, problem }, index) =>
      ProblemGroupBuilder.make({
        key: `tutorial/${index}`,
        size: 4,
        env: () => MathEnv.make({ model, problem, answer })
      })
  })
  yield* Console.log(`Training for ${dataset.length} iterations, LR=${learningRate.toExponential(2)}`)
  yield* Rl.run({ model, dataset, sampling: { maxTokens: 40 }, update: { learningRate } }).pipe(
    Stream.filter(RunRecord.guards.Updated),
    Stream.runForEach(({ iteration, metrics, reward }) =>
      Console.log(
        `Iteration ${iteration}: mean_reward=${reward?.mean.toFixed(2)}, datums=${metrics["optim/datums"]}`
      )
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
