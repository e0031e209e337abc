/** The answer to a sampling request, as protobuf and as JSON. */
import { create, toBinary } from "@bufbuild/protobuf"
import { MalformedBody } from "@effect-rl/agent/wire/Json"
import type { Sampling } from "@effect-rl/core/backend"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Bytes from "./Bytes.ts"
import {
  DType,
  type PromptAltTokens,
  type SampledSequence,
  type SampleResponse,
  SampleResponseSchema,
  StopReason,
  type Tensor as TensorMessage,
  type TopkLogprobs
} from "./gen/TinkerPublic.gen.ts"
import * as Size from "./Size.ts"
import * as Tensor from "./Tensor.ts"

/** A sampled sequence. Servers may omit its log-probabilities. */
export interface Sequence {
  readonly tokens: Int32Array
  readonly stopReason: Sampling.SampleStopReason
  readonly logprobs?: Float32Array
  readonly topkLogprobs?: Topk
}

export interface SampleResult extends Omit<Sampling.SampleResponse, "sequences"> {
  readonly sequences: ReadonlyArray<Sequence>
  readonly promptCacheHitTokens: number
}

/** Marks a cell without a candidate. */
const emptyLogprob = -99999

const stopReasons = new Map<number, Sampling.SampleStopReason>([
  [StopReason.STOP, "stop"],
  [StopReason.LENGTH, "length"]
])

const floats = (bytes: Uint8Array | undefined) =>
  bytes === undefined || bytes.length === 0 ? Result.succeed(undefined) : Bytes.toFloat32(bytes)

const sequence = (received: SampledSequence): Result.Result<Sequence, string> =>
  Result.gen(function*() {
    const stopReason = stopReasons.get(received.stopReason)
    if (stopReason === undefined) return yield* Result.fail(`stop_reason ${received.stopReason} is unknown`)
    const tokens = yield* Bytes.toInt32(received.tokens)
    const logprobs = yield* floats(received.logprobs)
    const topkLogprobs = yield* topk("topk_sampled_logprobs", received.topkSampledLogprobs)
    return {
      tokens,
      stopReason,
      ...(logprobs === undefined ? {} : { logprobs }),
      ...(topkLogprobs === undefined ? {} : { topkLogprobs })
    }
  })

type Topk = ReadonlyArray<ReadonlyArray<Sampling.TokenLogprob>>

const topk = (name: string, received: TopkLogprobs | undefined): Result.Result<Topk | undefined, string> =>
  Result.gen(function*() {
    if (received === undefined || received.k === 0 || received.length === 0) return undefined
    const { k, length } = received
    const tokens = yield* Bytes.toInt32(received.tokenIds)
    const logprobs = yield* Bytes.toFloat32(received.logprobs)
    if (tokens.length < k * length || logprobs.length < k * length) {
      return yield* Result.fail(`${name} has fewer than ${length} rows of ${k}`)
    }
    return Array.from({ length: length }, (_, t) =>
      Array.from({ length: k }, (_, column) => ({
        token: tokens[t * k + column] ?? 0,
        logprob: logprobs[t * k + column] ?? emptyLogprob
      })).filter(({ logprob, token }) => token !== 0 || logprob !== emptyLogprob))
  })

const allowance = () => ({ cells: Tensor.mostCells })

const rowsOf = ({ shape }: TensorMessage) => Number(shape[0] ?? 0n)

const targets = (received: TensorMessage | undefined): Result.Result<Sampling.TargetLogprobs | undefined, string> =>
  received === undefined
    ? Result.succeed(undefined)
    : Result.map(
      Tensor.floats(received, rowsOf(received), allowance()),
      ({ columns = 1, values }) => ({ logprobs: values, candidates: columns })
    )

const altTokens = (received: PromptAltTokens | undefined): Result.Result<
  Sampling.PromptAltTokens | undefined,
  string
> =>
  Result.gen(function*() {
    const { logprobs, tokens } = received ?? {}
    if (tokens === undefined || logprobs === undefined) return undefined
    const drawn = yield* Tensor.tokens(tokens, rowsOf(tokens), allowance())
    const scored = yield* Tensor.floats(logprobs, rowsOf(logprobs), allowance())
    return drawn.values.length === scored.values.length
      ? { tokens: drawn.values, logprobs: scored.values, candidates: drawn.columns ?? 1 }
      : yield* Result.fail("prompt_alt_tokens has other numbers of tokens and of log-probabilities")
  })

/** Maximum number of candidates in one answer over all positions. Eight bytes become an object of eighty bytes. */
const mostCandidates = 2 ** 22

const candidatesIn = ({ sequences, topkPromptLogprobs }: SampleResponse) =>
  [topkPromptLogprobs, ...sequences.map(({ topkSampledLogprobs }) => topkSampledLogprobs)]
    .reduce((sum, one) => sum + (one === undefined ? 0 : one.k * one.length), 0)

const fromMessage = (message: SampleResponse): Result.Result<SampleResult, string> =>
  Result.gen(function*() {
    if (candidatesIn(message) > mostCandidates) {
      return yield* Result.fail(`it has more than ${mostCandidates} candidates`)
    }
    const promptLogprobs = yield* floats(message.promptLogprobs)
    const topkPromptLogprobs = yield* topk("topk_prompt_logprobs", message.topkPromptLogprobs)
    const targetPromptLogprobs = yield* targets(message.targetPromptLogprobs)
    const promptAltTokens = yield* altTokens(message.promptAltTokens)
    return {
      sequences: yield* Result.all(message.sequences.map(sequence)),
      ...(promptLogprobs === undefined ? {} : { promptLogprobs }),
      ...(topkPromptLogprobs === undefined ? {} : { topkPromptLogprobs }),
      ...(targetPromptLogprobs === undefined ? {} : { targetPromptLogprobs }),
      ...(promptAltTokens === undefined ? {} : { promptAltTokens }),
      promptCacheHitTokens: message.promptCacheHitTokens
    }
  })

/** Maximum number of protobuf fields. Each sequence has about ten, for its stop reason, tokens, log-probabilities and candidates. */
const mostFields = 500_000

export const decode = (bytes: Uint8Array): Effect.Effect<SampleResult, MalformedBody> =>
  Effect.flatMap(
    Size.decode(SampleResponseSchema, bytes, mostFields),
    (message) => Effect.mapError(Effect.fromResult(fromMessage(message)), (detail) => new MalformedBody({ detail }))
  )

const topkBytes = (rows: Topk) => {
  const k = rows.reduce((most, row) => Math.max(most, row.length), 0)
  const tokens = new Int32Array(rows.length * k)
  const logprobs = new Float32Array(rows.length * k).fill(emptyLogprob)
  for (const [t, row] of rows.entries()) {
    for (const [column, cell] of row.entries()) {
      tokens[t * k + column] = cell.token
      logprobs[t * k + column] = cell.logprob
    }
  }
  return { tokenIds: Bytes.of(tokens), logprobs: Bytes.of(logprobs), k, length: rows.length }
}

/** Values `[rows, candidates]` as a tensor message. */
const matrix = (values: Int32Array | Float32Array, candidates: number) => ({
  encoding: {
    case: "dense" as const,
    value: values instanceof Int32Array ? Bytes.int64(values) : Bytes.of(values)
  },
  dtype: values instanceof Int32Array ? DType.INT64 : DType.FLOAT32,
  shape: [BigInt(values.length / Math.max(candidates, 1)), BigInt(candidates)]
})

export const encode = (response: Sampling.SampleResponse): Uint8Array => {
  const { promptAltTokens: alternatives, promptCacheHitTokens = 0, promptLogprobs, sequences } = response
  const { targetPromptLogprobs, topkPromptLogprobs } = response
  return toBinary(
    SampleResponseSchema,
    create(SampleResponseSchema, {
      sequences: sequences.map(({ logprobs, stopReason, tokens, topkLogprobs }) => ({
        stopReason: stopReason === "stop" ? StopReason.STOP : StopReason.LENGTH,
        tokens: Bytes.of(tokens),
        logprobs: Bytes.of(logprobs),
        ...(topkLogprobs === undefined ? {} : { topkSampledLogprobs: topkBytes(topkLogprobs) })
      })),
      promptCacheHitTokens,
      ...(promptLogprobs === undefined ? {} : { promptLogprobs: Bytes.of(promptLogprobs) }),
      ...(topkPromptLogprobs === undefined ? {} : { topkPromptLogprobs: topkBytes(topkPromptLogprobs) }),
      ...(targetPromptLogprobs === undefined
        ? {}
        : { targetPromptLogprobs: matrix(targetPromptLogprobs.logprobs, targetPromptLogprobs.candidates) }),
      ...(alternatives === undefined ? {} : {
        promptAltTokens: {
          tokens: matrix(alternatives.tokens, alternatives.candidates),
          logprobs: matrix(alternatives.logprobs, alternatives.candidates)
        }
      })
    })
  )
}

const Logprobs = Schema.Array(Schema.NullOr(Schema.Number))

const TopkRows = Schema.optionalKey(
  Schema.NullOr(Schema.Array(Schema.NullOr(Schema.Array(Schema.Tuple([Schema.Int, Schema.Number])))))
)

/** The answer to a sampling request as JSON. */
export const Body = Schema.Struct({
  type: Schema.optionalKey(Schema.String),
  sequences: Schema.Array(Schema.Struct({
    stop_reason: Schema.Literals(["stop", "length"]),
    tokens: Schema.Array(Schema.Int),
    logprobs: Schema.optionalKey(Schema.NullOr(Logprobs)),
    topk_logprobs: TopkRows
  })),
  prompt_logprobs: Schema.optionalKey(Schema.NullOr(Logprobs)),
  topk_prompt_logprobs: TopkRows,
  prompt_cache_hit_tokens: Schema.optionalKey(Schema.Int)
})

const toFloats = (values: ReadonlyArray<number | null>) => Float32Array.from(values, (value) => value ?? NaN)

type Rows = NonNullable<typeof Body.Type["topk_prompt_logprobs"]>

const fromRows = (rows: Rows): Topk => rows.map((row) => (row ?? []).map(([token, logprob]) => ({ token, logprob })))

const toRows = (rows: Topk): Rows =>
  rows.map((row) => row.length === 0 ? null : row.map(({ logprob, token }) => [token, logprob] as const))

export const fromJson = (body: typeof Body.Type): SampleResult => ({
  sequences: body.sequences.map(({ logprobs, stop_reason, tokens, topk_logprobs }) => ({
    tokens: Int32Array.from(tokens),
    stopReason: stop_reason,
    ...(logprobs === undefined || logprobs === null ? {} : { logprobs: toFloats(logprobs) }),
    ...(topk_logprobs === undefined || topk_logprobs === null ? {} : { topkLogprobs: fromRows(topk_logprobs) })
  })),
  ...(body.prompt_logprobs === undefined || body.prompt_logprobs === null
    ? {}
    : { promptLogprobs: toFloats(body.prompt_logprobs) }),
  ...(body.topk_prompt_logprobs === undefined || body.topk_prompt_logprobs === null
    ? {}
    : {
      topkPromptLogprobs: fromRows(body.topk_prompt_logprobs)
    }),
  promptCacheHitTokens: body.prompt_cache_hit_tokens ?? 0
})

const finiteOrNull = (value: number) => Number.isFinite(value) ? value : null

export const toJson = (
  { promptCacheHitTokens = 0, promptLogprobs, sequences, topkPromptLogprobs }: Sampling.SampleResponse
): typeof Body.Type => ({
  type: "sample",
  sequences: sequences.map(({ logprobs, stopReason, tokens, topkLogprobs }) => ({
    stop_reason: stopReason,
    tokens: Array.from(tokens),
    logprobs: Array.from(logprobs, finiteOrNull),
    ...(topkLogprobs === undefined ? {} : { topk_logprobs: toRows(topkLogprobs) })
  })),
  prompt_logprobs: promptLogprobs === undefined ? null : Array.from(promptLogprobs, finiteOrNull),
  topk_prompt_logprobs: topkPromptLogprobs === undefined ? null : toRows(topkPromptLogprobs),
  prompt_cache_hit_tokens: promptCacheHitTokens
})
