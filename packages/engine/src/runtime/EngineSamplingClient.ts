/** Samples from a snapshot of an adapter or from the base model. */
import { TinkerError } from "@effect-rl/core"
import { type ModelInput, RequestRules, type Sampling, type SamplingClient } from "@effect-rl/core/backend"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import * as GrammarText from "../grammar/GrammarText.ts"
import type { Model } from "./Library.ts"
import { named } from "./Operation.ts"
import type { SampleOrder } from "./Protocol.ts"
import { bytesOf, type Snapshot } from "./Snapshot.ts"
import * as Stops from "./Stops.ts"
import * as Text from "./Text.ts"
import type { Threads } from "./Threads.ts"

/** The parts of a model that are needed to check requests and send them to threads. */
export type SampledModel = Pick<Model, "id" | "limits" | "hasTokenBytes" | "endOfSequence">

const seedsOf = Effect.fnUntraced(function*(count: number, seed: number | undefined) {
  const first = seed ?? (yield* Random.nextInt)
  return Array.from({ length: count }, (_, index) => first + index)
})

/** By default, or with string stops, the end-of-sequence token ends a sample. A list of token ids, even an empty one, replaces it. */
const toStops = Effect.fnUntraced(function*(
  stop: Sampling.Stop | undefined,
  { endOfSequence, hasTokenBytes }: SampledModel
) {
  const implicit = endOfSequence === undefined ? [] : [endOfSequence]
  if (stop === undefined) return { tokens: implicit, strings: [] }
  const strings = stop.filter((value) => typeof value === "string")
  if (strings.length > 0 && !hasTokenBytes) {
    const detail = "the model's tokenizer is not byte-level; stop at token ids instead"
    return yield* new TinkerError.Unsupported({ capability: "string stops", detail })
  }
  const tokens = strings.length > 0 ? implicit : stop.filter((value) => typeof value === "number")
  return { tokens, strings: strings.map(Stops.utf8) }
})

/** Whether all tokens could be drawn. A damaged model file or too large a learning rate can yield infinite or NaN logits. */
const areDrawn = ({ sequences }: Sampling.SampleResponse) =>
  !sequences.some(({ logprobs }) => logprobs.some(Number.isNaN))

const notDrawn = "the weights give logits that are not finite, so no token can be drawn: " +
  "return to an earlier checkpoint with a smaller learning rate, or download the model again"

/** A client that samples from the snapshot until `isClosed` returns true. */
export const make = (
  threads: Threads,
  model: SampledModel,
  snapshot: Snapshot,
  modelPath: string,
  isClosed: () => boolean
): SamplingClient.SamplingClient => {
  const { id, limits } = model
  const send = Effect.fnUntraced(function*(order: Omit<SampleOrder, "id" | "model" | "weights" | "adapter">) {
    if (isClosed()) return yield* new TinkerError.Closed({ detail: "the scope of the sampling client closed" })
    const weights = { model: id, weights: snapshot.id, adapter: snapshot.adapter }
    return yield* snapshot.use(threads.sample({ ...order, ...weights }))
  })

  const sample = Effect.fn("SamplingClient.sample")(function*(request: Sampling.SampleRequest) {
    yield* RequestRules.sample(request, limits)
    const { maxTokens, seed, stop, temperature = 1, topK = -1, topP = 1 } = request.params
    const response = yield* send({
      prompt: yield* Text.tokens(request.prompt),
      seeds: yield* seedsOf(request.numSamples ?? 1, seed),
      maxTokens,
      temperature,
      topK: topK > 0 && topK < limits.vocabulary ? topK : 0,
      topP,
      stops: yield* toStops(stop, model),
      promptLogprobs: request.promptLogprobs ?? false,
      topkPromptLogprobs: request.topkPromptLogprobs ?? 0,
      topkSampleLogprobs: request.topkSampleLogprobs ?? 0,
      targetPromptLogprobs: request.targetPromptLogprobs,
      grammar: request.grammar === undefined ? undefined : yield* GrammarText.of(request.grammar)
    })
    return areDrawn(response) ? response : yield* new TinkerError.Rejected({ detail: notDrawn })
  }, named("sample"))

  const computeLogprobs = Effect.fn("SamplingClient.computeLogprobs")(function*(input: ModelInput.ModelInput) {
    yield* RequestRules.prompt(input, limits)
    const prompt = yield* Text.tokens(input)
    if (prompt.length === 1) return Float32Array.of(NaN)
    const { promptLogprobs } = yield* send({
      prompt,
      seeds: [0],
      maxTokens: 0,
      temperature: 1,
      topK: 0,
      topP: 1,
      stops: Stops.none,
      promptLogprobs: true,
      topkPromptLogprobs: 0,
      topkSampleLogprobs: 0,
      targetPromptLogprobs: undefined,
      grammar: undefined
    })
    return promptLogprobs ?? new Float32Array()
  }, named("computeLogprobs"))

  return { memoryBytes: bytesOf(snapshot), modelPath, capabilities: limits.capabilities, sample, computeLogprobs }
}
