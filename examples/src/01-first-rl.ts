// Tutorial 04: reinforcement learning by hand, with clients only. Sample eight answers to each sum, grade them, and train on how much
// better each one is than its group.
import { ChatModel, Loss, Message, Tinker } from "@effect-rl/core"
import { Datum, ModelInput, type Sampling } from "@effect-rl/core/backend"
import { Seed } from "@effect-rl/core/environments"
import { RewardCurve } from "@effect-rl/core/records"
import { Engine } from "@effect-rl/engine"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Array, Console, Effect } from "effect"

const steps = 10
const problemsPerStep = 16
const groupSize = 8

/** The sums of one step, drawn from the step's seed. */
const batch = (step: number) => {
  const next = Seed.uniform(Seed.derive(4, step))
  return Array.makeBy(problemsPerStep, () => {
    const [a, b] = [Math.floor(next() * 100), Math.floor(next() * 100)]
    return { question: `What is ${a} + ${b}? Write your answer in \\boxed{} format.`, answer: String(a + b) }
  })
}

/** The reward: 1 if the content of the last box, without commas and surrounding space, equals the answer; otherwise 0. */
const grade = (text: string, answer: string) => {
  const boxed = [...text.matchAll(/\\boxed\{([^}]+)\}/g)].at(-1)?.[1]
  return boxed?.replaceAll(",", "").trim() === answer ? 1 : 0
}

/** Position t of prompt ++ tokens[:-1] predicts token t + 1. Positions before the last prompt token have advantage and mask 0. */
const toDatum = (prompt: ModelInput.ModelInput, sample: Sampling.SampledTokens, advantage: number) => {
  const modelInput = ModelInput.append(prompt, sample.tokens.subarray(0, -1))
  const start = prompt.length - 1
  const padded = (values: ArrayLike<number>) => {
    const all = new Float32Array(modelInput.length)
    all.set(values, start)
    return all
  }
  const targetTokens = new Int32Array(modelInput.length)
  targetTokens.set(sample.tokens, start)
  return Datum.policyTokens(modelInput, {
    targetTokens,
    logprobs: padded(sample.logprobs),
    advantages: padded(sample.logprobs.map(() => advantage)),
    mask: padded(sample.logprobs.map(() => 1))
  })
}

export const program = Effect.gen(function*() {
  const tinker = yield* Tinker.Tinker
  const { name, renderer } = yield* ChatModel.resolve("effect-rl/tiny-128")
  const training = yield* tinker.createLoraTrainingClient({ baseModel: name, loraRank: 32, seed: 4 })
  const curve: Array<RewardCurve.Report> = []

  for (let step = 0; step < steps; step++) {
    const stepped = yield* Effect.gen(function*() {
      const sampler = yield* training.saveWeightsAndGetSamplingClient
      return yield* Effect.forEach(
        batch(step),
        Effect.fnUntraced(function*({ answer, question }, index) {
          const prompt = yield* renderer.generationPrompt([Message.user(question)])
          const { sequences } = yield* sampler.sample({
            prompt,
            numSamples: groupSize,
            params: { maxTokens: 40, stop: renderer.stop, seed: Seed.derive(4, step, index) }
          })
          const rewardsG = yield* Effect.forEach(
            sequences,
            ({ tokens }) => Effect.map(renderer.parse(tokens), ({ message }) => grade(Message.text(message), answer))
          )
          const meanReward = rewardsG.reduce((sum: number, reward) => sum + reward, 0) / groupSize
          const degenerate = rewardsG.every((reward) => reward === meanReward)
          const datums = degenerate ?
            [] :
            Array.zipWith(sequences, rewardsG, (sample, reward) => toDatum(prompt, sample, reward - meanReward))
          return { meanReward, degenerate, datums }
        }),
        { concurrency: "unbounded" }
      )
    }).pipe(Effect.scoped)

    const data = stepped.flatMap(({ datums }) => datums)
    if (Array.isArrayNonEmpty(data)) {
      const pass = yield* training.forwardBackward(data, Loss.importanceSampling)
      const update = yield* training.optimStep({ learningRate: 1e-3, beta1: 0.9, beta2: 0.95 })
      yield* pass.await
      yield* update.await
    }

    const reward = stepped.reduce((sum, { meanReward }) => sum + meanReward, 0) / problemsPerStep
    const share = stepped.filter(({ degenerate }) => degenerate).length / problemsPerStep
    curve.push({ iteration: step, reward })
    yield* Console.log(
      `Step ${String(step).padStart(2)} | reward: ${reward.toFixed(3)} | degenerate: ${Math.round(100 * share)}% | ` +
        `datums: ${data.length}`
    )
  }
  yield* Console.log(RewardCurve.text(curve, { width: 60, height: 12 }))
  return curve
}).pipe(Effect.scoped)

if (import.meta.main) {
  program.pipe(Effect.provide(Engine.layer), Effect.provide(NodeServices.layer), NodeRuntime.runMain)
}
