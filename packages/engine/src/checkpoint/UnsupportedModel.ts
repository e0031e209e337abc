/** The architectures that the engine supports, and the features that other well-known architectures need and the engine lacks. */
import { families } from "../model/ModelConfig.ts"

export { families }

/** The supported architectures, as error messages list them. */
export const expected = families.map((family) => JSON.stringify(family)).join(", ")

const parts: ReadonlyArray<readonly [name: RegExp, part: string]> = [
  [/^gpt_?2$|^gpt_bigcode$|^starcoder/, "learned positions, LayerNorm and GELU"],
  [/^opt$/, "learned positions, LayerNorm and ReLU"],
  [/^gpt_?(neo|j)|^pythia/, "LayerNorm, parallel residuals and partly rotated heads"],
  [/^bloom$|^mpt$|^falcon$/, "LayerNorm and positions that are not rotary"],
  [/^gemma/, "GELU, scaled embeddings and norms that add 1 to their weights"],
  [/moe|mixtral|deepseek|gpt-?_?oss|llama4/, "a mixture of experts"],
  [/^phi/, "fused projections or partly rotated heads"],
  [/^qwen3_?(5|6|8|next)/, "linear attention"],
  [/mamba|rwkv/, "a recurrent state"],
  [/^olmo/, "norms after the blocks"],
  [/^granite|^minicpm|^cohere|^command/, "scaled residuals, embeddings or logits"],
  [/^smollm3$/, "layers without rotary embeddings"],
  [/_vl$|^qwen2vl$|^qwen3vl$|^mllama$|^llava/, "images"]
]

/** Describes an unsupported model type and, for a well-known type, the feature that the engine lacks. */
export const describe = (type: string): string => {
  const [, part] = parts.find(([name]) => name.test(type)) ?? []
  const reason = part === undefined ? "an architecture that the engine does not know" : `which has ${part}`
  return `${JSON.stringify(type)}, ${reason}`
}
