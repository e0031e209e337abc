/** Reads and writes the `config.json` of a Hugging Face model. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as ModelConfig from "../model/ModelConfig.ts"
import * as RopeScaling from "./RopeScaling.ts"
import * as UnsupportedModel from "./UnsupportedModel.ts"

/** The file is not a model configuration. */
export class Malformed extends Schema.TaggedError<Malformed>()("Malformed", { detail: Schema.String }) {
  override get message() {
    return this.detail
  }
}

/** The file describes a model that this engine does not support. */
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

const OptionalSize = Schema.optionalKey(Schema.NullOr(Size))

const Rope = Schema.optionalKey(Schema.NullOr(RopeScaling.Parameters))

const ModelType = Schema.Struct({ model_type: Schema.String })

/** The fields of `config.json` that determine what a Llama, Mistral or Qwen model computes. */
const HuggingFaceConfig = Schema.Struct({
  model_type: Schema.String,
  vocab_size: Size,
  hidden_size: Size,
  intermediate_size: Size,
  num_hidden_layers: Size,
  num_attention_heads: Size,
  num_key_value_heads: OptionalSize,
  head_dim: OptionalSize,
  max_position_embeddings: Size,
  rms_norm_eps: Schema.Finite,
  rope_theta: Schema.optionalKey(Schema.NullOr(Schema.Finite)),
  rope_scaling: Rope,
  rope_parameters: Rope,
  partial_rotary_factor: Schema.optionalKey(Schema.NullOr(Schema.Finite)),
  tie_word_embeddings: Schema.optionalKey(Schema.Boolean),
  hidden_act: Schema.optionalKey(Schema.String),
  attention_bias: Schema.optionalKey(Schema.Boolean),
  mlp_bias: Schema.optionalKey(Schema.Boolean),
  use_sliding_window: Schema.optionalKey(Schema.Boolean),
  sliding_window: Schema.optionalKey(Schema.NullOr(Schema.Int)),
  layer_types: Schema.optionalKey(Schema.NullOr(Schema.Array(Schema.String))),
  quantization_config: Schema.optionalKey(Schema.Unknown)
})

type HuggingFaceConfig = typeof HuggingFaceConfig.Type

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

const isAtMost = (field: string, found: number, most: number): Requirement => ({
  field,
  found,
  expected: `at most ${most}`,
  met: found <= most
})

const isPositive = (field: string, found: number): Requirement => ({
  field,
  found,
  expected: "a number above 0",
  met: found > 0
})

/** Mistral's `sliding_window` always applies. Qwen's applies only if `use_sliding_window` is true, which is refused separately. */
const slidingWindow = (source: HuggingFaceConfig, family: ModelConfig.Family): Requirement => {
  const window = source.sliding_window ?? null
  return {
    field: "sliding_window",
    found: window,
    expected: `null or at least max_position_embeddings, ${source.max_position_embeddings}`,
    met: family !== "mistral" || window === null || window >= source.max_position_embeddings
  }
}

const requirements = (
  source: HuggingFaceConfig,
  config: ModelConfig.ModelConfig,
  rope: RopeScaling.Parameters
): ReadonlyArray<Requirement> => [
  {
    field: "rope_scaling type",
    found: RopeScaling.typeOf(rope),
    expected: RopeScaling.types.map((type) => JSON.stringify(type)).join(", "),
    met: RopeScaling.types.some((type) => type === RopeScaling.typeOf(rope))
  },
  {
    field: `rope_scaling ${RopeScaling.missing(rope)}`,
    found: null,
    expected: "a number above 0",
    met: RopeScaling.missing(rope) === undefined
  },
  isPositive("rope_theta", config.ropeTheta),
  isPositive("rms_norm_eps", config.normEpsilon),
  is("partial_rotary_factor", source.partial_rotary_factor ?? rope.partial_rotary_factor ?? 1, 1),
  is("hidden_act", source.hidden_act ?? "silu", "silu"),
  is("mlp_bias", source.mlp_bias ?? false, false),
  is("use_sliding_window", source.use_sliding_window ?? false, false),
  slidingWindow(source, config.family),
  is(
    "layer_types",
    source.layer_types?.find((type) => type !== "full_attention") ?? "full_attention",
    "full_attention"
  ),
  is("quantization_config", source.quantization_config ?? null, null),
  isAtMost("num_hidden_layers", config.layers, ModelConfig.most.layers),
  isAtMost("head_dim", config.headSize, ModelConfig.most.headSize),
  isMultiple("hidden_size", config.hiddenSize, 8),
  isMultiple("intermediate_size", config.feedForwardSize, 8),
  isMultiple("head_dim", config.headSize, 8),
  isMultiple("num_attention_heads", config.heads, config.keyHeads)
]

/** The default sizes of transformers' model classes, used for fields that the file leaves out. */
const defaults = (
  family: ModelConfig.Family,
  source: HuggingFaceConfig
): { readonly headSize: number; readonly keyHeads: number } => {
  const heads = source.num_attention_heads
  const headSize = source.hidden_size / heads
  switch (family) {
    case "llama":
      return { headSize, keyHeads: heads }
    case "mistral":
      return { headSize, keyHeads: 8 }
    case "qwen2":
      return { headSize, keyHeads: 32 }
    case "qwen3":
      return { headSize: 128, keyHeads: 32 }
  }
}

const biasesOf = (family: ModelConfig.Family, source: HuggingFaceConfig): ModelConfig.ModelConfig["biases"] => {
  if (family === "qwen2") return ["query", "key", "value"]
  return source.attention_bias === true ? ["query", "key", "value", "output"] : []
}

const fromSource = (
  family: ModelConfig.Family,
  source: HuggingFaceConfig,
  rope: RopeScaling.Parameters
): ModelConfig.ModelConfig => {
  const assumed = defaults(family, source)
  const heads = source.num_attention_heads
  const headSize = source.head_dim ?? assumed.headSize
  return {
    family,
    vocabularySize: source.vocab_size,
    hiddenSize: source.hidden_size,
    feedForwardSize: source.intermediate_size,
    layers: source.num_hidden_layers,
    heads,
    keyHeads: source.num_key_value_heads === null ? heads : source.num_key_value_heads ?? assumed.keyHeads,
    headSize,
    biases: biasesOf(family, source),
    normEpsilon: source.rms_norm_eps,
    ropeTheta: rope.rope_theta ?? source.rope_theta ?? 10_000,
    contextLength: source.max_position_embeddings,
    tiedEmbeddings: source.tie_word_embeddings ?? false
  }
}

/**
 * Parses a Hugging Face `config.json`. Fails with a `ModelConfigError`, whose reason is `Malformed` if fields are missing or have the wrong
 * type, and `Unsupported` for another architecture or an unsupported feature, such as sliding windows.
 */
export const fromJson = Effect.fnUntraced(function*(file: string, text: string) {
  const decode = <A>(schema: Schema.Codec<A, unknown>) =>
    Schema.decodeUnknownEffect(Schema.fromJsonString(schema))(text).pipe(
      Effect.mapError((error) => new ModelConfigError({ file, reason: new Malformed({ detail: error.message }) }))
    )
  const refuse = (field: string, found: string, expected: string) =>
    new ModelConfigError({ file, reason: new Unsupported({ field, found, expected }) })
  const { model_type } = yield* decode(ModelType)
  const family = UnsupportedModel.families.find((family) => family === model_type)
  if (family === undefined) {
    return yield* refuse("model_type", UnsupportedModel.describe(model_type), UnsupportedModel.expected)
  }
  const source = yield* decode(HuggingFaceConfig)
  const rope = source.rope_scaling ?? source.rope_parameters ?? {}
  const config = fromSource(family, source, rope)
  const broken = requirements(source, config, rope).find((requirement) => !requirement.met)
  if (broken !== undefined) return yield* refuse(broken.field, JSON.stringify(broken.found), broken.expected)
  const ropeDivisors = RopeScaling.divisors(rope, config)
  return ropeDivisors === undefined ? config : { ...config, ropeDivisors }
})

const classNames: Readonly<Record<ModelConfig.Family, string>> = {
  llama: "LlamaForCausalLM",
  mistral: "MistralForCausalLM",
  qwen2: "Qwen2ForCausalLM",
  qwen3: "Qwen3ForCausalLM"
}

/** A model's `config.json` fields; undefined if no supported scaling type yields the model's rotary divisors. */
export const toFields = (config: ModelConfig.ModelConfig): object | undefined => {
  const scaling = RopeScaling.fromDivisors(config)
  if (scaling === undefined) return undefined
  return {
    architectures: [classNames[config.family]],
    model_type: config.family,
    vocab_size: config.vocabularySize,
    hidden_size: config.hiddenSize,
    intermediate_size: config.feedForwardSize,
    num_hidden_layers: config.layers,
    num_attention_heads: config.heads,
    num_key_value_heads: config.keyHeads,
    head_dim: config.headSize,
    hidden_act: "silu",
    attention_bias: config.family !== "qwen2" && config.biases.length > 0,
    max_position_embeddings: config.contextLength,
    rms_norm_eps: config.normEpsilon,
    rope_theta: config.ropeTheta,
    rope_scaling: scaling.rope_type === "default" ? null : scaling
  }
}
