/** Answers about sessions, checkpoints, usage and cost. */
import { nullable } from "@effect-rl/agent/wire/Json"
import * as Schema from "effect/Schema"

const Time = Schema.DateTimeUtcFromString

const Metadata = nullable(Schema.Record(Schema.String, Schema.String))

export const Checkpoint = Schema.Struct({
  /** The checkpoint's kind and name: `weights/<name>`, `sampler_weights/<name>` or `external_weights/<name>`. */
  checkpointId: Schema.String,
  checkpointType: Schema.Literals(["training", "sampler", "external"]),
  time: Time,
  path: Schema.String,
  sizeBytes: nullable(Schema.Int),
  public: Schema.optionalKey(Schema.Boolean),
  expiresAt: nullable(Time),
  userMetadata: Metadata
}).pipe(Schema.encodeKeys({
  checkpointId: "checkpoint_id",
  checkpointType: "checkpoint_type",
  path: "tinker_path",
  sizeBytes: "size_bytes",
  expiresAt: "expires_at",
  userMetadata: "user_metadata"
}))
export type Checkpoint = typeof Checkpoint.Type

const Cursor = Schema.Struct({ offset: Schema.Int, limit: Schema.Int, totalCount: Schema.Int }).pipe(
  Schema.encodeKeys({ totalCount: "total_count" })
)

export const Checkpoints = Schema.Struct({ checkpoints: Schema.Array(Checkpoint), cursor: nullable(Cursor) })
export type Checkpoints = typeof Checkpoints.Type

export const TrainingRun = Schema.Struct({
  trainingRunId: Schema.String,
  baseModel: Schema.String,
  modelOwner: Schema.String,
  isLora: Schema.Boolean,
  corrupted: Schema.optionalKey(Schema.Boolean),
  loraRank: nullable(Schema.Int),
  lastRequestTime: Time,
  lastCheckpoint: nullable(Checkpoint),
  lastSamplerCheckpoint: nullable(Checkpoint),
  userMetadata: Metadata
}).pipe(Schema.encodeKeys({
  trainingRunId: "training_run_id",
  baseModel: "base_model",
  modelOwner: "model_owner",
  isLora: "is_lora",
  loraRank: "lora_rank",
  lastRequestTime: "last_request_time",
  lastCheckpoint: "last_checkpoint",
  lastSamplerCheckpoint: "last_sampler_checkpoint",
  userMetadata: "user_metadata"
}))
export type TrainingRun = typeof TrainingRun.Type

export const TrainingRuns = Schema.Struct({ trainingRuns: Schema.Array(TrainingRun), cursor: Cursor }).pipe(
  Schema.encodeKeys({ trainingRuns: "training_runs" })
)
export type TrainingRuns = typeof TrainingRuns.Type

export const WeightsInfo = Schema.Struct({
  baseModel: Schema.String,
  isLora: Schema.Boolean,
  loraRank: nullable(Schema.Int),
  trainUnembed: nullable(Schema.Boolean),
  trainMlp: nullable(Schema.Boolean),
  trainAttn: nullable(Schema.Boolean)
}).pipe(Schema.encodeKeys({
  baseModel: "base_model",
  isLora: "is_lora",
  loraRank: "lora_rank",
  trainUnembed: "train_unembed",
  trainMlp: "train_mlp",
  trainAttn: "train_attn"
}))
export type WeightsInfo = typeof WeightsInfo.Type

export const Sampler = Schema.Struct({
  samplerId: Schema.String,
  baseModel: Schema.String,
  modelPath: nullable(Schema.String)
}).pipe(Schema.encodeKeys({ samplerId: "sampler_id", baseModel: "base_model", modelPath: "model_path" }))
export type Sampler = typeof Sampler.Type

export const Sessions = Schema.Struct({ sessions: Schema.Array(Schema.String) })

export const Session = Schema.Struct({
  trainingRunIds: Schema.Array(Schema.String),
  samplerIds: Schema.Array(Schema.String),
  displayName: nullable(Schema.String),
  userMetadata: Metadata
}).pipe(Schema.encodeKeys({
  trainingRunIds: "training_run_ids",
  samplerIds: "sampler_ids",
  displayName: "display_name",
  userMetadata: "user_metadata"
}))
export type Session = typeof Session.Type

/** How a client's run ended, or what made the session fail. */
const StatusReason = Schema.Struct({
  type: Schema.String,
  requestId: nullable(Schema.String),
  requestType: nullable(Schema.String),
  trainingRunId: nullable(Schema.String),
  samplingSessionId: nullable(Schema.String)
}).pipe(Schema.encodeKeys({
  requestId: "request_id",
  requestType: "request_type",
  trainingRunId: "training_run_id",
  samplingSessionId: "sampling_session_id"
}))

const SessionStatus = Schema.Struct({
  type: Schema.Literals(["active", "cancelled", "failed", "client_finished"]),
  reason: nullable(StatusReason),
  /** The party responsible for a failure. */
  category: nullable(Schema.String),
  detail: nullable(Schema.String),
  message: nullable(Schema.String)
})

const SessionSummary = Schema.Struct({
  sessionId: Schema.String,
  createdAt: Time,
  owner: Schema.String,
  projectId: Schema.String,
  status: nullable(SessionStatus),
  checkpointsCount: Schema.Int,
  checkpointStorageBytes: nullable(Schema.Int),
  displayName: nullable(Schema.String),
  userMetadata: Metadata
}).pipe(Schema.encodeKeys({
  sessionId: "session_id",
  createdAt: "created_at",
  projectId: "project_id",
  checkpointsCount: "checkpoints_count",
  checkpointStorageBytes: "checkpoint_storage_bytes",
  displayName: "display_name",
  userMetadata: "user_metadata"
}))

/** The position of the next search page; clients return it unchanged. */
const SearchCursor = Schema.Struct({ last_created_at: Schema.String, last_session_id: Schema.String })

export const SessionSearch = Schema.Struct({
  sessions: Schema.Array(SessionSummary),
  nextCursor: nullable(SearchCursor)
}).pipe(Schema.encodeKeys({ nextCursor: "next_cursor" }))
export type SessionSearch = typeof SessionSearch.Type

export const Copied = Schema.Struct({ path: Schema.String }).pipe(Schema.encodeKeys({ path: "tinker_path" }))

export const ArchiveUrl = Schema.Struct({ url: Schema.String, expires: nullable(Time) })

export const TraceExport = Schema.Struct({
  status: Schema.Literals(["pending", "ready", "failed"]),
  url: nullable(Schema.String),
  error: nullable(Schema.String)
})

export const ExternalWeights = Schema.Struct({
  /** Download addresses, by file path within the checkpoint. */
  urls: Schema.Record(Schema.String, Schema.String),
  expires: Time
})
export type ExternalWeights = typeof ExternalWeights.Type

/** The object types whose audit events can be requested. */
export const auditedTypes = ["all", "checkpoints", "projects", "teams", "organizations"] as const

const AuditEntry = Schema.Struct({
  timestamp: Time,
  event: Schema.String,
  /** The actor and object of the event, under the service's field names. */
  details: Schema.optionalKey(Schema.Record(Schema.String, Schema.Unknown)),
  modelId: nullable(Schema.String),
  path: nullable(Schema.String),
  purpose: nullable(Schema.String)
}).pipe(Schema.encodeKeys({ details: "event_details", modelId: "model_id", path: "tinker_path" }))

export const AuditLog = Schema.Struct({ entries: Schema.Array(AuditEntry) })
export type AuditLog = typeof AuditLog.Type

const tokenCount = { tokenCount: "token_count" } as const

const BilledEvent = Schema.Union([
  Schema.Struct({ type: Schema.Literal("training"), tokenCount: Schema.Int }).pipe(Schema.encodeKeys(tokenCount)),
  Schema.Struct({
    type: Schema.Literal("sampling_prefill"),
    cached: Schema.Boolean,
    tokenCount: Schema.Int
  }).pipe(Schema.encodeKeys(tokenCount)),
  Schema.Struct({ type: Schema.Literal("sampling_sample"), tokenCount: Schema.Int }).pipe(
    Schema.encodeKeys(tokenCount)
  ),
  Schema.Struct({ type: Schema.Literal("checkpoint"), count: Schema.Int }),
  Schema.Struct({
    type: Schema.Literal("storage"),
    free: Schema.optionalKey(Schema.Boolean),
    gigabyteHours: Schema.Finite
  }).pipe(Schema.encodeKeys({ gigabyteHours: "gigabyte_hours" }))
])

const BillingEvent = Schema.Struct({
  bucketStart: Time,
  bucketEnd: Time,
  baseModel: nullable(Schema.String),
  userId: nullable(Schema.String),
  userName: nullable(Schema.String),
  sessionId: nullable(Schema.String),
  projectId: nullable(Schema.String),
  /** The cost before credits; null if the service has no price. */
  estimatedCostUsd: nullable(Schema.Finite),
  usdPerMillionTokens: nullable(Schema.Finite),
  usdPerGigabyteMonth: nullable(Schema.Finite),
  event: BilledEvent
}).pipe(Schema.encodeKeys({
  bucketStart: "bucket_start",
  bucketEnd: "bucket_end",
  baseModel: "base_model",
  userId: "user_id",
  userName: "user_name",
  sessionId: "session_id",
  projectId: "project_id",
  estimatedCostUsd: "estimated_cost_usd",
  usdPerMillionTokens: "effective_rate_usd_per_million_tokens",
  usdPerGigabyteMonth: "effective_rate_usd_per_gigabyte_month",
  event: "event_info"
}))

const BillingSession = Schema.Struct({
  userMetadata: Metadata
}).pipe(Schema.encodeKeys({ userMetadata: "user_metadata" }))

export const BillingUsage = Schema.Struct({
  data: Schema.Array(BillingEvent),
  sessions: Schema.Record(Schema.String, BillingSession),
  /** Costs before this time come from invoices, later ones are computed from list prices. */
  costDataThrough: nullable(Time)
}).pipe(Schema.encodeKeys({ costDataThrough: "cost_data_through" }))
export type BillingUsage = typeof BillingUsage.Type

const StoredCheckpoints = Schema.Struct({
  projectId: nullable(Schema.String),
  userUrn: nullable(Schema.String),
  userEmail: nullable(Schema.String),
  userName: nullable(Schema.String),
  checkpointCount: Schema.Int,
  sizeBytes: Schema.Int,
  /** The size in the unit in which storage is billed. */
  sizeGigabytes: Schema.Finite,
  /** The cost of storing the checkpoints for 720 hours, in US dollars. */
  estimatedMonthlyCostUsd: nullable(Schema.Finite)
}).pipe(Schema.encodeKeys({
  projectId: "project_id",
  userUrn: "org_user_urn",
  userEmail: "user_email",
  userName: "user_name",
  checkpointCount: "checkpoint_count",
  sizeBytes: "size_bytes",
  sizeGigabytes: "size_gigabytes",
  estimatedMonthlyCostUsd: "estimated_monthly_cost_usd"
}))

export const CheckpointStorage = Schema.Struct({
  usdPerGigabyteMonth: nullable(Schema.Finite),
  /** One entry for each project and owner. */
  data: Schema.Array(StoredCheckpoints)
}).pipe(Schema.encodeKeys({ usdPerGigabyteMonth: "effective_rate_usd_per_gigabyte_month" }))
export type CheckpointStorage = typeof CheckpointStorage.Type
