import { Loss, Tinker } from "@effect-rl/core"
import { Datum, ModelInput, type Sampling } from "@effect-rl/core/backend"
import { Script, ScriptedTinker, TestTokenizer } from "@effect-rl/core/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"

const tokenizer = TestTokenizer.words(["a", "b", "c", "d"])
const layer = ScriptedTinker.layer({ tokenizer })
const letters = tokenizer.encode("abcd")
const colon = tokenizer.encode(":")
const wanted = tokenizer.encode("c")[0]

const makeClient = Effect.flatMap(
  Tinker.Tinker,
  (tinker) => tinker.createLoraTrainingClient({ baseModel: Script.defaultModel })
)

const attempt = ({ logprobs, tokens }: Sampling.SampledTokens, advantage: number) =>
  Datum.policyTokens(ModelInput.fromTokens(colon), {
    targetTokens: tokens,
    logprobs,
    advantages: Float32Array.of(advantage),
    mask: Float32Array.of(1)
  })

it.effect("the scripted backend's model learns rewarded answers by policy gradient", () =>
  Effect.gen(function*() {
    const training = yield* makeClient
    const ratesS: Array<number> = []
    for (let step = 0; step < 12; step++) {
      const sampler = yield* training.saveWeightsAndGetSamplingClient
      const { sequences } = yield* sampler.sample({
        prompt: ModelInput.fromTokens(colon),
        numSamples: 256,
        params: { maxTokens: 1, seed: step * 1000 }
      })
      const rewards = sequences.map(({ tokens }) => Number(tokens[0] === wanted))
      const rate = rewards.reduce((sum, reward) => sum + reward, 0) / rewards.length
      ratesS.push(rate)
      const [first, ...rest] = sequences.map((sequence, index) => attempt(sequence, (rewards[index] ?? NaN) - rate))
      if (first === undefined) return assert.fail("nothing was sampled")
      yield* training.forwardBackward([first, ...rest], Loss.importanceSampling)
      yield* training.optimStep({ learningRate: 1 })
    }
    assert.isBelow(ratesS[0] ?? NaN, 0.1)
    assert.isAbove(ratesS.at(-1) ?? NaN, 0.9)
  }).pipe(Effect.provide(layer)))

describe("the toy model descends the gradient of", () => {
  const modelInput = ModelInput.fromTokens(letters)
  const policy = Datum.policyTokens(modelInput, {
    targetTokens: letters,
    logprobs: Float32Array.of(-4, -5, -4.5, NaN),
    advantages: Float32Array.of(1, -0.5, 2, 0),
    mask: Float32Array.of(1, 1, 1, 0)
  })
  const weighted = Datum.weightedTokens(modelInput, {
    targetTokens: letters,
    weights: Float32Array.of(1, 0.5, -0.25, 2)
  })

  /** Without moments and with a large ε, an Adam step is a gradient descent step of size `rate`. */
  const descend = Effect.fnUntraced(
    function*<K extends Datum.Kind>(datum: Datum.Datum<NoInfer<K>>, loss: Loss.Loss<K>) {
      const training = yield* makeClient
      const rate = 1e-3
      const before = yield* Effect.flatMap(training.forwardBackward([datum], loss), (pass) => pass.await)
      const step = yield* training.optimStep({ learningRate: rate * 1e9, beta1: 0, beta2: 0, eps: 1e9 })
      const after = yield* Effect.flatMap(training.forward([datum], loss), (pass) => pass.await)
      const norm = (yield* step.await).metrics["grad_norm"] ?? NaN
      return {
        predicted: -rate * norm ** 2,
        change: (after.metrics["loss:sum"] ?? NaN) - (before.metrics["loss:sum"] ?? NaN)
      }
    }
  )

  const checks = [
    ["cross entropy", descend(weighted, Loss.crossEntropy)],
    ["importance sampling", descend(policy, Loss.importanceSampling)],
    ["ppo", descend(policy, Loss.ppo({ clipLow: 0.2, clipHigh: 4 }))],
    ["dro", descend(policy, Loss.dro())]
  ] as const

  for (const [name, check] of checks) {
    it.effect(name, () =>
      Effect.gen(function*() {
        const { change, predicted } = yield* check
        assert.closeTo(change / predicted, 1, 0.01)
      }).pipe(Effect.provide(layer)))
  }
})
