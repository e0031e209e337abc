/** Bodies for the service, its models and sessions. */
import type { Loss } from "@effect-rl/core"
import { Capabilities, type Sampling } from "@effect-rl/core/backend"
import * as Schema from "effect/Schema"
import * as Note from "./Note.ts"

/** The client configuration from the service. Every key is optional. */
export const ClientConfigResponse = Schema.Struct({
  pjwt_auth_enabled: Schema.optionalKey(Schema.Boolean),
  credential_default_source: Schema.optionalKey(Schema.String),
  sample_dispatch_bytes_semaphore_size: Schema.optionalKey(Schema.Int),
  inflight_response_bytes_semaphore_size: Schema.optionalKey(Schema.Int),
  fwdbwd_dispatch_bytes_semaphore_size: Schema.optionalKey(Schema.Int),
  fwdbwd_max_chunk_len: Schema.optionalKey(Schema.Int),
  fwdbwd_max_chunk_bytes_count: Schema.optionalKey(Schema.Int),
  parallel_fwdbwd_chunks: Schema.optionalKey(Schema.Boolean),
  proto_compress_fwdbwd: Schema.optionalKey(Schema.Boolean),
  billing_exception_max_pause_duration_sec: Schema.optionalKey(Schema.Number),
  sample_no_retries: Schema.optionalKey(Schema.Boolean),
  sample_enable_stuck_detection: Schema.optionalKey(Schema.Boolean),
  sample_max_concurrent_requests: Schema.optionalKey(Schema.Int),
  create_model_via_load_weights: Schema.optionalKey(Schema.Boolean),
  sample_join_sampling_session: Schema.optionalKey(Schema.Boolean),
  sample_use_retrieve_futures: Schema.optionalKey(Schema.Boolean),
  custom_loss_server_side: Schema.optionalKey(Schema.Boolean)
})
export type ClientConfigResponse = typeof ClientConfigResponse.Type

export const DynamicConfigResponse = Schema.Struct({
  refresh_interval_sec: Schema.Number,
  sample_cancel_enabled: Schema.optionalKey(Schema.Boolean),
  sample_cancel_max_batch_size: Schema.optionalKey(Schema.Int)
})

export const AuthTokenResponse = Schema.Struct({ jwt: Schema.String })

export const CreateSessionRequest = Schema.Struct({
  tags: Schema.optionalKey(Schema.Array(Schema.String)),
  user_metadata: Schema.optionalKey(Schema.NullOr(Note.LooseMetadata)),
  sdk_version: Schema.optionalKey(Schema.String),
  project_id: Schema.optionalKey(Schema.NullOr(Schema.String)),
  display_name: Schema.optionalKey(Schema.NullOr(Note.Name)),
  type: Schema.optionalKey(Schema.String)
})

export const CreateSessionResponse = Schema.Struct({
  type: Schema.optionalKey(Schema.String),
  session_id: Schema.String,
  info_message: Schema.optionalKey(Schema.NullOr(Schema.String)),
  warning_message: Schema.optionalKey(Schema.NullOr(Schema.String)),
  error_message: Schema.optionalKey(Schema.NullOr(Schema.String))
})

const Outcome = Schema.Struct({ type: Schema.Literals(["success", "errored", "interrupted"]) })

/** How a client's run ended. A request without a body means success. */
export const FinishRequest = Schema.Struct({
  reason: Schema.optionalKey(Schema.NullOr(Outcome)),
  detail: Schema.optionalKey(Schema.NullOr(Schema.String))
})
export type FinishRequest = typeof FinishRequest.Type

export const SessionStatus = Schema.Union([
  Schema.Struct({ type: Schema.Literal("active") }),
  Schema.Struct({
    type: Schema.Literal("client_finished"),
    reason: Outcome,
    detail: Schema.NullOr(Schema.String)
  })
])
export type SessionStatus = typeof SessionStatus.Type

/** Maximum length of a status filter, above the number of existing statuses and reasons. */
const mostStatuses = 20

const StatusQuery = Schema.Union([
  Schema.Struct({
    type: Schema.Literal("client_finished"),
    reasons: Schema.optionalKey(
      Schema.NullOr(Schema.Array(Outcome.fields.type).check(Schema.isMaxLength(mostStatuses)))
    )
  }),
  Schema.Struct({ type: Schema.Literals(["active", "cancelled", "failed"]) })
])
export type StatusQuery = typeof StatusQuery.Type

const SearchCursor = Schema.Struct({ last_created_at: Schema.String, last_session_id: Schema.String })

export const SearchRequest = Schema.Struct({
  session_id: Schema.optionalKey(Schema.NullOr(Schema.String)),
  project_ids: Schema.optionalKey(Schema.NullOr(Schema.Array(Schema.String))),
  user_metadata: Schema.optionalKey(Note.Metadata),
  display_name: Schema.optionalKey(Schema.NullOr(Note.Name.check(Schema.isNonEmpty()))),
  owner: Schema.optionalKey(
    Schema.Struct({
      type: Schema.Literals(["own", "accessible", "user"]),
      owner_urns: Schema.optionalKey(Schema.Unknown)
    })
  ),
  statuses: Schema.optionalKey(
    Schema.NullOr(Schema.NonEmptyArray(StatusQuery).check(Schema.isMaxLength(mostStatuses)))
  ),
  limit: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 200 }))),
  cursor: Schema.optionalKey(Schema.NullOr(SearchCursor))
})
export type SearchRequest = typeof SearchRequest.Type

export const HeartbeatRequest = Schema.Struct({ session_id: Schema.String, type: Schema.optionalKey(Schema.String) })

/** The API has no grammars; servers of this project support them only on their chat endpoints. */
const extras = [
  "topkSampleLogprobs",
  "targetPromptLogprobs",
  "promptAltTokens",
  "promptLogprobsLastN",
  "recordStabilityInfo"
] as const satisfies ReadonlyArray<Sampling.Extra>

const losses = ["stable_reinforce"] as const satisfies ReadonlyArray<Loss.Name>

/** All features of the newest API beyond those of every backend. */
export const newest = { sampling: extras, losses } satisfies Pick<Capabilities.Capabilities, "losses" | "sampling">

/** Fields outside the API, sent only by servers of this project. */
const ModelDetails = Schema.Struct({
  loss_reduction: Schema.Literals(["token-sum", "sequence-mean", "unknown"]),
  seeds: Schema.Literals(Capabilities.seeds),
  prompt_logprobs: Schema.Boolean,
  topk_prompt_logprobs: Schema.Int,
  sampling: Schema.optionalKey(Schema.Array(Schema.Literals(extras))),
  losses: Schema.optionalKey(Schema.Array(Schema.Literals(losses))),
  lora_rank: Schema.Tuple([Schema.Int, Schema.Int]),
  tokenizer_fingerprint: Schema.optionalKey(Schema.String)
})

const SupportedModel = Schema.Struct({
  model_name: Schema.optionalKey(Schema.NullOr(Schema.String)),
  max_context_length: Schema.optionalKey(Schema.NullOr(Schema.Int)),
  trainable: Schema.optionalKey(Schema.NullOr(Schema.Boolean)),
  sampleable: Schema.optionalKey(Schema.NullOr(Schema.Boolean)),
  effect_rl: Schema.optionalKey(ModelDetails)
})
export type SupportedModel = typeof SupportedModel.Type

export const ServerCapabilities = Schema.Struct({ supported_models: Schema.Array(SupportedModel) })

/** The capabilities assumed for a server that does not report them. */
const usual: Capabilities.Capabilities = {
  contextLength: 32_768,
  lossReduction: "token-sum",
  seeds: "request",
  promptLogprobs: true,
  topkPromptLogprobs: 20,
  loraRank: [1, 128]
}

export const supportedModel = (name: string, capabilities: Capabilities.Capabilities): SupportedModel => ({
  model_name: name,
  max_context_length: capabilities.contextLength,
  trainable: true,
  sampleable: true,
  effect_rl: {
    loss_reduction: capabilities.lossReduction,
    seeds: capabilities.seeds,
    prompt_logprobs: capabilities.promptLogprobs,
    topk_prompt_logprobs: capabilities.topkPromptLogprobs,
    sampling: extras.filter((name) => capabilities.sampling?.includes(name)),
    losses: losses.filter((name) => capabilities.losses?.includes(name)),
    lora_rank: capabilities.loraRank,
    ...(capabilities.tokenizerFingerprint === undefined
      ? {}
      : { tokenizer_fingerprint: capabilities.tokenizerFingerprint })
  }
})

export const capabilities = (
  { effect_rl: details, max_context_length }: SupportedModel
): Capabilities.Capabilities => ({
  ...usual,
  ...(details === undefined ? {} : {
    lossReduction: details.loss_reduction,
    seeds: details.seeds,
    promptLogprobs: details.prompt_logprobs,
    topkPromptLogprobs: details.topk_prompt_logprobs,
    sampling: details.sampling ?? [],
    losses: details.losses ?? [],
    loraRank: details.lora_rank,
    ...(details.tokenizer_fingerprint === undefined ? {} : { tokenizerFingerprint: details.tokenizer_fingerprint })
  }),
  contextLength: max_context_length ?? usual.contextLength
})
