/** Samples from the weights of one sampling session. */
import { type ModelInput, RequestRules, type Sampling, type SamplingClient, TinkerError } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import type * as Semaphore from "effect/Semaphore"
import * as Json from "../wire/Json.ts"
import * as Sample from "../wire/Sample.ts"
import * as SampleResult from "../wire/SampleResult.ts"
import * as Connection from "./Connection.ts"
import * as Futures from "./Futures.ts"
import { type HttpFailure, named } from "./HttpFailure.ts"

export interface Parts {
  readonly connection: Connection.Connection
  /** Bounds the requests of all sampling clients that are under way. */
  readonly slots: Semaphore.Semaphore
  readonly limits: RequestRules.Limits
  readonly sessionId: string
  readonly modelPath: string
}

const decodeJson = Json.decode(SampleResult.Body)

const read: Futures.Read<SampleResult.SampleResult> = (result) =>
  "json" in result ? Effect.map(decodeJson(result.json), SampleResult.fromJson) : SampleResult.decode(result.bytes)

/** How often a request whose result the service lost is made anew. */
const losses = 3

const isLost = ({ reason, status }: HttpFailure) => reason === undefined && (status === 404 || status === 410)

const unavailable = (detail: string) => new TinkerError.Unavailable({ detail: `the service answered ${detail}` })

const sampled = (sequence: SampleResult.Sequence): Effect.Effect<Sampling.SampledTokens, TinkerError.Reason> => {
  const { logprobs, stopReason, tokens } = sequence
  return logprobs !== undefined && logprobs.length === tokens.length
    ? Effect.succeed({ tokens, logprobs, stopReason })
    : Effect.fail(unavailable(`${tokens.length} tokens with ${logprobs?.length ?? 0} log-probabilities`))
}

/** Some services leave the first position out, which has none. */
const whole = (logprobs: Float32Array, length: number) =>
  logprobs.length === length - 1 ? Float32Array.of(NaN, ...logprobs) : logprobs

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

/** Can be used until its scope closes. */
export const make = Effect.fnUntraced(function*({ connection, limits, modelPath, sessionId, slots }: Parts) {
  let isClosed = false
  let nextSeqId = 0
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      isClosed = true
    })
  )

  const once = (request: Sampling.SampleRequest) =>
    Effect.suspend(() => {
      const body = Sample.fromRequest(request, sessionId, nextSeqId++)
      const post = HttpClientRequest.setHeader(
        Connection.post("/asample", body),
        "x-tinker-sampling-backpressure",
        "1"
      )
      return Effect.flatten(Futures.promised(connection, post, read))
    })

  const ask = (request: Sampling.SampleRequest) =>
    Effect.suspend((): Effect.Effect<Sampling.SampleResponse, HttpFailure | TinkerError.Reason> =>
      isClosed
        ? Effect.fail(new TinkerError.Closed({ detail: "the scope of the sampling client closed" }))
        : once(request).pipe(
          Effect.retry({ times: losses, while: isLost }),
          slots.withPermit,
          Effect.flatMap((result) => toResponse(result, request))
        )
    )

  const sample = Effect.fn("SamplingClient.sample")(function*(request: Sampling.SampleRequest) {
    yield* RequestRules.sample(request, limits)
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
