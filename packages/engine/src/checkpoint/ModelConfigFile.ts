/** A Hugging Face `config.json`, read apart from what it means: threads that compute have no use for schemas. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { ModelConfig } from "../model/ModelConfig.ts"

/** The file is not a model configuration. */
export class Malformed extends Schema.TaggedError<Malformed>()("Malformed", { detail: Schema.String }) {
  override get message() {
    return this.detail
  }
}

/** The file describes a model that this engine does not compute. */
export class Unsupported extends Schema.TaggedError<Unsupported>()("Unsupported", {
  field: Schema.String,
  found: Schema.String,
  expected: Schema.String
}) {
  override get message() {
    return `${this.field} is ${this.found}, expected ${this.expected}`
  }
}

export class ModelConfigError extends Schema.TaggedError<ModelConfigError>()("ModelConfigError", {
  file: Schema.String,
  reason: Schema.Union([Malformed, Unsupported])
}) {
  override get message() {
    return `${this.file}: ${this.reason.message}`
  }
}

const Size = Schema.Int.check(Schema.isGreaterThan(0))

const RopeParameters = Schema.Struct({
  rope_type: Schema.optionalKey(Schema.String),
  type: Schema.optionalKey(Schema.String),
  rope_theta: Schema.optionalKey(Schema.Finite)
})

/** The fields of a Hugging Face `config.json` that decide the computation, with the defaults of both model classes. */
const HuggingFaceConfig = Schema.Struct({
  model_type: Schema.String,
  vocab_size: Size,
  hidden_size: Size,
  intermediate_size: Size,
  num_hidden_layers: Size,
  num_attention_heads: Size,
  num_key_value_heads: Schema.optionalKey(Size),
  head_dim: Schema.optionalKey(Schema.NullOr(Size)),
  max_position_embeddings: Size,
  rms_norm_eps: Schema.Finite,
  rope_theta: Schema.optionalKey(Schema.Finite),
  rope_scaling: Schema.optionalKey(Schema.NullOr(RopeParameters)),
  rope_parameters: Schema.optionalKey(Schema.NullOr(RopeParameters)),
  tie_word_embeddings: Schema.optionalKey(Schema.Boolean),
  hidden_act: Schema.optionalKey(Schema.String),
  attention_bias: Schema.optionalKey(Schema.Boolean),
  mlp_bias: Schema.optionalKey(Schema.Boolean),
  use_sliding_window: Schema.optionalKey(Schema.Boolean)
})

type HuggingFaceConfig = typeof HuggingFaceConfig.Type

const decode = Schema.decodeUnknownEffect(Schema.fromJsonString(HuggingFaceConfig))

interface Requirement {
  readonly field: string
  readonly found: unknown
  readonly expected: string
  readonly met: boolean
}

const is = (field: string, found: unknown, expected: unknown): Requirement => ({
  field,
  found,
  expected: JSON.stringify(expected),
  met: found === expected
})

const isMultiple = (field: string, found: number, of: number): Requirement => ({
  field,
  found,
  expected: `a multiple of ${of}`,
  met: found % of === 0
})

const ropeTypeOf = (config: HuggingFaceConfig): string => {
  const rope = config.rope_scaling ?? config.rope_parameters
  return rope?.rope_type ?? rope?.type ?? "default"
}

const requirements = (source: HuggingFaceConfig, config: ModelConfig): ReadonlyArray<Requirement> => [
  {
    field: "model_type",
    found: source.model_type,
    expected: "\"qwen3\" or \"llama\"",
    met: source.model_type === config.family
  },
  is("rope_scaling type", ropeTypeOf(source), "default"),
  is("hidden_act", source.hidden_act ?? "silu", "silu"),
  is("attention_bias", source.attention_bias ?? false, false),
  is("mlp_bias", source.mlp_bias ?? false, false),
  is("use_sliding_window", source.use_sliding_window ?? false, false),
  isMultiple("hidden_size", config.hiddenSize, 8),
  isMultiple("intermediate_size", config.feedForwardSize, 8),
  isMultiple("head_dim", config.headSize, 8),
  isMultiple("num_attention_heads", config.heads, config.keyHeads)
]

const fromSource = (source: HuggingFaceConfig): ModelConfig => ({
  family: source.model_type === "llama" ? "llama" : "qwen3",
  vocabularySize: source.vocab_size,
  hiddenSize: source.hidden_size,
  feedForwardSize: source.intermediate_size,
  layers: source.num_hidden_layers,
  heads: source.num_attention_heads,
  keyHeads: source.num_key_value_heads ?? source.num_attention_heads,
  headSize: source.head_dim ?? source.hidden_size / source.num_attention_heads,
  normEpsilon: source.rms_norm_eps,
  ropeTheta: source.rope_parameters?.rope_theta ?? source.rope_theta ?? 10_000,
  contextLength: source.max_position_embeddings,
  tiedEmbeddings: source.tie_word_embeddings ?? false
})

/**
 * Reads the text of a Hugging Face `config.json`.
 *
 * Fails with `Malformed` when fields are missing or of the wrong type, with `Unsupported` for another architecture,
 * scaled rotary embeddings, biases, sliding windows or sizes the kernels do not handle.
 */
export const fromJson = Effect.fnUntraced(function*(file: string, text: string) {
  const source = yield* decode(text).pipe(
    Effect.mapError((error) => new ModelConfigError({ file, reason: new Malformed({ detail: error.message }) }))
  )
  const config = fromSource(source)
  const broken = requirements(source, config).find((requirement) => !requirement.met)
  if (broken === undefined) return config
  return yield* new ModelConfigError({
    file,
    reason: new Unsupported({ field: broken.field, found: JSON.stringify(broken.found), expected: broken.expected })
  })
})
