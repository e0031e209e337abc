/** What a run would use, found out by playing it against a sampler that only counts. */
import { Policy, Rollout, type Sampling, type SamplingClient, Weights } from "@effect-rl/core"
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
  return { sampler, use: () => use }
}

const evaluationCount = (iterations: number, evalEvery: number) =>
  evalEvery === 0 ? 0 : Math.ceil(iterations / evalEvery) + 1

export const make = Effect.fnUntraced(function*<E, R>({ dataset, evaluators, maxTokens, settings }: Recipe.Task<E, R>) {
  const { evalEvery, seed } = settings
  const iterations = Math.min(settings.iterations ?? Infinity, dataset.length)
  const batch = iterations === 0 ? [] : yield* dataset.batch(0, seed)
  const rollouts = counter()
  yield* Stream.runDrain(Rollout.stream(batch, Policy.fromSamplingClient(rollouts.sampler, { maxTokens, seed })))
  const measured = counter()
  const weights = Weights.fromSamplingClient(measured.sampler)
  yield* Effect.forEach(evaluators, (evaluator) => evaluator.evaluate(weights), { discard: true })
  const [iteration, evaluation] = [rollouts.use(), measured.use()]
  const evaluations = evaluators.length === 0 ? 0 : evaluationCount(iterations, evalEvery)
  const plan: Plan = {
    iterations,
    groups: batch.length,
    iteration,
    evaluations,
    evaluation,
    prefilled: iterations * iteration.prefilled + evaluations * evaluation.prefilled,
    sampled: iterations * iteration.sampled + evaluations * evaluation.sampled,
    trained: iterations * (iteration.prefilled + iteration.sampled)
  }
  return plan
})

export const totalTokens = ({ prefilled, sampled, trained }: Plan): number => prefilled + sampled + trained

/** Dollars at most, at this price for a million tokens of any kind. */
export const cost = (plan: Plan, price: number): number => (totalTokens(plan) / 1e6) * price
