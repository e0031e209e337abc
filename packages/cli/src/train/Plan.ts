/** What a run would use, found out by playing it against a backend that only counts. */
import { type Datum, Policy, Rollout, type Sampling, type SamplingClient, type Weights } from "@effect-rl/core"
import type { Recipe } from "@effect-rl/recipes"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"

/** Requests and the tokens they would use at most. */
export interface Use {
  readonly responses: number
  readonly prefilled: number
  readonly sampled: number
}

export interface Plan {
  readonly iterations: number
  /** Problems or examples of an iteration. */
  readonly groups: number
  /** Of each iteration, as its first batch has it. */
  readonly iteration: Use
  readonly evaluations: number
  /** Of each evaluation. */
  readonly evaluation: Use
  readonly prefilled: number
  readonly sampled: number
  /** When every group has something to learn from. */
  readonly trained: number
}

const counter = () => {
  let use: Use = { responses: 0, prefilled: 0, sampled: 0 }
  const cut: Sampling.SampledTokens = { tokens: new Int32Array(0), logprobs: new Float32Array(0), stopReason: "length" }
  const sampler: SamplingClient.SamplingClient = {
    modelPath: "plan",
    computeLogprobs: ({ length }) => Effect.succeed(new Float32Array(length)),
    sample: ({ numSamples = 1, params, prompt }) =>
      Effect.sync(() => {
        use = {
          responses: use.responses + numSamples,
          prefilled: use.prefilled + prompt.length,
          sampled: use.sampled + numSamples * params.maxTokens
        }
        return { sequences: Array.from({ length: numSamples }, () => cut) }
      })
  }
  const weights: Weights.Weights = {
    sampler: Effect.succeed({ client: sampler, step: 0 }),
    training: {
      info: { modelId: "plan", baseModel: "plan", loraRank: 0 },
      forward: (data) =>
        Effect.sync(() => {
          use = { ...use, prefilled: use.prefilled + positions(data) }
          const logprobs = data.map(({ modelInput }) => new Float32Array(modelInput.length))
          return { await: Effect.succeed({ logprobs, metrics: {} }) }
        })
    }
  }
  return { sampler, weights, use: () => use }
}

const positions = (data: ReadonlyArray<Pick<Datum.Datum<Datum.Kind>, "modelInput">>) =>
  data.reduce((sum, { modelInput }) => sum + modelInput.length, 0)

/** What the first iteration would use, and train on at most. */
interface First {
  readonly groups: number
  readonly use: Use
  readonly trained: number
}

const nothing: First = { groups: 0, use: counter().use(), trained: 0 }

const rolledOut = Effect.fnUntraced(function*<E, R>({ dataset, maxTokens, settings: { seed } }: Recipe.Task<E, R>) {
  const batch = yield* dataset.batch(0, seed)
  const { sampler, use } = counter()
  yield* Stream.runDrain(Rollout.stream(batch, Policy.fromSamplingClient(sampler, { maxTokens, seed })))
  const first: First = { groups: batch.length, use: use(), trained: use().prefilled + use().sampled }
  return first
})

const read = Effect.fnUntraced(function*<E, R>({ batch }: Recipe.Examples<E, R>, seed: number) {
  const data = yield* batch(0, seed)
  const first: First = { groups: data.length, use: counter().use(), trained: positions(data) }
  return first
})

/** With what other weights read of it, such as a reference. */
const compared = ({ groups, trained, use }: First, readers: number): First => ({
  groups,
  trained,
  use: { ...use, prefilled: use.prefilled + readers * trained }
})

const evaluationCount = (iterations: number, evalEvery: number) =>
  evalEvery === 0 ? 0 : Math.ceil(iterations / evalEvery) + 1

export const make = Effect.fnUntraced(function*<E, R>(task: Recipe.Task<E, R>) {
  const { dataset, evaluators, examples, readers = 0, settings: { evalEvery, iterations: most = Infinity, seed } } =
    task
  const iterations = Math.min(most, (examples ?? dataset).length)
  const batch = examples === undefined ? rolledOut(task) : read(examples, seed)
  const { groups, trained, use: iteration } = iterations === 0 ? nothing : compared(yield* batch, readers)
  const measured = counter()
  yield* Effect.forEach(evaluators, (evaluator) => evaluator.evaluate(measured.weights), { discard: true })
  const evaluation = measured.use()
  const evaluations = evaluators.length === 0 ? 0 : evaluationCount(iterations, evalEvery)
  const plan: Plan = {
    iterations,
    groups,
    iteration,
    evaluations,
    evaluation,
    prefilled: iterations * iteration.prefilled + evaluations * evaluation.prefilled,
    sampled: iterations * iteration.sampled + evaluations * evaluation.sampled,
    trained: iterations * trained
  }
  return plan
})

export const totalTokens = ({ prefilled, sampled, trained }: Plan): number => prefilled + sampled + trained

/** Dollars at most, at this price for a million tokens of any kind. */
export const cost = (plan: Plan, price: number): number => (totalTokens(plan) / 1e6) * price
