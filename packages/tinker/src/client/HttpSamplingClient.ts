/** Samples from the weights of one sampling session. */
import { type ModelInput, RequestRules, type Sampling, type SamplingClient, TinkerError } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as Json from "../wire/Json.ts"
import * as Sample from "../wire/Sample.ts"
import * as SampleResult from "../wire/SampleResult.ts"
import type { Budget } from "./Budget.ts"
import * as Connection from "./Connection.ts"
import * as Futures from "./Futures.ts"
import * as RetryPolicy from "./RetryPolicy.ts"
import * as SampleDispatch from "./SampleDispatch.ts"
import type { Watchdog } from "./Watchdog.ts"
import { named, type WireError } from "./WireError.ts"

/** What all sampling clients of a session share. */
export interface Shared {
  readonly futures: Futures.Futures
  /** Bounds the samples that are under way: each has at most one request open. */
  readonly places: Budget
  readonly dispatch: SampleDispatch.SampleDispatch
  readonly watchdog: Watchdog
  /** A sample whose result the service lost is made anew. */
  readonly resamples: boolean
  /** Samples end only at stops that are asked for. */
  readonly needsStops: boolean
}

export interface Parts extends Shared {
  readonly limits: RequestRules.Limits
  readonly sessionId: string
  readonly modelPath: string
}

const decodeJson = Json.decode(SampleResult.Body)

const read: Futures.Read<SampleResult.SampleResult> = (result) =>
  "json" in result ? Effect.map(decodeJson(result.json), SampleResult.fromJson) : SampleResult.decode(result.bytes)

const unavailable = (detail: string) => new TinkerError.Unavailable({ detail: `the service answered ${detail}` })

const sampled = (
  { logprobs, stopReason, tokens }: SampleResult.Sequence
): Effect.Effect<Sampling.SampledTokens, TinkerError.Reason> => {
  if (logprobs === undefined || logprobs.length !== tokens.length) {
    return Effect.fail(unavailable(`${tokens.length} tokens with ${logprobs?.length ?? 0} log-probabilities`))
  }
  const at = logprobs.findIndex((logprob) => !Number.isFinite(logprob))
  return at < 0
    ? Effect.succeed({ tokens, logprobs, stopReason })
    : Effect.fail(unavailable(`${logprobs[at]} as the log-probability of token ${at}, expected a finite number`))
}

/** Some services leave the first position out, which has none. */
const whole = (logprobs: Float32Array, length: number) => {
  if (logprobs.length !== length - 1) return logprobs
  const padded = new Float32Array(length)
  padded[0] = NaN
  padded.set(logprobs, 1)
  return padded
}

const complete = (
  logprobs: Float32Array | undefined,
  length: number
): Effect.Effect<Float32Array, TinkerError.Reason> => {
  const found = logprobs === undefined ? undefined : whole(logprobs, length)
  return found?.length === length
    ? Effect.succeed(found)
    : Effect.fail(unavailable(`${logprobs?.length ?? 0} log-probabilities of ${length} prompt tokens`))
}

const toResponse = Effect.fnUntraced(function*(
  result: SampleResult.SampleResult,
  request: Sampling.SampleRequest
): Effect.fn.Return<Sampling.SampleResponse, TinkerError.Reason> {
  const { numSamples = 1, prompt, promptLogprobs, topkPromptLogprobs = 0 } = request
  const sequences = yield* Effect.forEach(result.sequences, sampled)
  if (sequences.length !== numSamples) return yield* unavailable(`${sequences.length} samples, not ${numSamples}`)
  return {
    sequences,
    ...(promptLogprobs === true ? { promptLogprobs: yield* complete(result.promptLogprobs, prompt.length) } : {}),
    ...(topkPromptLogprobs > 0 && result.topkPromptLogprobs !== undefined
      ? { topkPromptLogprobs: result.topkPromptLogprobs }
      : {})
  }
})

const post = (request: Sampling.SampleRequest, sessionId: string, seqId: number) =>
  HttpClientRequest.setHeader(
    Connection.post("/asample", Sample.fromRequest(request, sessionId, seqId)),
    "x-tinker-sampling-backpressure",
    "1"
  )

/** Can be used until its scope closes. */
export const make = Effect.fnUntraced(function*(parts: Parts) {
  const { dispatch, futures, limits, modelPath, needsStops, places, resamples, sessionId, watchdog } = parts
  let isClosed = false
  let isWarned = !needsStops
  let nextSeqId = 0
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      isClosed = true
    })
  )

  const once = (request: Sampling.SampleRequest) =>
    Effect.suspend(() => {
      const submit = Futures.submit(futures, post(request, sessionId, nextSeqId++), RetryPolicy.sampling)
      return Effect.flatMap(
        dispatch.post(SampleDispatch.sizeOf(request), submit),
        (requestId) => Futures.retrieve(futures, "Sample", requestId, read)
      )
    })

  const anew = RetryPolicy.observed(RetryPolicy.resampling, "sample", futures.connection.options.observe)

  const ask = (request: Sampling.SampleRequest) =>
    Effect.suspend((): Effect.Effect<Sampling.SampleResponse, WireError | TinkerError.Reason> =>
      isClosed
        ? Effect.fail(new TinkerError.Closed({ detail: "the scope of the sampling client closed" }))
        : once(request).pipe(
          resamples ? Effect.retry(anew) : (same) => same,
          Connection.within(futures.connection.options.deadline),
          places.use(1),
          watchdog.watch,
          Effect.flatMap((result) => toResponse(result, request))
        )
    )

  const warn = ({ stop = [] }: Sampling.SamplingParams) =>
    Effect.suspend(() => {
      if (isWarned || stop.length > 0) return Effect.void
      isWarned = true
      return Effect.logWarning("a sample without `stop` runs up to maxTokens here: the server has no stops of its own")
    })

  const sample = Effect.fn("SamplingClient.sample")(function*(request: Sampling.SampleRequest) {
    yield* RequestRules.sample(request, limits)
    yield* warn(request.params)
    return yield* ask(request)
  }, named("sample"))

  const computeLogprobs = Effect.fn("SamplingClient.computeLogprobs")(function*(prompt: ModelInput.ModelInput) {
    yield* RequestRules.prompt(prompt, limits)
    const { promptLogprobs } = yield* ask({ prompt, params: { maxTokens: 1 }, promptLogprobs: true })
    return promptLogprobs ?? new Float32Array()
  }, named("computeLogprobs"))

  const client: SamplingClient.SamplingClient = { modelPath, sample, computeLogprobs }
  return client
})
