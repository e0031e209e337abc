/** What a run would use, found out by playing it against a sampler that only counts. */
import { Policy, Rollout, type Sampling, type SamplingClient } from "@effect-rl/core"
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
  readonly steps: number
  readonly groups: number
  /** Of each step, as its first batch has it. */
  readonly step: Use
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

const evaluationCount = (steps: number, evalEvery: number) => evalEvery === 0 ? 0 : Math.ceil(steps / evalEvery) + 1

export const make = Effect.fnUntraced(function*({ config }: Recipe.Task) {
  const { dataset, evalEvery = 20, evaluators = [], maxTokens, seed = 0 } = config
  const steps = Math.min(config.maxSteps ?? Infinity, dataset.length)
  const batch = steps === 0 ? [] : yield* dataset.batch(0, seed)
  const rollouts = counter()
  yield* Stream.runDrain(Rollout.stream(batch, Policy.fromSamplingClient(rollouts.sampler, { maxTokens, seed })))
  const measured = counter()
  yield* Effect.forEach(evaluators, (evaluator) => evaluator.evaluate(measured.sampler), { discard: true })
  const [step, evaluation] = [rollouts.use(), measured.use()]
  const evaluations = evaluators.length === 0 ? 0 : evaluationCount(steps, evalEvery)
  const plan: Plan = {
    steps,
    groups: batch.length,
    step,
    evaluations,
    evaluation,
    prefilled: steps * step.prefilled + evaluations * evaluation.prefilled,
    sampled: steps * step.sampled + evaluations * evaluation.sampled,
    trained: steps * (step.prefilled + step.sampled)
  }
  return plan
})

export const totalTokens = ({ prefilled, sampled, trained }: Plan): number => prefilled + sampled + trained

/** Dollars at most, at this price for a million tokens of any kind. */
export const cost = (plan: Plan, price: number): number => (totalTokens(plan) / 1e6) * price
