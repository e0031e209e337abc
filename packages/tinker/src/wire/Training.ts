/** Bodies for models in training, except passes. */
import { SequenceId } from "@effect-rl/agent/wire/Json"
import * as Schema from "effect/Schema"
import * as Note from "./Note.ts"

const type = Schema.optionalKey(Schema.String)

export const LoraConfig = Schema.Struct({
  rank: Schema.Int,
  seed: Schema.optionalKey(Schema.NullOr(Schema.Int)),
  train_unembed: Schema.optionalKey(Schema.Boolean),
  train_mlp: Schema.optionalKey(Schema.Boolean),
  train_attn: Schema.optionalKey(Schema.Boolean)
})

/** The optimizer of a model, chosen at creation. Optimizers other than `adamw` have their own fields. */
export const OptimizerConfig = Schema.StructWithRest(Schema.Struct({ type: Schema.String }), [
  Schema.Record(Schema.String, Schema.Unknown)
])

export const CreateModelRequest = Schema.Struct({
  session_id: Schema.String,
  model_seq_id: SequenceId,
  base_model: Schema.String,
  lora_config: Schema.optionalKey(Schema.NullOr(LoraConfig)),
  optimizer_config: Schema.optionalKey(Schema.NullOr(OptimizerConfig)),
  user_metadata: Schema.optionalKey(Schema.NullOr(Note.LooseMetadata)),
  type
})

export const CreateModelResult = Schema.Struct({ model_id: Schema.String, type })

/** The body of `get_info` and `unload_model`. */
export const ModelRequest = Schema.Struct({ model_id: Schema.String, type })

export const UnloadModelResult = Schema.Struct({ model_id: Schema.String, type })

export const ModelInfo = Schema.Struct({
  type,
  model_id: Schema.String,
  model_data: Schema.Struct({
    arch: Schema.optionalKey(Schema.NullOr(Schema.String)),
    model_name: Schema.optionalKey(Schema.NullOr(Schema.String)),
    tokenizer_id: Schema.optionalKey(Schema.NullOr(Schema.String))
  }),
  optimizer_config: Schema.optionalKey(Schema.NullOr(OptimizerConfig)),
  is_lora: Schema.optionalKey(Schema.NullOr(Schema.Boolean)),
  lora_rank: Schema.optionalKey(Schema.NullOr(Schema.Int)),
  model_name: Schema.optionalKey(Schema.NullOr(Schema.String))
})

export const AdamParams = Schema.Struct({
  learning_rate: Schema.optionalKey(Schema.Number),
  beta1: Schema.optionalKey(Schema.Number),
  beta2: Schema.optionalKey(Schema.Number),
  eps: Schema.optionalKey(Schema.Number),
  weight_decay: Schema.optionalKey(Schema.Number),
  grad_clip_norm: Schema.optionalKey(Schema.Number)
})

/** An optimizer step. `optimizer_params` are for optimizers other than Adam. */
export const OptimStepRequest = Schema.Struct({
  adam_params: Schema.optionalKey(Schema.NullOr(AdamParams)),
  optimizer_params: Schema.optionalKey(Schema.NullOr(OptimizerConfig)),
  model_id: Schema.String,
  seq_id: Schema.optionalKey(Schema.NullOr(SequenceId)),
  type
})

export const OptimStepResult = Schema.Struct({
  type,
  /** The metrics. Some servers send null for a value that is not a number. */
  metrics: Schema.optionalKey(Schema.NullOr(Schema.Record(Schema.String, Schema.NullOr(Schema.Number))))
})
