/** Repeats requests after the weights have changed. Whatever a server caches, its answers must come from the new weights. */
import { Loss, Tinker } from "@effect-rl/core"
import { ModelInput, type Sampling, type SamplingClient, type TrainingClient } from "@effect-rl/core/backend"
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import { RestClient } from "../../client/RestClient.ts"
import * as Check from "../Check.ts"
import * as Examples from "../Examples.ts"
import { RawRequests } from "../RawRequests.ts"
import * as StateTwins from "../StateTwins.ts"

const toleranceOf = (logprobs: ArrayLike<number>) => 0.02 + 0.006 * Math.max(...Array.from(logprobs, Math.abs))

/** The examples, repeated to this length. */
const textOf = (length: number) => Arr.makeBy(length, (at) => Examples.tokens[at % Examples.tokens.length] ?? 0)

/** Lengths below and above the page and block sizes of prompt caches. */
const lengths = [5, 33, 70, 140, 300]

const learn = Effect.fnUntraced(function*(client: TrainingClient.TrainingClient, weight: number) {
  yield* StateTwins.run(client.forwardBackward([Examples.weighted(Examples.full(weight))], Loss.crossEntropy))
  yield* StateTwins.run(client.optimStep({ learningRate: Examples.learningRate, beta1: 0 }))
})

const greedy: Sampling.SamplingParams = { maxTokens: 2, temperature: 0, stop: [] }

/** Expects the trainer and the sampler to agree on a text and on the sampler's continuation of it. */
const expectCurrent = Effect.fnUntraced(function*(
  what: string,
  trainer: TrainingClient.TrainingClient,
  sampler: SamplingClient.SamplingClient,
  length: number
) {
  const text = textOf(length)
  const prompt = ModelInput.fromTokens(text)
  const { sequences: [one] } = yield* sampler.sample({ prompt, params: greedy })
  const scored = yield* sampler.computeLogprobs(prompt)
  const { logprobs: [expected = new Float32Array()] } = yield* StateTwins.run(
    trainer.forward([Examples.ofText([...text, ...one?.tokens ?? []])], Loss.crossEntropy)
  )
  const tolerance = toleranceOf(expected)
  yield* Check.expectClose(
    `logprobs of a prompt of ${length} tokens ${what}`,
    scored.subarray(1),
    expected.subarray(0, length - 1),
    tolerance
  )
  yield* Check.expectClose(
    `logprobs of samples after ${length} tokens ${what}`,
    one?.logprobs ?? [],
    expected.subarray(length - 1),
    tolerance
  )
  return expected
})

export const prompts: Check.Check = {
  theme: "checkpoints",
  name: "prompts of every length are scored with their sampler's weights, even if other weights scored them before",
  why: "A cache that survives an update mixes an old policy into all later samples.",
  run: Effect.gen(function*() {
    const { model: baseModel } = yield* RawRequests
    const tinker = yield* Tinker.Tinker
    const { contextLength } = yield* tinker.capabilities(baseModel)
    const fitting = lengths.filter((length) => length + 2 < contextLength)
    const client = yield* tinker.createLoraTrainingClient({ baseModel, loraRank: 8, seed: 1 })
    let before: ReadonlyArray<Float32Array> = []
    const expectAll = Effect.fnUntraced(function*(what: string, sampler: SamplingClient.SamplingClient) {
      const now = yield* Effect.forEach(fitting, (length) => expectCurrent(what, client, sampler, length))
      return now
    })
    const expectChanged = (what: string, now: ReadonlyArray<Float32Array>) => {
      const isSame = before.some((logprobs, at) => {
        const common = Math.min(logprobs.length, fitting[at] ?? 0) - 1
        const [left, right] = [logprobs.subarray(0, common), now[at]?.subarray(0, common) ?? []]
        return Check.distance(left, right) < toleranceOf(left)
      })
      before = now
      return Check.expect(!isSame, `other log-probabilities ${what}`, "the same")
    }
    yield* expectChanged(
      "of a new model",
      yield* expectAll("of a new model", yield* client.saveWeightsAndGetSamplingClient)
    )
    const { path } = yield* StateTwins.run(client.saveState("certify-cache"))
    yield* learn(client, 1)
    const snapshot = yield* client.saveWeightsAndGetSamplingClient
    yield* expectChanged("after a step", yield* expectAll("after a step", snapshot))
    yield* learn(client, -2)
    const weights = yield* StateTwins.run(client.saveWeightsForSampler("certify-cache"))
    const named = yield* tinker.createSamplingClient({ modelPath: weights.path })
    yield* expectChanged("of saved weights", yield* expectAll("of saved weights", named))
    yield* StateTwins.run(client.loadState(path))
    const loaded = yield* client.saveWeightsAndGetSamplingClient
    yield* expectChanged("of a loaded state", yield* expectAll("of a loaded state", loaded))
  })
}

export const names: Check.Check = {
  theme: "checkpoints",
  name: "a checkpoint that is used, deleted and saved again under the same name has its new weights everywhere",
  why: "A run with one rolling checkpoint would be evaluated and resumed with old weights.",
  run: Effect.gen(function*() {
    const { model: baseModel } = yield* RawRequests
    const tinker = yield* Tinker.Tinker
    const rest = yield* RestClient
    const client = yield* tinker.createLoraTrainingClient({ baseModel, loraRank: 8, seed: 1 })
    for (const [round, weight] of [1, -2, 1].entries()) {
      yield* learn(client, weight)
      const expected = yield* StateTwins.logprobsOf(client)
      const state = yield* StateTwins.run(client.saveState("certify-rolling"))
      const weights = yield* StateTwins.run(client.saveWeightsForSampler("certify-rolling"))
      yield* Effect.scoped(Effect.gen(function*() {
        const sampler = yield* tinker.createSamplingClient({ modelPath: weights.path })
        const text = ModelInput.append(Examples.input, Examples.targetTokens.subarray(-1))
        const scored = yield* sampler.computeLogprobs(text)
        const what = `save ${round + 1}`
        yield* Check.expectClose(`logprobs of weights ${what}`, scored.subarray(1), expected, toleranceOf(expected))
        const made = yield* tinker.createTrainingClientFromState(state.path)
        const found = yield* StateTwins.logprobsOf(made)
        yield* Check.expectClose(`logprobs of state ${what}`, found, expected, toleranceOf(expected))
      }))
      yield* rest.deleteCheckpoint(state.path)
      yield* rest.deleteCheckpoint(weights.path)
    }
  })
}

export const passes: Check.Check = {
  theme: "training",
  name: "a pass over the same data after a step has the new weights' log-probabilities, at any length",
  why: "With cached log-probabilities all importance ratios would be 1, and clipping would never act.",
  run: Effect.gen(function*() {
    const { model: baseModel } = yield* RawRequests
    const tinker = yield* Tinker.Tinker
    const { contextLength } = yield* tinker.capabilities(baseModel)
    const client = yield* tinker.createLoraTrainingClient({ baseModel, loraRank: 8, seed: 1 })
    const fitting = lengths.filter((length) => length < contextLength)
    const ask = Effect.forEach(fitting, (length) =>
      Effect.map(
        StateTwins.run(client.forward([Examples.ofText(textOf(length))], Loss.crossEntropy)),
        ({ logprobs: [found = new Float32Array()] }) => found
      ))
    const [before, again] = [yield* ask, yield* ask]
    yield* learn(client, 1)
    const after = yield* ask
    for (const [at, length] of fitting.entries()) {
      const [old = new Float32Array(), same = [], now = []] = [before[at], again[at], after[at]]
      yield* Check.expectClose(`logprobs of ${length} tokens again`, same, old, toleranceOf(old))
      yield* Check.expect(
        Check.distance(old, now) > toleranceOf(old),
        `others of ${length} tokens after a step`,
        "the same"
      )
    }
  })
}

export const all = [prompts, names, passes]
