/** Bodies about saved weights. */
import * as Schema from "effect/Schema"
import { SequenceId } from "./Json.ts"
import { OptimizerConfig } from "./Training.ts"

const type = Schema.optionalKey(Schema.String)
const seq_id = Schema.optionalKey(Schema.NullOr(SequenceId))
const ttl_seconds = Schema.optionalKey(Schema.NullOr(Schema.Int))
const user_metadata = Schema.optionalKey(Schema.NullOr(Schema.Record(Schema.String, Schema.String)))

export const SaveWeightsRequest = Schema.Struct({
  model_id: Schema.String,
  path: Schema.String,
  seq_id,
  ttl_seconds,
  overwrite: Schema.optionalKey(Schema.Boolean),
  user_metadata,
  type
})

/** Named by `path`, or kept for one sampling session only, whose weights stay as they are unless `kind` is inflight. */
export const SaveWeightsForSamplerRequest = Schema.Struct({
  model_id: Schema.String,
  path: Schema.optionalKey(Schema.NullOr(Schema.String)),
  sampling_session_seq_id: Schema.optionalKey(Schema.NullOr(SequenceId)),
  kind: Schema.optionalKey(Schema.Literals(["snapshot", "inflight"])),
  seq_id,
  ttl_seconds,
  user_metadata,
  type
})

/** Files in a format that others read. */
export const SaveWeightsExternalRequest = Schema.Struct({
  model_id: Schema.String,
  path: Schema.String,
  seq_id,
  ttl_seconds,
  age_encryption_recipients: Schema.optionalKey(Schema.NullOr(Schema.Array(Schema.String))),
  type
})

export const SaveWeightsResult = Schema.Struct({ path: Schema.String, type })

export const SaveWeightsForSamplerResult = Schema.Struct({
  path: Schema.optionalKey(Schema.NullOr(Schema.String)),
  sampling_session_id: Schema.optionalKey(Schema.NullOr(Schema.String)),
  type
})

export const LoadWeightsRequest = Schema.Struct({
  model_id: Schema.String,
  path: Schema.String,
  optimizer: Schema.optionalKey(Schema.Boolean),
  seq_id,
  optimizer_config: Schema.optionalKey(Schema.NullOr(OptimizerConfig)),
  weights_access_token: Schema.optionalKey(Schema.NullOr(Schema.String)),
  type
})

/** Makes a model of a checkpoint. */
export const CreateByLoadingRequest = Schema.Struct({
  session_id: Schema.String,
  model_seq_id: SequenceId,
  base_model: Schema.optionalKey(Schema.NullOr(Schema.String)),
  path: Schema.String,
  optimizer: Schema.optionalKey(Schema.Boolean),
  optimizer_config: Schema.optionalKey(Schema.NullOr(OptimizerConfig)),
  user_metadata: Schema.optionalKey(Schema.NullOr(Schema.Record(Schema.String, Schema.Unknown))),
  weights_access_token: Schema.optionalKey(Schema.NullOr(Schema.String)),
  type
})

/** A copy goes to a place in a session, or to a project. */
export const CopyWeightsRequest = Schema.Struct({
  session_id: Schema.optionalKey(Schema.NullOr(Schema.String)),
  model_seq_id: Schema.optionalKey(Schema.NullOr(SequenceId)),
  destination_project_id: Schema.optionalKey(Schema.NullOr(Schema.String)),
  source_path: Schema.String,
  ttl_seconds,
  weights_access_token: Schema.optionalKey(Schema.NullOr(Schema.String))
})

export const CopyWeightsResponse = Schema.Struct({ tinker_path: Schema.String })

export const LoadWeightsResult = Schema.Struct({
  path: Schema.optionalKey(Schema.NullOr(Schema.String)),
  model_id: Schema.optionalKey(Schema.NullOr(Schema.String)),
  type
})

export const WeightsInfoRequest = Schema.Struct({ tinker_path: Schema.String })

export const WeightsInfo = Schema.Struct({
  base_model: Schema.String,
  is_lora: Schema.Boolean,
  lora_rank: Schema.optionalKey(Schema.NullOr(Schema.Int)),
  train_unembed: Schema.optionalKey(Schema.NullOr(Schema.Boolean)),
  train_mlp: Schema.optionalKey(Schema.NullOr(Schema.Boolean)),
  train_attn: Schema.optionalKey(Schema.NullOr(Schema.Boolean))
})

export const Checkpoint = Schema.Struct({
  checkpoint_id: Schema.String,
  checkpoint_type: Schema.Literals(["training", "sampler", "external"]),
  /** RFC 3339. */
  time: Schema.String,
  tinker_path: Schema.String,
  size_bytes: Schema.optionalKey(Schema.NullOr(Schema.Int)),
  public: Schema.optionalKey(Schema.Boolean),
  expires_at: Schema.optionalKey(Schema.NullOr(Schema.String)),
  user_metadata: Schema.optionalKey(Schema.NullOr(Schema.Record(Schema.String, Schema.String)))
})

export const Cursor = Schema.Struct({ offset: Schema.Int, limit: Schema.Int, total_count: Schema.Int })

export const CheckpointList = Schema.Struct({
  checkpoints: Schema.Array(Checkpoint),
  cursor: Schema.optionalKey(Schema.NullOr(Cursor))
})

export const TtlRequest = Schema.Struct({ ttl_seconds: Schema.NullOr(Schema.Int) })

export const TrainingRun = Schema.Struct({
  training_run_id: Schema.String,
  base_model: Schema.String,
  model_owner: Schema.String,
  is_lora: Schema.Boolean,
  corrupted: Schema.optionalKey(Schema.Boolean),
  lora_rank: Schema.optionalKey(Schema.NullOr(Schema.Int)),
  last_request_time: Schema.String,
  last_checkpoint: Schema.optionalKey(Schema.NullOr(Checkpoint)),
  last_sampler_checkpoint: Schema.optionalKey(Schema.NullOr(Checkpoint)),
  user_metadata: Schema.optionalKey(Schema.NullOr(Schema.Record(Schema.String, Schema.String)))
})

export const TrainingRunList = Schema.Struct({ training_runs: Schema.Array(TrainingRun), cursor: Cursor })
