/** Samples from an adapter in the Python process, or from the base model. */
import { TinkerError } from "@effect-rl/core"
import { type ModelInput, RequestRules, type Sampling, type SamplingClient } from "@effect-rl/core/backend"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import * as Answer from "../process/Answer.ts"
import type { Answered, PythonProcess } from "../process/PythonProcess.ts"
import { named } from "./Operation.ts"
import * as PassData from "./PassData.ts"

/** The adapter or base model that a client samples from, and its process. */
export interface From {
  readonly process: PythonProcess
  readonly limits: RequestRules.Limits
  /** The adapter's key; null for the base model. */
  readonly adapter: number | null
  readonly modelPath: string
  readonly memoryBytes: number
}

/** One seed per sample: `seed`, `seed + 1` and so on. Without `seed`, the first seed is random. */
const seedsOf = Effect.fnUntraced(function*(count: number, seed: number | undefined) {
  const first = seed ?? (yield* Random.nextInt)
  return Array.from({ length: count }, (_, index) => first + index)
})

/** By default, or with string stops, the end-of-sequence tokens end a sample. A list of token ids, even an empty one, replaces them. */
const stopsOf = Effect.fnUntraced(function*(stop: Sampling.Stop | undefined, { ready }: PythonProcess) {
  if (stop === undefined) return { stopTokens: ready.endsOfSequence, stopTexts: [] }
  const stopTexts = stop.filter((value) => typeof value === "string")
  if (stopTexts.length > 0 && !ready.hasTokenizer) {
    const detail = "the model has no tokenizer; stop at token ids instead"
    return yield* new TinkerError.Unsupported({ capability: "string stops", detail })
  }
  return stopTexts.length > 0
    ? { stopTokens: ready.endsOfSequence, stopTexts }
    : { stopTokens: stop.filter((value) => typeof value === "number"), stopTexts }
})

const toSequences = (
  { arrays, header }: Answered<typeof Answer.Sampled.Type>
): ReadonlyArray<Sampling.SampledTokens> => {
  const { logprobs, tokens } = arrays
  let at = 0
  return header.lengths.map((length, index) => {
    const [start, end] = [at, at += length]
    return {
      tokens: Int32Array.from(tokens?.subarray(start, end) ?? []),
      logprobs: Float32Array.from(logprobs?.subarray(start, end) ?? []),
      stopReason: header.reasons[index] ?? "length"
    }
  })
}

/** Prepends NaN for the first token, which has no preceding token. */
const afterNone = (logprobs: Int32Array | Float32Array | undefined) => Float32Array.from([NaN, ...logprobs ?? []])

/** A client that samples until its scope closes. */
export const make = Effect.fnUntraced(function*({ adapter, limits, memoryBytes, modelPath, process }: From) {
  let isClosed = false
  yield* Effect.addFinalizer(() => Effect.sync(() => isClosed = true))

  const open = Effect.suspend(() =>
    isClosed ? Effect.fail(new TinkerError.Closed({ detail: "the scope of the sampling client closed" })) : Effect.void
  )

  const score = Effect.fnUntraced(function*(prompt: Int32Array) {
    if (prompt.length === 1) return Float32Array.of(NaN)
    const { arrays } = yield* process.ask(Answer.Done, { op: "score", fields: { adapter }, arrays: { prompt } })
    return afterNone(arrays["logprobs"])
  })

  const sample = Effect.fn("SamplingClient.sample")(function*(request: Sampling.SampleRequest) {
    yield* open
    yield* RequestRules.sample(request, limits)
    const { maxTokens, seed, stop, temperature = 1, topK = -1, topP = 1 } = request.params
    const prompt = yield* PassData.tokens(request.prompt)
    const answered = yield* process.ask(Answer.Sampled, {
      op: "sample",
      fields: {
        adapter,
        maxTokens,
        temperature,
        topP,
        topK: topK > 0 && topK < limits.vocabulary ? topK : 0,
        seeds: yield* seedsOf(request.numSamples ?? 1, seed),
        ...yield* stopsOf(stop, process)
      },
      arrays: { prompt }
    })
    return {
      sequences: toSequences(answered),
      ...(request.promptLogprobs === true && { promptLogprobs: yield* score(prompt) })
    }
  }, named("sample"))

  const computeLogprobs = Effect.fn("SamplingClient.computeLogprobs")(function*(input: ModelInput.ModelInput) {
    yield* open
    yield* RequestRules.prompt(input, limits)
    return yield* score(yield* PassData.tokens(input))
  }, named("computeLogprobs"))

  return {
    modelPath,
    memoryBytes,
    capabilities: limits.capabilities,
    sample,
    computeLogprobs
  } satisfies SamplingClient.SamplingClient
})
