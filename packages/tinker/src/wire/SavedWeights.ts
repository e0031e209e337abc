/** Bodies for saved weights. */
import { SequenceId } from "@effect-rl/agent/wire/Json"
import * as Schema from "effect/Schema"
import * as Note from "./Note.ts"
import { OptimizerConfig } from "./Training.ts"

const type = Schema.optionalKey(Schema.String)
const seq_id = Schema.optionalKey(Schema.NullOr(SequenceId))
const ttl_seconds = Schema.optionalKey(Schema.NullOr(Schema.Int))
const user_metadata = Schema.optionalKey(Schema.NullOr(Note.Metadata))

export const SaveWeightsRequest = Schema.Struct({
  model_id: Schema.String,
  path: Schema.String,
  seq_id,
  ttl_seconds,
  overwrite: Schema.optionalKey(Schema.Boolean),
  user_metadata,
  type
})

/** Saves weights under `path`, or for one sampling session only. A session's weights never change unless `kind` is inflight. */
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

/** Saves weights in a format for other programs. */
export const SaveWeightsExternalRequest = Schema.Struct({
  model_id: Schema.String,
  path: Schema.String,
  seq_id,
  ttl_seconds,
  age_encryption_recipients: Schema.optionalKey(Schema.NullOr(Schema.Array(Schema.String))),
  type
})

export const SaveWeightsResult = Schema.Struct({
  path: Schema.String,
  /** The size in bytes, only for external weights. */
  size_bytes: Schema.optionalKey(Schema.NullOr(Schema.Int)),
  type
})

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

/** Creates a model from a checkpoint. */
export const CreateByLoadingRequest = Schema.Struct({
  session_id: Schema.String,
  model_seq_id: SequenceId,
  base_model: Schema.optionalKey(Schema.NullOr(Schema.String)),
  path: Schema.String,
  optimizer: Schema.optionalKey(Schema.Boolean),
  optimizer_config: Schema.optionalKey(Schema.NullOr(OptimizerConfig)),
  user_metadata: Schema.optionalKey(Schema.NullOr(Note.LooseMetadata)),
  weights_access_token: Schema.optionalKey(Schema.NullOr(Schema.String)),
  type
})

/** Copies a checkpoint to a session or a project. */
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
  optimizer_config: Schema.optionalKey(Schema.NullOr(OptimizerConfig)),
  is_lora: Schema.Boolean,
  lora_rank: Schema.optionalKey(Schema.NullOr(Schema.Int)),
  train_unembed: Schema.optionalKey(Schema.NullOr(Schema.Boolean)),
  train_mlp: Schema.optionalKey(Schema.NullOr(Schema.Boolean)),
  train_attn: Schema.optionalKey(Schema.NullOr(Schema.Boolean))
})

export const TtlRequest = Schema.Struct({ ttl_seconds: Schema.NullOr(Schema.Int) })
