/** Bodies for sampling. The result can also be encoded as protobuf, see `SampleResult`. */
import { SequenceId } from "@effect-rl/agent/wire/Json"
import type { TinkerError } from "@effect-rl/core"
import type { Sampling } from "@effect-rl/core/backend"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Struct from "effect/Struct"
import * as Input from "./Input.ts"
import * as Matrix from "./Matrix.ts"
import * as TokenText from "./TokenText.ts"

const type = Schema.optionalKey(Schema.String)

export const CreateSamplingSessionRequest = Schema.Struct({
  session_id: Schema.String,
  sampling_session_seq_id: SequenceId,
  base_model: Schema.optionalKey(Schema.NullOr(Schema.String)),
  model_path: Schema.optionalKey(Schema.NullOr(Schema.String)),
  type
})

export const CreateSamplingSessionResponse = Schema.Struct({ sampling_session_id: Schema.String, type })

export const JoinSamplingSessionRequest = Schema.Struct({ sampling_session_id: Schema.String, type })

export const JoinSamplingSessionResponse = Schema.Struct({ client_counter: Schema.Int, type })

export const SamplingParams = Schema.Struct({
  max_tokens: Schema.optionalKey(Schema.NullOr(Schema.Int)),
  seed: Schema.optionalKey(Schema.NullOr(SequenceId)),
  stop: Schema.optionalKey(
    Schema.NullOr(Schema.Union([Schema.String, Schema.Array(Schema.String), Schema.Array(Schema.Int)]))
  ),
  temperature: Schema.optionalKey(Schema.Number),
  top_k: Schema.optionalKey(Schema.Int),
  top_p: Schema.optionalKey(Schema.Number)
})
export type SamplingParams = typeof SamplingParams.Type

export const SampleRequest = Schema.Struct({
  num_samples: Schema.optionalKey(Schema.Int),
  prompt: Input.Input,
  sampling_params: SamplingParams,
  sampling_session_id: Schema.optionalKey(Schema.NullOr(Schema.String)),
  seq_id: Schema.optionalKey(Schema.NullOr(SequenceId)),
  base_model: Schema.optionalKey(Schema.NullOr(Schema.String)),
  model_path: Schema.optionalKey(Schema.NullOr(Schema.String)),
  prompt_logprobs: Schema.optionalKey(Schema.NullOr(Schema.Boolean)),
  topk_prompt_logprobs: Schema.optionalKey(Schema.NullOr(Schema.Int)),
  topk_sample_logprobs: Schema.optionalKey(Schema.NullOr(Schema.Int)),
  target_prompt_logprobs: Schema.optionalKey(Schema.NullOr(Matrix.TensorData)),
  prompt_alt_tokens_k: Schema.optionalKey(Schema.NullOr(Schema.Int)),
  prompt_logprobs_last_n: Schema.optionalKey(Schema.NullOr(Schema.Int)),
  record_stability_info: Schema.optionalKey(Schema.NullOr(Schema.Boolean)),
  type
})
export type SampleRequest = typeof SampleRequest.Type

/** The number of prompt positions, as far as the chunks state it. */
export const promptLength = ({ chunks }: Input.Input) =>
  chunks.reduce(
    (sum, chunk) => sum + ("tokens" in chunk ? chunk.tokens.length : "data" in chunk ? chunk.expected_tokens ?? 0 : 0),
    0
  )

/** The API's field names for features that only some backends support. */
const extras = {
  topk_sample_logprobs: "topkSampleLogprobs",
  target_prompt_logprobs: "targetPromptLogprobs",
  prompt_alt_tokens_k: "promptAltTokens",
  record_stability_info: "recordStabilityInfo"
} as const satisfies Partial<Record<keyof SampleRequest, Sampling.Extra>>

const isAsked = (value: unknown) => value !== undefined && value !== null && value !== 0 && value !== false

/** The API name of the first field that requests a feature missing from `sampling`. */
export const unsupported = (request: SampleRequest, sampling: ReadonlyArray<Sampling.Extra>): string | undefined =>
  Struct.keys(extras).find((field) => isAsked(request[field]) && !sampling.includes(extras[field]))

/** Spells out all defaults, because servers have different ones. */
const fromParams = (params: Sampling.SamplingParams): SamplingParams => ({
  max_tokens: params.maxTokens,
  ...(params.seed === undefined ? {} : { seed: params.seed }),
  ...(params.stop === undefined ? {} : { stop: params.stop }),
  temperature: params.temperature ?? 1,
  top_k: params.topK ?? -1,
  top_p: params.topP ?? 1
})

/** Fields that not every server supports. */
const fromExtras = (request: Sampling.SampleRequest): Partial<SampleRequest> => {
  const { promptAltTokens, promptLogprobsLastN, recordStabilityInfo, targetPromptLogprobs, topkSampleLogprobs } =
    request
  return {
    ...(topkSampleLogprobs === undefined ? {} : { topk_sample_logprobs: topkSampleLogprobs }),
    ...(targetPromptLogprobs === undefined ? {} : { target_prompt_logprobs: Matrix.fromTargets(targetPromptLogprobs) }),
    ...(promptAltTokens === undefined ? {} : { prompt_alt_tokens_k: promptAltTokens }),
    ...(promptLogprobsLastN === undefined ? {} : { prompt_logprobs_last_n: promptLogprobsLastN }),
    ...(recordStabilityInfo === undefined ? {} : { record_stability_info: recordStabilityInfo })
  }
}

const fieldsOf = (request: Sampling.SampleRequest, session: string, seqId: number): Omit<SampleRequest, "prompt"> => ({
  num_samples: request.numSamples ?? 1,
  sampling_params: fromParams(request.params),
  sampling_session_id: session,
  seq_id: seqId,
  prompt_logprobs: request.promptLogprobs ?? false,
  topk_prompt_logprobs: request.topkPromptLogprobs ?? 0,
  ...fromExtras(request),
  type: "sample"
})

/** A sampling request as JSON. `seqId` is new for each request, and the same when it is repeated. */
export const encode = (request: Sampling.SampleRequest, session: string, seqId: number): Uint8Array =>
  TokenText.encode([
    "{\"prompt\":",
    ...Input.texts(request.prompt),
    `,${JSON.stringify(fieldsOf(request, session, seqId)).slice(1)}`
  ])

/** Number of bits in a seed, so a sample index can be added without losing digits. */
const seedBits = 48

/** Reduces a larger seed by mixing its upper bits into the lower ones, so neighbouring seeds stay distinct. */
const seedOf = (seed: SequenceId) => {
  if (typeof seed === "number" && Math.abs(seed) < 2 ** seedBits) return seed
  const whole = BigInt.asUintN(64, BigInt(seed))
  return Number(BigInt.asUintN(seedBits, whole + (whole >> BigInt(seedBits)) * 0x9e37_79b9_7f4bn))
}

const toParams = (params: SamplingParams, defaultMaxTokens: number): Sampling.SamplingParams => ({
  maxTokens: params.max_tokens ?? defaultMaxTokens,
  ...(params.stop === undefined || params.stop === null
    ? {}
    : { stop: typeof params.stop === "string" ? [params.stop] : params.stop }),
  ...(params.seed === undefined || params.seed === null ? {} : { seed: seedOf(params.seed) }),
  temperature: params.temperature ?? 1,
  topP: params.top_p ?? 1,
  topK: params.top_k ?? -1
})

/** Includes only the requested extra fields. */
const toExtras = Effect.fnUntraced(function*(
  body: SampleRequest,
  promptLength: number
): Effect.fn.Return<Partial<Sampling.SampleRequest>, TinkerError.Rejected> {
  const { target_prompt_logprobs: targets } = body
  const matrix = targets === undefined || targets === null
    ? undefined
    : yield* Matrix.toTargets("target_prompt_logprobs", targets, promptLength - 1)
  return {
    ...(isAsked(body.topk_sample_logprobs) ? { topkSampleLogprobs: body.topk_sample_logprobs ?? 0 } : {}),
    ...(matrix === undefined ? {} : { targetPromptLogprobs: matrix }),
    ...(isAsked(body.prompt_alt_tokens_k) ? { promptAltTokens: body.prompt_alt_tokens_k ?? 0 } : {}),
    ...(typeof body.prompt_logprobs_last_n === "number" ? { promptLogprobsLastN: body.prompt_logprobs_last_n } : {}),
    ...(body.record_stability_info === true ? { recordStabilityInfo: true } : {})
  }
})

/** Decodes a request. Without `max_tokens`, a sample may extend to the end of a context of `contextLength` tokens. */
export const toRequest = Effect.fnUntraced(function*(
  body: SampleRequest,
  contextLength: number
): Effect.fn.Return<Sampling.SampleRequest, TinkerError.Rejected> {
  const prompt = yield* Input.toModelInput(body.prompt)
  return {
    prompt,
    numSamples: body.num_samples ?? 1,
    params: toParams(body.sampling_params, Math.max(contextLength - prompt.length, 1)),
    promptLogprobs: body.prompt_logprobs ?? false,
    topkPromptLogprobs: body.topk_prompt_logprobs ?? 0,
    ...(yield* toExtras(body, prompt.length))
  }
})
