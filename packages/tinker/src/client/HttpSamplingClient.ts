/** Samples from the weights of one sampling session. */
import * as Json from "@effect-rl/agent/wire/Json"
import { TinkerError } from "@effect-rl/core"
import { type ModelInput, RequestRules, type Sampling, type SamplingClient } from "@effect-rl/core/backend"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as Sample from "../wire/Sample.ts"
import * as SampleResult from "../wire/SampleResult.ts"
import type { Budget } from "./Budget.ts"
import * as Completions from "./Completions.ts"
import * as Connection from "./Connection.ts"
import * as Futures from "./Futures.ts"
import * as Logprob from "./Logprob.ts"
import * as RetryPolicy from "./RetryPolicy.ts"
import * as SampleDispatch from "./SampleDispatch.ts"
import type { Watchdog } from "./Watchdog.ts"
import * as WireError from "./WireError.ts"
import { named } from "./WireError.ts"

/** State shared by all sampling clients of a session. */
export interface Shared {
  readonly futures: Futures.Futures
  /** How long to wait for a sample once it has been admitted. */
  readonly deadline: Duration.Duration
  /** Limits concurrent samples; each has at most one open request. */
  readonly places: Budget
  readonly support: Completions.Support
  readonly dispatch: SampleDispatch.SampleDispatch
  readonly watchdog: Watchdog
  /** Whether a sample whose result the service lost is requested again. */
  readonly resamples: boolean
  /** Whether samples end only at requested stops. */
  readonly needsStops: boolean
  /** Whether to cancel samples at the service when their callers stop waiting. */
  readonly cancels: () => boolean
}

export interface Parts extends Shared {
  readonly limits: RequestRules.Limits
  readonly sessionId: string
  readonly modelPath: string
  /** The block of request numbers; clients that share a sampler use different blocks. Default: 0. */
  readonly block?: number
}

const decodeJson = Json.decode(SampleResult.Body)

/** A result, and the service's ids for its sequences. */
interface Sampled {
  readonly result: SampleResult.SampleResult
  readonly ids: ReadonlyArray<string> | undefined
}

const read: Futures.Read<SampleResult.SampleResult> = (result) =>
  "json" in result ? Effect.map(decodeJson(result.json), SampleResult.fromJson) : SampleResult.decode(result.bytes)

const untrusted = (detail: string) => WireError.make(new WireError.Untrusted({ detail }))

/** Validates a sequence for training: at most the requested number of tokens, each with a log-probability. */
const sampled = ({ params: { maxTokens } }: Sampling.SampleRequest, ids: ReadonlyArray<string> | undefined) =>
(
  { logprobs, stopReason, tokens, topkLogprobs }: SampleResult.Sequence,
  index: number
): Effect.Effect<Sampling.SampledTokens, WireError.WireError> => {
  if (tokens.length > maxTokens) {
    return Effect.fail(untrusted(`${tokens.length} tokens, at most ${maxTokens} were asked for`))
  }
  if (logprobs === undefined || logprobs.length !== tokens.length) {
    return Effect.fail(untrusted(`${tokens.length} tokens with ${logprobs?.length ?? 0} log-probabilities`))
  }
  const negative = tokens.find((token) => token < 0)
  if (negative !== undefined) return Effect.fail(untrusted(`token ${negative}, expected ids from 0`))
  const at = logprobs.findIndex((logprob) => !Logprob.isFinite(logprob))
  if (at >= 0) {
    return Effect.fail(untrusted(`${logprobs[at]} as the log-probability of token ${at}, ${Logprob.expected}`))
  }
  const sequenceId = ids?.[index]
  return Effect.succeed({
    tokens,
    logprobs,
    stopReason,
    ...(sequenceId === undefined ? {} : { sequenceId }),
    ...(topkLogprobs === undefined ? {} : { topkLogprobs })
  })
}

/** Adds the first position if the service left it out; it has no log-probability. */
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
): Effect.Effect<Float32Array, WireError.WireError> => {
  const found = logprobs === undefined ? undefined : whole(logprobs, length)
  if (found?.length !== length) {
    return Effect.fail(untrusted(`${logprobs?.length ?? 0} log-probabilities of ${length} prompt tokens`))
  }
  const at = found.findIndex((logprob) => !Logprob.isKnownOrMissing(logprob))
  return at < 0
    ? Effect.succeed(found)
    : Effect.fail(untrusted(`${found[at]} as the log-probability of prompt token ${at}, ${Logprob.expected}`))
}

/** The first requested field that is missing from the result; undefined if none is missing. */
const missing = (
  { sequences, ...result }: SampleResult.SampleResult,
  { promptAltTokens = 0, targetPromptLogprobs, topkPromptLogprobs = 0, topkSampleLogprobs = 0 }: Sampling.SampleRequest
) => {
  const fields: ReadonlyArray<readonly [field: string, isMissing: boolean]> = [
    ["topkPromptLogprobs", topkPromptLogprobs > 0 && result.topkPromptLogprobs === undefined],
    ["targetPromptLogprobs", targetPromptLogprobs !== undefined && result.targetPromptLogprobs === undefined],
    ["promptAltTokens", promptAltTokens > 0 && result.promptAltTokens === undefined],
    [
      "topkSampleLogprobs",
      topkSampleLogprobs > 0 && sequences.some((one) => one.tokens.length > 0 && one.topkLogprobs === undefined)
    ]
  ]
  return fields.find(([, isMissing]) => isMissing)?.[0]
}

const toResponse = Effect.fnUntraced(function*(
  { ids, result }: Sampled,
  request: Sampling.SampleRequest
): Effect.fn.Return<Sampling.SampleResponse, WireError.WireError | TinkerError.Reason> {
  const { numSamples = 1, prompt, promptLogprobs } = request
  const { promptAltTokens, promptCacheHitTokens, targetPromptLogprobs, topkPromptLogprobs } = result
  if (result.sequences.length !== numSamples) {
    return yield* untrusted(`${result.sequences.length} samples, not ${numSamples}`)
  }
  const capability = missing(result, request)
  if (capability !== undefined) {
    return yield* new TinkerError.Unsupported({ capability, detail: "the service answered without it" })
  }
  return {
    sequences: yield* Effect.forEach(result.sequences, sampled(request, ids)),
    ...(promptCacheHitTokens > 0 ? { promptCacheHitTokens } : {}),
    ...(promptLogprobs === true ? { promptLogprobs: yield* complete(result.promptLogprobs, prompt.length) } : {}),
    ...(topkPromptLogprobs === undefined ? {} : { topkPromptLogprobs }),
    ...(targetPromptLogprobs === undefined ? {} : { targetPromptLogprobs }),
    ...(promptAltTokens === undefined ? {} : { promptAltTokens })
  }
})

const post = (request: Sampling.SampleRequest, sessionId: string, seqId: number) =>
  HttpClientRequest.setHeader(
    Connection.postBytes("/asample", Sample.encode(request, sessionId, seqId)),
    "x-tinker-sampling-backpressure",
    "1"
  )

const blockSize = 1_000_000_000

/** Creates a sampling client that is usable until the scope closes. */
export const make = Effect.fnUntraced(function*(parts: Parts) {
  const {
    block = 0,
    cancels,
    deadline,
    dispatch,
    futures,
    limits,
    modelPath,
    needsStops,
    places,
    resamples,
    sessionId,
    support,
    watchdog
  } = parts
  let isClosed = false
  let isWarned = !needsStops
  let nextSeqId = block * blockSize
  const scope = yield* Effect.scope
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      isClosed = true
    })
  )

  const completions = yield* Completions.make(futures.connection, { samplerId: sessionId, block }, support)

  const once = (request: Sampling.SampleRequest) =>
    Effect.suspend(() => {
      const submit = Futures.submit(futures, post(request, sessionId, nextSeqId++), RetryPolicy.sampling)
      return Effect.flatMap(
        dispatch.post(SampleDispatch.sizeOf(request), submit),
        ({ request_id, sample_sequence_ids: ids }) =>
          completions.result(request_id, (size) => Futures.retrieve(futures, "Sample", request_id, read, size)).pipe(
            Effect.map((result): Sampled => ({ result, ids })),
            Effect.onInterrupt(() =>
              cancels() ? Effect.forkIn(Futures.cancel(futures, request_id), scope) : Effect.void
            )
          )
      )
    })

  const anew = RetryPolicy.retry(() =>
    RetryPolicy.observed(RetryPolicy.resampling, "sample", futures.connection.options.observe)
  )

  const deadlineFromNow = Connection.deadline(futures.connection.options, deadline)

  const whilePlaced = (request: Sampling.SampleRequest) =>
    Effect.flatMap(deadlineFromNow, (late) => {
      const sampled = once(request)
      return Connection.quietly(watchdog.watch(resamples ? anew(sampled) : sampled, late))
    })

  /** Allocates nothing for a request before it is admitted, because thousands may be waiting. */
  const ask = (request: Sampling.SampleRequest) =>
    Effect.suspend((): Effect.Effect<Sampling.SampleResponse, WireError.WireError | TinkerError.Reason> =>
      isClosed
        ? Effect.fail(new TinkerError.Closed({ detail: "the scope of the sampling client closed" }))
        : Effect.flatMap(places.use(1)(whilePlaced(request)), (result) => toResponse(result, request))
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

  const client: SamplingClient.SamplingClient = {
    modelPath,
    capabilities: limits.capabilities,
    sample,
    computeLogprobs
  }
  return client
})
