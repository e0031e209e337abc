/**
 * Reinforcement learning written out by hand: sample, grade, compare, train. `Rl.run` does the same with environments, failures,
 * records of every group, other paces, and credits and losses by name.
 */
import { type ChatModel, Loss, Message, Setting } from "@effect-rl/core"
import { Datum, ModelInput, type Sampling, type SamplingClient, type Weights } from "@effect-rl/core/backend"
import { Seed } from "@effect-rl/core/environments"
import { Statistics } from "@effect-rl/core/evaluation"
import { Adam, Pass, Program, Run, RunOptions } from "@effect-rl/core/program"
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as BoxedAddition from "../arithmetic/BoxedAddition.ts"
import * as SumsToAnswer from "../arithmetic/SumsToAnswer.ts"
import * as CommonSettings from "../CommonSettings.ts"
import * as Boxed from "../grading/Boxed.ts"
import * as MathEnv from "../math/MathEnv.ts"
import * as Recipe from "../Recipe.ts"

const settings = Schema.Struct({
  ...CommonSettings.fields({
    model: "effect-rl/tiny-128",
    iterations: 20,
    learningRate: 1e-3,
    maxTokens: 40,
    evalEvery: 20
  }),
  groupsPerBatch: Setting.int({ default: 16, least: 1, unit: "problems", help: "Problems in each iteration" }),
  groupSize: Setting.int({ default: 8, least: 1, unit: "attempts", help: "Answers to each problem" })
})

type Settings = typeof settings.Type

type Pair = readonly [a: number, b: number]

/** Some answers to a sum, each worth 1 where its box holds the sum and 0 otherwise. */
const answers = Effect.fnUntraced(function*(
  { renderer }: ChatModel.ChatModel,
  sampler: SamplingClient.SamplingClient,
  [a, b]: Pair,
  { groupSize, maxTokens }: Settings,
  seed: number
) {
  const prompt = yield* renderer.generationPrompt([Message.user(MathEnv.question(`What is ${a} + ${b}?`))])
  const { sequences } = yield* sampler.sample({
    prompt,
    numSamples: groupSize,
    params: { maxTokens, stop: renderer.stop, seed }
  })
  const rewardsG = yield* Effect.forEach(
    sequences,
    ({ tokens }) =>
      Effect.map(
        renderer.parse(tokens),
        ({ message }) => Option.contains(Boxed.extract(Message.text(message)), String(a + b)) ? 1 : 0
      )
  )
  return { prompt, sequences, rewardsG }
})

/** Position t of prompt ++ tokens[:-1] predicts token t + 1; the prompt's own positions have no advantage. */
const toDatum = (prompt: ModelInput.ModelInput, { logprobs, tokens }: Sampling.SampledTokens, advantage: number) => {
  const modelInput = ModelInput.append(prompt, tokens.subarray(0, -1))
  const padded = <A extends Float32Array | Int32Array>(all: A, values: ArrayLike<number>) => {
    all.set(values, prompt.length - 1)
    return all
  }
  const numbers = (values: ArrayLike<number>) => padded(new Float32Array(modelInput.length), values)
  return Datum.policyTokens(modelInput, {
    targetTokens: padded(new Int32Array(modelInput.length), tokens),
    logprobs: numbers(logprobs),
    advantages: numbers(logprobs.map(() => advantage)),
    mask: numbers(logprobs.map(() => 1))
  })
}

/** Trains on how much better each answer is than its group: one forward-backward pass and one optimizer step. */
const iterate = Effect.fnUntraced(function*(
  model: ChatModel.ChatModel,
  settings: Settings,
  weights: Weights.Weights,
  iteration: number
) {
  const { update: { adam, learningRate } } = CommonSettings.options(model, settings)
  const { client } = yield* weights.sampler
  const sumsP = BoxedAddition.pairs(iteration, settings.groupsPerBatch, settings.seed)
  const groupsP = yield* Effect.forEach(
    sumsP,
    (pair, p) => answers(model, client, pair, settings, Seed.derive(settings.seed, "RlLoop", iteration, p)),
    { concurrency: "unbounded" }
  )
  const data = groupsP.flatMap(({ prompt, rewardsG, sequences }) => {
    const baseline = Statistics.mean(rewardsG)
    const isConstant = rewardsG.every((reward) => reward === baseline)
    return isConstant
      ? []
      : Arr.zipWith(sequences, rewardsG, (sample, reward) => toDatum(prompt, sample, reward - baseline))
  })
  const rate = learningRate.at({ iteration, iterations: settings.iterations })
  const step: Program.Iteration<number> = {
    _tag: "Iteration",
    updates: Pass.ofArray(data, Loss.importanceSampling).map((pass) => Program.update([pass], Adam.params(adam, rate))),
    cursor: iteration + 1,
    report: () => ({
      reward: { mean: Statistics.mean(groupsP.map(({ rewardsG }) => Statistics.mean(rewardsG))) },
      metrics: { "optim/lr": rate, "optim/datums": data.length }
    })
  }
  return step
}, Effect.scoped)

/** @see tinker-cookbook `recipes/rl_loop.py` */
export const rlLoop = Recipe.make({
  name: "rl-loop",
  description: "The loop of reinforcement learning written out by hand, on sums; evaluated on 512 held-out problems",
  settings,
  build: (model, settings) => {
    const { groupSize, groupsPerBatch, iterations, maxTokens } = settings
    const { run, ...options } = CommonSettings.options(model, settings)
    const given = { ...options, run: { ...run, evaluators: [SumsToAnswer.evaluator(model, maxTokens)] } }
    const program = {
      name: "rl-loop",
      identity: {
        groups: groupsPerBatch,
        group_size: groupSize,
        max_tokens: maxTokens,
        learning_rate: settings.learningRate
      },
      cursor: Schema.Int,
      start: 0,
      length: iterations,
      ahead: 0,
      iterations: (from: number, weights: Weights.Weights) =>
        Stream.range(from, iterations - 1).pipe(
          Stream.mapEffect((iteration) => iterate(model, settings, weights, iteration))
        )
    }
    return SumsToAnswer.task(given, {
      run: Run.stream(program, given),
      check: Effect.asVoid(RunOptions.resolve(given)),
      dataset: BoxedAddition.dataset({ model, batches: iterations, groupsPerBatch, groupSize }),
      maxTokens
    })
  }
})
