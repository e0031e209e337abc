import { Loss, Tinker } from "@effect-rl/core"
import type { TrainingClient } from "@effect-rl/core/backend"
import { assert, describe, layer } from "@effect/vitest"
import { Array, Effect } from "effect"
import * as TestEngine from "./TestEngine.ts"

const clip = (ratio: number, low: number, high: number) => Math.min(Math.max(ratio, low), high)

/** The published formulas for one token in f64: `lp` under the trained weights, `q` under the sampling weights. */
const formulas = {
  importance_sampling: {
    loss: Loss.importanceSampling,
    at: (lp: number, q: number, a: number) => -Math.exp(lp - q) * a
  },
  ppo: {
    loss: Loss.ppo({ clipLow: 0.9, clipHigh: 1.1 }),
    at: (lp: number, q: number, a: number) => -Math.min(Math.exp(lp - q) * a, clip(Math.exp(lp - q), 0.9, 1.1) * a)
  },
  cispo: {
    loss: Loss.cispo({ clipLow: 0.5, clipHigh: 1.05 }),
    at: (lp: number, q: number, a: number) => -clip(Math.exp(lp - q), 0.5, 1.05) * lp * a
  },
  dro: { loss: Loss.dro({ beta: 0.3 }), at: (lp: number, q: number, a: number) => -(lp * a - 0.15 * (lp - q) ** 2) }
}

/** Samples from the client's current weights. The advantages of each prompt's samples are `advantage` times 1 to 4. */
const sampled = Effect.fnUntraced(function*(client: TrainingClient.TrainingClient, advantage: number) {
  const sampler = yield* client.saveWeightsAndGetSamplingClient
  const data = yield* Effect.forEach(Array.range(0, 7), (index) => {
    const prompt = TestEngine.prompt(index, 6 + index)
    return Effect.map(
      sampler.sample({ prompt, numSamples: 4, params: { maxTokens: 20, seed: 10 * index } }),
      ({ sequences }) => sequences.map((sequence, k) => TestEngine.policyDatum(prompt, sequence, advantage * (1 + k)))
    )
  })
  const all = data.flat()
  return Array.isArrayNonEmpty(all) ? all : yield* Effect.die("there are no samples")
})

type Data = Effect.Success<ReturnType<typeof sampled>>

const expectedLoss = (data: Data, logprobs: ReadonlyArray<Float32Array>, at: (typeof formulas)["ppo"]["at"]) => {
  let loss = 0
  for (const [index, { inputs }] of data.entries()) {
    for (const [t, q] of inputs.logprobs.entries()) {
      if (inputs.mask[t] === 1) loss += at(logprobs[index]?.[t] ?? NaN, q, inputs.advantages[t] ?? NaN)
    }
  }
  return loss
}

/**
 * Runs one forward-backward pass, compares its loss with the formula, and takes an optimizer step. Returns the largest difference between
 * the log-probabilities in the pass, which precedes the step, and those at sampling.
 */
const checkedStep = Effect.fnUntraced(function*(
  client: TrainingClient.TrainingClient,
  data: Data,
  { at, loss }: (typeof formulas)[keyof typeof formulas]
) {
  const pass = yield* client.forwardBackward(data, loss)
  const optimizer = yield* client.optimStep({ learningRate: 1e-3 })
  const { logprobs, metrics } = yield* pass.await
  yield* optimizer.await
  const expected = expectedLoss(data, logprobs, at)
  assert.closeTo(metrics["loss:sum"] ?? NaN, expected, 1e-5 * Math.abs(expected))
  return data.reduce(
    (most, { inputs }, index) =>
      inputs.logprobs.reduce(
        (most, q, t) => Number.isNaN(q) ? most : Math.max(most, Math.abs((logprobs[index]?.[t] ?? 0) - q)),
        most
      ),
    0
  )
})

describe("off-policy losses", () => {
  layer(TestEngine.layer(2))((it) => {
    for (const [name, formula] of Object.entries(formulas)) {
      for (const sign of [1, -1]) {
        it.effect(`${name} matches its formula for samples two steps old, with advantages of sign ${sign}`, () =>
          Effect.gen(function*() {
            const tinker = yield* Tinker.Tinker
            const client = yield* tinker.createLoraTrainingClient({ baseModel: TestEngine.model, loraRank: 8, seed: 2 })
            const old = yield* sampled(client, 0.01 * sign)
            assert.strictEqual(yield* checkedStep(client, old, formula), 0)
            yield* checkedStep(client, yield* sampled(client, -0.01 * sign), formula)
            const [first, second] = [Array.take(old, 16), Array.drop(old, 16)]
            if (!Array.isArrayNonEmpty(first) || !Array.isArrayNonEmpty(second)) {
              return assert.fail("a substep is empty")
            }
            assert.isAbove(yield* checkedStep(client, first, formula), 0.1)
            assert.isAbove(yield* checkedStep(client, second, formula), 0.1)
          }))
      }
    }
  })
})
