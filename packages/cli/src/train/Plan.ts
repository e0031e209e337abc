/** Estimates a run's tokens and dollars by running it on a backend that only counts. */
import { Policy, Rollout } from "@effect-rl/core"
import { type Datum, Metering, type Sampling, type SamplingClient, Usage, type Weights } from "@effect-rl/core/backend"
import { Caps, Prices } from "@effect-rl/core/program"
import { Spent } from "@effect-rl/core/records"
import type { Recipe } from "@effect-rl/recipes"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"

/** The most responses and tokens that a run can use. */
export interface Use {
  readonly responses: number
  /** Tokens of the trained weights. */
  readonly own: Spent.Spent
  /** Tokens of other weights: references, teachers, judges. */
  readonly others: Spent.Spent
}

export interface Plan {
  readonly iterations: number
  /** Problems or examples per batch. */
  readonly groups: number
  /** Use of an iteration that samples one batch, measured on the first batch. */
  readonly iteration: Use
  /** The most batches that an iteration samples, if groups without a signal are replaced. */
  readonly batches: number
  readonly evaluations: number
  /** The use of one evaluation. */
  readonly evaluation: Use
  /** Use of the whole run; without dollars if the trained weights have no known price. */
  readonly total: Use
}

const nothing: Use = { responses: 0, own: Spent.zero, others: Spent.zero }

const add = (left: Use, right: Use): Use => ({
  responses: left.responses + right.responses,
  own: Spent.add(left.own, right.own),
  others: Spent.add(left.others, right.others)
})

const times = (use: Use, count: number): Use => ({
  responses: use.responses * count,
  own: Spent.times(use.own, count),
  others: Spent.times(use.others, count)
})

const positions = (data: ReadonlyArray<Pick<Datum.Datum<Datum.Kind>, "modelInput">>) =>
  data.reduce((sum, { modelInput }) => sum + modelInput.length, 0)

/** A client that counts requests and returns empty answers. */
const silent = (count: (asked: Usage.Usage, responses: number) => void): SamplingClient.SamplingClient => {
  const cut: Sampling.SampledTokens = { tokens: new Int32Array(0), logprobs: new Float32Array(0), stopReason: "length" }
  return {
    modelPath: "plan",
    computeLogprobs: ({ length }) =>
      Effect.sync(() => {
        count({ ...Usage.zero, prefilled: length }, 0)
        return new Float32Array(length)
      }),
    sample: ({ numSamples = 1, params, prompt }) =>
      Effect.sync(() => {
        count({ prefilled: prompt.length, sampled: numSamples * params.maxTokens, trained: 0 }, numSamples)
        return { sequences: Array.from({ length: numSamples }, () => cut) }
      })
  }
}

const counter = () => {
  let use = nothing
  const own = (asked: Usage.Usage, responses: number) => {
    use = add(use, { ...nothing, responses, own: { ...Spent.zero, ...asked } })
  }
  const others = (asked: Partial<Spent.Spent>) => {
    use = add(use, { ...nothing, others: { ...Spent.zero, ...asked } })
  }
  const sampler = silent(own)
  const weights: Weights.Weights = {
    sampler: Effect.succeed({ client: sampler, step: 0 }),
    training: {
      info: { modelId: "plan", baseModel: "plan", loraRank: 0 },
      forward: (data) =>
        Effect.sync(() => {
          own({ ...Usage.zero, prefilled: positions(data) }, 0)
          const logprobs = data.map(({ modelInput }) => new Float32Array(modelInput.length))
          return { await: Effect.succeed({ logprobs, metrics: {} }) }
        }),
      saveWeightsForSampler: () => Effect.succeed({ await: Effect.succeed({ path: "plan" }) })
    }
  }
  const metering: Metering.Metering = {
    meter: () => silent(others),
    count: (_, asked) => Effect.sync(() => others({ ...asked, cached: 0, judgeCalls: asked?.judgeCalls ?? 0 })),
    asks: true,
    judge: (verdict, neutral) =>
      Effect.suspend(() => {
        others({ judgeCalls: 1 })
        const unasked = Effect.provideService(verdict, Metering.Metering, { ...metering, asks: false })
        return Effect.orElseSucceed(unasked, () => neutral)
      })
  }
  return { sampler, weights, metering, use: () => use }
}

/** The use of the first iteration. */
interface First {
  readonly groups: number
  /** The use by sampling. `trained` is the use by training. */
  readonly sampled: Use
  readonly trained: Use
}

const trainedOn = (tokens: number): Use => ({ ...nothing, own: { ...Spent.zero, trained: tokens } })

const rolledOut = Effect.fnUntraced(function*<E, R>({ dataset, maxTokens, settings: { seed } }: Recipe.Task<E, R>) {
  const batch = yield* dataset.batch(0, seed)
  const { metering, sampler, use } = counter()
  yield* Rollout.stream(batch, Policy.fromSamplingClient(sampler, { maxTokens, seed })).pipe(
    Stream.runDrain,
    Effect.provideService(Metering.Metering, metering)
  )
  const { prefilled, sampled } = use().own
  const first: First = { groups: batch.length, sampled: use(), trained: trainedOn(prefilled + sampled) }
  return first
})

const read = Effect.fnUntraced(function*<E, R>({ batch }: Recipe.Examples<E, R>, seed: number) {
  const data = yield* batch(0, seed)
  const first: First = { groups: data.length, sampled: nothing, trained: trainedOn(positions(data)) }
  return first
})

/** The training positions that other weights, such as a reference, also compute. */
const compared = ({ own: { trained } }: Use, readers: number): Use => ({
  ...nothing,
  others: { ...Spent.zero, prefilled: readers * trained }
})

const evaluationCount = (iterations: number, evalEvery: number) =>
  evalEvery === 0 ? 0 : Math.ceil(iterations / evalEvery) + 1

const measured = Effect.fnUntraced(function*<E, R>({ evaluators }: Recipe.Task<E, R>) {
  const { metering, use, weights } = counter()
  yield* Effect.forEach(evaluators, (evaluator) => evaluator.evaluate(weights), { discard: true }).pipe(
    Effect.provideService(Metering.Metering, metering)
  )
  return use()
})

/** Adds dollars to the use if its model has a price. */
const priced = (use: Use, price: Prices.Price | undefined): Use => {
  const { dollars: _, ...own } = use.own
  const dollars = Prices.cost(price, own)
  return { ...use, own: dollars === undefined ? own : { ...own, dollars } }
}

const nothingFirst: First = { groups: 0, sampled: nothing, trained: nothing }

/** Plans a task. An iteration that replaces groups samples more batches, and may train on fewer or more groups than one batch has. */
export const make = Effect.fnUntraced(function*<E, R>(task: Recipe.Task<E, R>) {
  const { dataset, evaluators, examples, model, readers = 0, replacing = Effect.undefined, settings } = task
  const { evalEvery, iterations: most = Infinity, seed } = settings
  const prices = yield* Prices.Prices
  const { length } = examples ?? dataset
  const iterations = Math.min(most, length)
  const first = examples === undefined ? rolledOut(task) : read(examples, seed)
  const { groups, sampled, trained: whole } = iterations === 0 ? nothingFirst : yield* first
  const { batches = 1, trained: groupsTrained = groups } = (yield* replacing) ?? {}
  const trained = times(
    add(whole, compared(whole, readers)),
    groups === 0 ? 0 : Math.min(groupsTrained / groups, batches)
  )
  const evaluation = yield* measured(task)
  const evaluations = evaluators.length === 0 ? 0 : evaluationCount(iterations, evalEvery)
  const mostBatches = iterations === 0 ? 0 : Math.min(iterations * batches, length)
  const training = add(times(sampled, mostBatches), times(trained, iterations))
  const total = add(training, times(evaluation, evaluations))
  const plan: Plan = {
    iterations,
    groups,
    iteration: add(sampled, trained),
    batches,
    evaluations,
    evaluation,
    total: priced(total, prices[model.name])
  }
  return plan
})

/** The run's use over all weights; only the trained weights have dollars. */
export const all = ({ total: { others, own } }: Plan): Spent.Spent => {
  const { dollars: _, ...sum } = Spent.add(own, others)
  return own.dollars === undefined ? sum : { ...sum, dollars: own.dollars }
}

/** The limits that the plan exceeds. */
export const exceeded = (plan: Plan, limits: Caps.Amounts): ReadonlyArray<Caps.Name> => {
  const amounts = Caps.amounts(all(plan))
  return Caps.names.filter((name) => amounts[name] > limits[name])
}
