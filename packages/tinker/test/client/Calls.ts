/** Client calls, each of which creates the objects that it needs. */
import { Tinker } from "@effect-rl/core"
import { Datum, ModelInput } from "@effect-rl/core/backend"
import { Effect } from "effect"

export const train = Effect.flatMap(Tinker.Tinker, (tinker) => tinker.createLoraTrainingClient({ baseModel: "fake" }))

export const sampler = Effect.flatMap(Tinker.Tinker, (tinker) => tinker.createSamplingClient({ baseModel: "fake" }))

export const datum = Datum.weightedTokens(ModelInput.fromTokens([1, 2, 3]), {
  targetTokens: Int32Array.of(2, 3, 4),
  weights: Float32Array.of(0, 1, 1)
})

export const request = { prompt: ModelInput.fromTokens([1, 2]), params: { maxTokens: 2 } }

export const run = <A, E1, E2, R>(submit: Effect.Effect<{ readonly await: Effect.Effect<A, E1> }, E2, R>) =>
  Effect.flatMap(submit, (pending) => pending.await)

export const step = Effect.flatMap(train, (client) => run(client.optimStep({ learningRate: 1e-3 })))

export const sample = Effect.flatMap(sampler, (client) => client.sample(request))
