/** Steps with pseudo-random settings compared with Adam in float64, weight by weight, on servers whose weights can be downloaded. */
import { Loss, Tinker } from "@effect-rl/core"
import type { AdamParams, TrainingClient } from "@effect-rl/core/backend"
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as ArchiveFiles from "../ArchiveFiles.ts"
import * as Chance from "../Chance.ts"
import * as Check from "../Check.ts"
import * as Examples from "../Examples.ts"
import { RawRequests } from "../RawRequests.ts"
import * as StateTwins from "../StateTwins.ts"

/** A multiple of the examples' gradient, and the settings of its step. */
interface Step {
  readonly times: number
  readonly adam: Required<AdamParams.AdamParams>
}

const weightsOf = Effect.fnUntraced(function*(client: TrainingClient.TrainingClient, name: string) {
  const { path } = yield* StateTwins.run(client.saveWeightsForSampler(name))
  const found = ArchiveFiles.weightsOf(
    yield* Effect.catch(ArchiveFiles.downloaded(path), ({ message }) => Check.absent(message))
  )
  return found ?? (yield* Check.absent("checkpoints have no adapter_model.safetensors of float32"))
})

const take = Effect.fnUntraced(function*(client: TrainingClient.TrainingClient, { adam, times }: Step) {
  yield* client.forwardBackward([Examples.weighted(Examples.full(times))], Loss.crossEntropy)
  return yield* StateTwins.run(client.optimStep(adam))
})

/** Saves the model before every third step and restores it with its optimizer. */
const resumed = Effect.fnUntraced(function*(client: TrainingClient.TrainingClient, name: string, at: number) {
  if (at % 3 !== 2) return
  const { path } = yield* StateTwins.run(client.saveState(`${name}-${at}`))
  yield* StateTwins.run(client.loadState(path, { optimizer: true }))
})

const lengthOf = (gradient: ArrayLike<number>) =>
  Math.sqrt(Array.from(gradient).reduce((sum, value) => sum + value * value, 0))

/**
 * The weights after steps, computed in float64. Only the last step with a gradient and the steps after it move the
 * weights.
 */
const simulated = (weights: Float32Array, gradient: Float64Array, steps: ReadonlyArray<Step>) => {
  const [found, mean, square] = [
    Float64Array.from(weights),
    new Float64Array(weights.length),
    new Float64Array(weights.length)
  ]
  const norm = lengthOf(gradient)
  for (const [at, { adam, times }] of steps.entries()) {
    const { beta1, beta2, eps, gradClipNorm, learningRate, weightDecay } = adam
    const length = Math.abs(times) * norm
    const scale = gradClipNorm > 0 && length > gradClipNorm ? times * gradClipNorm / length : times
    for (let i = 0; i < found.length; i++) {
      const slope = scale * (gradient[i] ?? 0)
      const m = mean[i] = beta1 * (mean[i] ?? 0) + (1 - beta1) * slope
      const v = square[i] = beta2 * (square[i] ?? 0) + (1 - beta2) * slope * slope
      const root = Math.sqrt(v / (1 - beta2 ** (at + 1)))
      const kept = (found[i] ?? 0) * (1 - learningRate * weightDecay)
      found[i] = kept - learningRate * (m / (1 - beta1 ** (at + 1))) / (root + eps)
    }
  }
  return found
}

const plain = { beta1: 0, beta2: 0, weightDecay: 0, gradClipNorm: 0 }

/** `eps` far above every gradient, so a step is gradient descent. */
const flat = 1e6

/** The fraction of the gradient by which a step with this `eps` moves the weights. */
const share = 0.1

const streams = 8

/** The stream with many steps, for effects that appear only after dozens of them. */
const longest = streams - 1

/**
 * Steps with gradients at learning rate 0, then one that moves the weights, then steps without a gradient. Each stream has its own
 * settings.
 */
const stepsOf = (stream: number, norm: number, size: number): ReadonlyArray<Step> => {
  const beta1 = Chance.one(stream, 0, [0, 0.5, 0.9, 0.99])
  const beta2 = Chance.one(stream, 1, [0.5, 0.95, 0.999])
  // About the size of gradient elements, so rounding errors of small elements do not matter.
  const eps = size * Chance.one(stream, 2, [0.3, 1, 3])
  const resting = stream === longest ? 40 : Chance.whole(stream, 3, 0, 4)
  const gliding = Chance.whole(stream, 4, 1, 4)
  return Arr.makeBy(resting + 1 + gliding, (at) => ({
    times: at > resting ? 0 : Chance.one(stream, 10 + at, [1, -1, 3, 0.25, -2]),
    adam: {
      beta1,
      beta2,
      eps,
      learningRate: at < resting ? 0 : Chance.one(stream, 20 + at, [1e-3, 0.01, 0.05]),
      weightDecay: Chance.one(stream, 30 + at, [0, 0.01, 0.1, 1]),
      gradClipNorm: Chance.one(stream, 40 + at, [0, norm / 3, norm * 10])
    }
  }))
}

const largest = (found: ArrayLike<number>, from: ArrayLike<number>) =>
  Array.from(found).reduce((most, value, at) => Math.max(most, Math.abs(value - (from[at] ?? NaN))), 0)

export const exact: Check.Check = {
  theme: "optimizer",
  name: "steps with many settings, clipping, decay, saves and loads move every weight like Adam in float64",
  why:
    "A setting that is off by a few percent, or only in combination with another, changes the training, and no curve shows it.",
  run: Effect.gen(function*() {
    const { model: baseModel } = yield* RawRequests
    const tinker = yield* Tinker.Tinker
    const origin = yield* tinker.createLoraTrainingClient({ baseModel, loraRank: 8, seed: 1 })
    // Weights of 0 would hide their decay.
    yield* take(origin, { times: 1, adam: { ...plain, learningRate: 0.01, eps: 1e-12 } })
    const { path } = yield* StateTwins.run(origin.saveState("certify-steps"))
    const weights = yield* weightsOf(origin, "certify-before")
    const after = (name: string, steps: ReadonlyArray<Step>) =>
      Effect.scoped(Effect.gen(function*() {
        const client = yield* tinker.createTrainingClientFromState(path)
        yield* StateTwins.run(client.loadState(path))
        const taken = yield* Effect.forEach(steps, (step, at) =>
          Effect.andThen(resumed(client, name, at), take(client, step)))
        return {
          norms: taken.map(({ metrics }) =>
            metrics["grad_norm"]
          ),
          found: yield* weightsOf(client, name)
        }
      }))
    const { found: moved, norms: [norm] } = yield* after("certify-gradient", [
      { times: 1, adam: { ...plain, learningRate: share * flat, eps: flat } }
    ])
    const gradient = Float64Array.from(moved, (value, at) => ((weights[at] ?? NaN) - value) / share)
    const length = lengthOf(gradient)
    if (norm === undefined || Math.abs(norm - length) > 0.05 * norm) {
      return yield* Check.absent("downloads do not have the trained weights")
    }
    for (let stream = 0; stream < streams; stream++) {
      const steps = stepsOf(stream, length, length / Math.sqrt(gradient.length))
      const { found, norms } = yield* after(`certify-stream-${stream}`, steps)
      const expected = simulated(weights, gradient, steps)
      const [distance, whole] = [largest(found, expected), largest(expected, weights)]
      yield* Check.expect(
        found.length === expected.length && distance < 0.01 * whole,
        `weights within 1 % of their way after ${JSON.stringify(steps)}`,
        `${(100 * distance / whole).toFixed(2)} %`
      )
      const told = steps.map(({ times }) => Math.abs(times) * length).slice(0, 1)
      yield* Check.expectClose(
        "grad_norm of the first step",
        norms.slice(0, 1).map((one) => one ?? NaN),
        told,
        0.02 * length
      )
    }
  })
}

export const all = [exact]
