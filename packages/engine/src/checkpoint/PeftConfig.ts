/** PEFT's `adapter_config.json`. The engine supports plain LoRA and refuses other kinds of adapter. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as CheckpointError from "./CheckpointError.ts"

/** The attention modules that an adapter can target, by their PEFT names. */
export const attentionModules = ["q_proj", "k_proj", "v_proj", "o_proj"] as const
export const mlpModules = ["gate_proj", "up_proj", "down_proj"] as const
export const headModule = "lm_head"

const modules: ReadonlyArray<string> = [...attentionModules, ...mlpModules, headModule]

const Fields = Schema.Struct({
  peft_type: Schema.Literal("LORA"),
  r: Schema.Int.check(Schema.isGreaterThan(0)),
  lora_alpha: Schema.Finite,
  target_modules: Schema.Array(Schema.String),
  base_model_name_or_path: Schema.NullOr(Schema.String)
})
export interface PeftConfig extends Schema.Schema.Type<typeof Fields> {}

/** Fields that do not affect a trained adapter's results. */
const harmless: ReadonlySet<string> = new Set([
  ...Object.keys(Fields.fields),
  "task_type",
  "auto_mapping",
  "revision",
  "inference_mode",
  "lora_dropout",
  "runtime_config",
  "peft_version",
  "megatron_config",
  "megatron_core",
  "qalora_group_size",
  "layers_pattern",
  "eva_config"
])

/** Initializations that leave the base model's weights unchanged. */
const initializations: ReadonlySet<unknown> = new Set([true, false, "gaussian", "eva", "orthogonal"])

/** Whether a field's value means that its feature is unused: null, false, "none", or an empty list or object. */
const isUnused = (value: unknown): boolean => {
  if (value === null || value === undefined || value === false || value === "none") return true
  if (typeof value !== "object") return false
  return Object.keys(value).length === 0
}

const isSupported = (field: string, value: unknown): boolean =>
  harmless.has(field) || isUnused(value) || (field === "init_lora_weights" && initializations.has(value))

const decodeRecord = Schema.decodeUnknownEffect(
  Schema.fromJsonString(Schema.Record(Schema.String, Schema.Unknown))
)
const decodeFields = Schema.decodeUnknownEffect(Fields)

/**
 * Parses an `adapter_config.json`. Fails with `CheckpointError` for anything but plain LoRA on a model's linear modules. The message names
 * an unsupported field that is in use, such as `use_dora` or `rank_pattern`, and its value.
 */
export const fromJson = Effect.fnUntraced(function*(file: string, text: string) {
  const refuse = (detail: string) => new CheckpointError.CheckpointError({ file, detail })
  const asError = Effect.mapError(({ message }: { readonly message: string }) => refuse(message))
  const all = yield* asError(decodeRecord(text))
  const config = yield* asError(decodeFields(all))
  const unsupported = Object.entries(all).find(([field, value]) => !isSupported(field, value))
  if (unsupported !== undefined) {
    const [field, value] = unsupported
    return yield* refuse(`${field} is ${JSON.stringify(value)}, which the engine does not support`)
  }
  const unknown = config.target_modules.find((module) => !modules.includes(module))
  if (unknown !== undefined) {
    return yield* refuse(`target_modules has ${unknown}, expected only ${modules.join(", ")}`)
  }
  return config
})
