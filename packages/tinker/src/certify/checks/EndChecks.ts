/** The model's own end-of-sequence token. */
import { Loss, Tinker } from "@effect-rl/core"
import {
  Datum,
  type ModelInput,
  type Sampling,
  type SamplingClient,
  type TrainingClient
} from "@effect-rl/core/backend"
import type { Contract } from "@effect-rl/core/testing"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Check from "../Check.ts"
import * as Examples from "../Examples.ts"
import { RawRequests } from "../RawRequests.ts"
import * as StateTwins from "../StateTwins.ts"

/** A stop text that no model writes. */
const never = "\u0001certify\u0002"

const sequencesOf = (
  client: SamplingClient.SamplingClient,
  numSamples: number,
  params: Sampling.SamplingParams,
  prompt: ModelInput.ModelInput = Examples.input
) => Effect.map(client.sample({ prompt, numSamples, params }), ({ sequences }) => sequences)

/** Requests in which the end-of-sequence token ends the sample. */
const ended: ReadonlyArray<readonly [what: string, more: Pick<Sampling.SamplingParams, "stop">]> = [
  ["no stops", {}],
  ["a stop string that never comes", { stop: [never] }]
]

/** The last token of a sample that only the end-of-sequence token can have stopped. */
const drawn = Effect.gen(function*() {
  const { model: baseModel } = yield* RawRequests
  const client = yield* Tinker.Tinker.use((tinker) => tinker.createSamplingClient({ baseModel }))
  for (const [, more] of ended) {
    const found = yield* Effect.result(sequencesOf(client, 48, { maxTokens: 64, temperature: 4, ...more }))
    if (Result.isFailure(found)) continue
    const end = found.success.find(({ stopReason }) => stopReason === "stop")?.tokens.at(-1)
    if (end !== undefined) return end
  }
  return yield* Check.absent("the tokenizer is unknown, and no sample reached its end")
})

/** A log-probability so high that the token is drawn every time. */
const certain = -0.01

const mostSteps = 12

/** Trains until the token follows the prompt with near certainty. */
const teach = Effect.fnUntraced(function*(client: TrainingClient.TrainingClient, token: number) {
  const datum = Datum.weightedTokens(Examples.input, {
    targetTokens: Int32Array.from(Examples.tokens, () => token),
    weights: Examples.full(1)
  })
  for (let step = 0; step < mostSteps; step++) {
    const { logprobs: [found] } = yield* StateTwins.run(client.forwardBackward([datum], Loss.crossEntropy))
    if ((found?.at(-1) ?? -Infinity) > certain) return
    yield* StateTwins.run(client.optimStep({ learningRate: Examples.learningRate }))
  }
  return yield* Check.absent(`the model does not learn to end within ${mostSteps} steps`)
})

const end = ({ tokenizer }: Contract.Options): Check.Check => ({
  theme: "sampling",
  name:
    "the end-of-sequence token ends a sample without stops or with stop strings, but not one with an empty stop list",
  why: "A sample that runs past its end uses up its token limit and is graded with made-up text.",
  run: Effect.gen(function*() {
    const { model: baseModel } = yield* RawRequests
    const token = tokenizer?.eosTokenId ?? (yield* drawn)
    const client = yield* Tinker.Tinker.use((tinker) => tinker.createLoraTrainingClient({ baseModel, loraRank: 8 }))
    yield* teach(client, token)
    const sampler = yield* client.saveWeightsAndGetSamplingClient
    for (const [what, more] of ended) {
      const found = yield* Effect.result(sequencesOf(sampler, 4, { maxTokens: 8, temperature: 0, ...more }))
      if (Result.isFailure(found)) {
        if (more.stop === undefined) return yield* Effect.fail(found.failure)
        continue
      }
      const shown = new Set(found.success.map(({ stopReason, tokens }) => `${tokens.join()}, ${stopReason}`))
      yield* Check.expect(
        [...shown].join("; ") === `${token}, stop`,
        `the end of sequence, ${token}, alone with ${what}`,
        [...shown].join("; ")
      )
    }
    const endless = yield* Effect.result(sequencesOf(sampler, 4, { maxTokens: 8, temperature: 0, stop: [] }))
    if (Result.isFailure(endless)) return "the server refuses an empty stop list"
    const lengths = endless.success.map(({ tokens }) => tokens.length).join(", ")
    yield* Check.expect(lengths === "8, 8, 8, 8", "4 samples of 8 tokens with an empty list of stops", lengths)
  })
})

export const all = (model: Contract.Options): ReadonlyArray<Check.Check> => [end(model)]
