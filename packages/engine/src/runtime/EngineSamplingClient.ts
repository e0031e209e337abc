/** Samples from a snapshot of weights. */
import { type ModelInput, type Sampling, type SamplingClient, TinkerError } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import type { SampleOrder } from "./Protocol.ts"
import * as SamplingCheck from "./SamplingCheck.ts"
import type { Snapshot } from "./Snapshot.ts"
import * as Stops from "./Stops.ts"
import type { Threads } from "./Threads.ts"

/** The model to sample from, as requests are checked and threads know it. */
export interface SampledModel {
  readonly model: number
  readonly limits: SamplingCheck.Limits
  /** Whether its tokens are bytes, which string stops are looked for in. */
  readonly hasTokenBytes: boolean
}

const seedsOf = Effect.fnUntraced(function*(count: number, seed: number | undefined) {
  const first = seed ?? (yield* Random.nextInt)
  return Array.from({ length: count }, (_, index) => first + index)
})

const toStops = Effect.fnUntraced(function*(operation: string, stop: Sampling.Stop, hasTokenBytes: boolean) {
  const strings = stop.filter((value) => typeof value === "string")
  if (strings.length > 0 && !hasTokenBytes) {
    return yield* new TinkerError.TinkerError({
      operation,
      reason: new TinkerError.Unsupported({
        capability: "string stops",
        detail: "the model's tokenizer is not byte-level; stop at token ids instead"
      })
    })
  }
  const tokens = stop.filter((value) => typeof value === "number")
  return { tokens, strings: strings.map(Stops.utf8) }
})

/** Uses the snapshot until `isClosed` says so. */
export const make = (
  threads: Threads,
  { hasTokenBytes, limits, model }: SampledModel,
  snapshot: Snapshot,
  modelPath: string,
  isClosed: () => boolean
): SamplingClient.SamplingClient => {
  const send = (operation: string, order: Omit<SampleOrder, "id" | "model" | "weights" | "adapter">) =>
    Effect.gen(function*() {
      if (isClosed()) return yield* new TinkerError.Closed({ detail: "the sampling client's scope was closed" })
      const weights = { model, weights: snapshot.id, adapter: snapshot.adapter }
      return yield* snapshot.use(threads.sample({ ...order, ...weights }))
    }).pipe(Effect.mapError((reason) => new TinkerError.TinkerError({ operation, reason })))

  const sample = Effect.fn("SamplingClient.sample")(function*(request: Sampling.SampleRequest) {
    const operation = "sample"
    const prompt = yield* SamplingCheck.request(operation, request, limits)
    const { maxTokens, seed, stop = [], temperature = 1, topK = -1, topP = 1 } = request.params
    return yield* send(operation, {
      prompt,
      maxTokens,
      temperature,
      topP,
      seeds: yield* seedsOf(request.numSamples ?? 1, seed),
      topK: Math.max(topK, 0),
      stops: yield* toStops(operation, stop, hasTokenBytes),
      promptLogprobs: request.promptLogprobs ?? false,
      topkPromptLogprobs: request.topkPromptLogprobs ?? 0
    })
  })

  const computeLogprobs = Effect.fn("SamplingClient.computeLogprobs")(function*(input: ModelInput.ModelInput) {
    const operation = "computeLogprobs"
    const prompt = yield* SamplingCheck.prompt(operation, input, 0, limits)
    if (prompt.length === 1) return Float32Array.of(NaN)
    const { promptLogprobs } = yield* send(operation, {
      prompt,
      seeds: [0],
      maxTokens: 0,
      temperature: 1,
      topK: 0,
      topP: 1,
      stops: Stops.none,
      promptLogprobs: true,
      topkPromptLogprobs: 0
    })
    return promptLogprobs ?? new Float32Array()
  })

  return { modelPath, sample, computeLogprobs }
}
