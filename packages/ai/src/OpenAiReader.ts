/**
 * A model behind an OpenAI-compatible endpoint as a client that scores prompts, such as a teacher or a reference that
 * another program serves. The endpoint must return log-probabilities of prompts, as vLLM does on request
 * (`prompt_logprobs`), or repeat a prompt with its log-probabilities (`echo`), as `effect-rl serve` does. The client
 * does not sample.
 *
 * @example
 * const teacher = OpenAiReader.make({ url: "http://127.0.0.1:8000/v1", model: "Qwen/Qwen3-32B" })
 * const credit = Effect.map(teacher, (teacher) => Credit.distill({ teacher }))
 */
import { TinkerError } from "@effect-rl/core"
import { type Capabilities, ModelInput, type Sampling, type SamplingClient } from "@effect-rl/core/backend"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { identity } from "effect/Function"
import * as HttpClient from "effect/http/HttpClient"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as HttpClientResponse from "effect/http/HttpClientResponse"
import type * as Redacted from "effect/Redacted"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"

export interface Options {
  /** The address up to the version, such as `http://127.0.0.1:8000/v1`. */
  readonly url: string
  /** The model's name at the endpoint. */
  readonly model: string
  readonly apiKey?: Redacted.Redacted
  /**
   * Maximum prompt length in tokens. Default: one less than the `max_model_len` that the endpoint lists for the model,
   * because a request must also sample a token.
   */
  readonly contextLength?: number
}

const Listed = Schema.Struct({
  data: Schema.Array(Schema.Struct({
    id: Schema.String,
    max_model_len: Schema.optionalKey(Schema.NullOr(Schema.Int))
  }))
})

const Position = Schema.NullOr(Schema.Record(Schema.String, Schema.Struct({ logprob: Schema.Number })))

const Choice = Schema.Struct({
  prompt_logprobs: Schema.optionalKey(Schema.NullOr(Schema.Array(Position))),
  logprobs: Schema.optionalKey(
    Schema.NullOr(Schema.Struct({ token_logprobs: Schema.Array(Schema.NullOr(Schema.Number)) }))
  )
})

const Completion = Schema.Struct({ choices: Schema.NonEmptyArray(Choice) })

type Reason = TinkerError.Reason

/**
 * The log-probability of each prompt token, and the likeliest tokens of each position. The first position has neither.
 */
interface Scores {
  readonly logprobs: Float32Array
  readonly topk: ReadonlyArray<ReadonlyArray<Sampling.TokenLogprob>>
}

/** A way to ask an endpoint for the log-probabilities of a prompt. */
interface Form {
  /** Maximum number of likeliest tokens per position. */
  readonly most: number
  readonly body: (topk: number) => object
  /** The scores in an answer; undefined if it has none. */
  readonly scores: (choice: typeof Choice.Type, tokens: Int32Array, topk: number) => Scores | undefined
}

const mostLikelyFirst = (position: NonNullable<typeof Position.Type>) =>
  Object.entries(position)
    .map(([token, { logprob }]) => ({ token: Number(token), logprob }))
    .toSorted((left, right) => right.logprob - left.logprob)

/**
 * vLLM's `prompt_logprobs` field. For each position, the answer has the likeliest tokens and the prompt's own token, by
 * id. 20 is vLLM's default limit.
 */
const promptLogprobs: Form = {
  most: 20,
  body: (topk) => ({ prompt_logprobs: topk }),
  scores: ({ prompt_logprobs: positions }, tokens, topk) =>
    positions?.length !== tokens.length ? undefined : {
      logprobs: Float32Array.from(tokens, (token, at) => positions[at]?.[token]?.logprob ?? NaN),
      topk: positions.map((position) => position === null ? [] : mostLikelyFirst(position).slice(0, topk))
    }
}

/**
 * OpenAI's `echo` and `logprobs` fields. The answer repeats the prompt before the completion, with its
 * log-probabilities. It names likely tokens by their text instead of their id, so they cannot be used.
 */
const echo: Form = {
  most: 0,
  body: () => ({ echo: true, logprobs: 1 }),
  scores: ({ logprobs }, { length }) =>
    logprobs === undefined || logprobs === null || logprobs.token_logprobs.length < length ? undefined : {
      logprobs: Float32Array.from(logprobs.token_logprobs.slice(0, length), (logprob) => logprob ?? NaN),
      topk: []
    }
}

const forms = [promptLogprobs, echo]

const unsupported = (capability: string, detail: string) => new TinkerError.Unsupported({ capability, detail })

/** How long to wait before a request that was answered with 429 is repeated. Default: one second. */
const retryAfterMillis = (headers: Readonly<Record<string, string | undefined>>) => {
  const seconds = Number(headers["retry-after"] ?? NaN)
  return Math.ceil(1000 * (Number.isFinite(seconds) ? Math.max(0, seconds) : 1))
}

const reasonOf = Effect.fnUntraced(function*(
  { headers, status, text }: HttpClientResponse.HttpClientResponse
): Effect.fn.Return<Reason> {
  if (status === 429) return new TinkerError.RateLimited({ retryAfterMillis: retryAfterMillis(headers) })
  const body = yield* Effect.orElseSucceed(text, () => "")
  const detail = `status ${status}: ${body.slice(0, 500)}`
  return status >= 500 || status === 408
    ? new TinkerError.Unavailable({ detail })
    : new TinkerError.Rejected({ detail })
})

/** Repeats a request for up to five minutes while the endpoint is unavailable or limits the rate. */
const patience = Schedule.min([Schedule.exponential("500 millis"), Schedule.spaced("10 seconds")]).pipe(
  Schedule.jittered,
  Schedule.setInputType<Reason>(),
  Schedule.while(({ input: { _tag } }) => _tag === "Unavailable" || _tag === "RateLimited"),
  Schedule.modifyDelay(({ duration, input }) =>
    Effect.succeed(
      input._tag === "RateLimited" ? Duration.max(duration, Duration.millis(input.retryAfterMillis)) : duration
    )
  ),
  Schedule.upTo({ duration: "5 minutes" })
)

/** Sends a request, repeats it while the endpoint cannot answer, and decodes the answer. */
const answer = <S extends Schema.Decoder<unknown>>(
  client: HttpClient.HttpClient,
  request: HttpClientRequest.HttpClientRequest,
  schema: S
): Effect.Effect<S["Type"], Reason> =>
  client.execute(request).pipe(
    Effect.mapError(({ message }): Reason => new TinkerError.Unavailable({ detail: message })),
    Effect.flatMap((response) =>
      response.status >= 200 && response.status < 300
        ? Effect.mapError(
          HttpClientResponse.schemaBodyJson(schema)(response),
          ({ message }): Reason =>
            new TinkerError.Rejected({ detail: `${request.url} answered with another body: ${message}` })
        )
        : Effect.flatMap(reasonOf(response), (reason) => Effect.fail(reason))
    ),
    Effect.retry(patience)
  )

const named = (operation: string) =>
  Effect.mapError((reason: Reason) => new TinkerError.TinkerError({ operation, reason }))

/**
 * The given context length, or else the length from the endpoint's list of models. Fails if neither states it, or if
 * the model is not listed.
 */
const listedLength = Effect.fnUntraced(function*(
  client: HttpClient.HttpClient,
  { contextLength, model, url }: Options
): Effect.fn.Return<number, Reason> {
  const { data } = yield* answer(client, HttpClientRequest.get("/models"), Listed)
  const listed = data.find(({ id }) => id === model)
  if (listed === undefined) {
    return yield* new TinkerError.NotFound({ kind: "model", name: model, available: data.map(({ id }) => id) })
  }
  const length = contextLength ?? (typeof listed.max_model_len === "number" ? listed.max_model_len - 1 : undefined)
  return length ?? (yield* unsupported("contextLength", `${url} does not tell that of ${model}: pass contextLength`))
})

/**
 * A client of the model. Two or three requests first find out what the endpoint can do; `capabilities` report it:
 * `topkPromptLogprobs` is 20 with vLLM's `prompt_logprobs` and 0 with `echo`. Fails as `NotFound` if the endpoint does
 * not list the model, and as `Unsupported` if it returns no log-probabilities of prompts or does not state the context
 * length. Requests that fail in transit or with status 408, 429 or 500 and above are repeated for up to five minutes.
 * Prompts are sent as token ids of the model's own tokenizer. If the student has another tokenizer, give
 * `Credit.distill` both `models`.
 */
export const make = Effect.fn("OpenAiReader.make")(function*(
  options: Options
): Effect.fn.Return<SamplingClient.SamplingClient, TinkerError.TinkerError, HttpClient.HttpClient> {
  const { apiKey, model, url } = options
  const client = HttpClient.mapRequest(
    yield* HttpClient.HttpClient,
    (request) =>
      HttpClientRequest.prependUrl(request, url).pipe(
        apiKey === undefined ? identity : HttpClientRequest.bearerToken(apiKey)
      )
  )
  const contextLength = yield* named("capabilities")(listedLength(client, options))

  const ask = Effect.fnUntraced(function*(
    { body, scores }: Form,
    tokens: Int32Array,
    topk: number
  ): Effect.fn.Return<Scores | undefined, Reason> {
    const asked = { model, prompt: Array.from(tokens), max_tokens: 1, ...body(topk) }
    const request = HttpClientRequest.bodyJsonUnsafe(HttpClientRequest.post("/completions"), asked)
    const { choices: [choice] } = yield* answer(client, request, Completion)
    return scores(choice, tokens, topk)
  })

  /** Whether the endpoint understands the form: it neither refuses the request nor ignores its fields. */
  const understands = (form: Form) =>
    ask(form, Int32Array.of(0, 0), 0).pipe(
      Effect.map((scores) => scores !== undefined),
      Effect.catchTag("Rejected", () => Effect.succeed(false))
    )

  const form = yield* named("capabilities")(Effect.gen(function*() {
    for (const form of forms) if (yield* understands(form)) return form
    const detail = `${url} returns none for ${model}, neither as prompt_logprobs nor with echo: ` +
      "expected an endpoint such as those of vLLM and effect-rl serve"
    return yield* unsupported("promptLogprobs", detail)
  }))

  const capabilities: Capabilities.Capabilities = {
    contextLength,
    lossReduction: "unknown",
    seeds: "none",
    promptLogprobs: true,
    topkPromptLogprobs: form.most,
    loraRank: [0, 0]
  }

  const read = Effect.fnUntraced(function*(
    prompt: ModelInput.ModelInput,
    topk: number
  ): Effect.fn.Return<Scores, Reason> {
    if (prompt.length > contextLength) {
      return yield* new TinkerError.ContextTooLong({ promptTokens: prompt.length, maxTokens: 0, contextLength })
    }
    if (topk > form.most) {
      return yield* unsupported("topkPromptLogprobs", `${model} returns at most ${form.most}, expected ${topk}`)
    }
    const tokens = yield* Effect.mapError(
      ModelInput.toTokens(prompt),
      ({ message }) => new TinkerError.Rejected({ detail: message })
    )
    const scores = yield* ask(form, tokens, topk)
    const missing = scores?.logprobs.findIndex((logprob, at) => at > 0 && Number.isNaN(logprob))
    if (scores !== undefined && missing === -1) return scores
    const detail = `${url} returned no log-probability of prompt token ${missing ?? 0} of ${tokens.length}`
    return yield* unsupported("promptLogprobs", detail)
  })

  return {
    modelPath: model,
    capabilities,
    sample: Effect.fn("SamplingClient.sample")(
      function*({ params: { maxTokens }, prompt, promptLogprobs = false, topkPromptLogprobs = 0 }) {
        if (maxTokens > 1 || !(promptLogprobs || topkPromptLogprobs > 0)) {
          return yield* unsupported("sampling", `${model} at ${url} only scores prompts here`)
        }
        const { logprobs, topk } = yield* read(prompt, topkPromptLogprobs)
        return { sequences: [], promptLogprobs: logprobs, ...(topkPromptLogprobs > 0 && { topkPromptLogprobs: topk }) }
      },
      named("sample")
    ),
    computeLogprobs: Effect.fn("SamplingClient.computeLogprobs")(
      (prompt: ModelInput.ModelInput) => Effect.map(read(prompt, 0), ({ logprobs }) => logprobs),
      named("computeLogprobs")
    )
  }
})
