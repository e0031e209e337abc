/** The number of parameters that a LoRA adapter trains. */
import * as Effect from "effect/Effect"
import * as ModelRegistry from "./ModelRegistry.ts"

/** Rank and trained parts of an adapter, named as in `LoraOptions`. Default: rank 32, all parts trained. */
export interface Options {
  /** Rank of the adapter's matrices. Default: 32. */
  readonly loraRank?: number
  /** Adapt the MLP layers. Default: true. */
  readonly trainMlp?: boolean
  /** Adapt the attention layers. Default: true. */
  readonly trainAttn?: boolean
  /** Adapt the output layer. Default: true. */
  readonly trainUnembed?: boolean
}

/**
 * The number of trained parameters: the rank times the parameters per unit of rank, summed over the trained parts. Fails for a model
 * without counts, for a rank that is not a positive integer, and if nothing is trained.
 *
 * @example
 * const parameters = LoraParameters.getLoraParamCount("Qwen/Qwen3-8B", { loraRank: 32, trainUnembed: false })
 *
 * @see tinker-cookbook `get_lora_param_count`
 */
export const getLoraParamCount = Effect.fnUntraced(function*(
  model: string | ModelRegistry.Model,
  options: Options = {}
): Effect.fn.Return<number, ModelRegistry.ModelRegistryError> {
  const { loraRank = 32, trainAttn = true, trainMlp = true, trainUnembed = true } = options
  const counted = ModelRegistry.models.filter(({ loraParametersPerRank }) => loraParametersPerRank)
  const { loraParametersPerRank: perRank, name } = yield* ModelRegistry.get(model, counted)
  const fail = (detail: string) => new ModelRegistry.ModelRegistryError({ model: name, detail })
  if (perRank === undefined) return yield* fail("its LoRA parameters were never counted")
  if (!Number.isInteger(loraRank) || loraRank < 1) {
    return yield* fail(`loraRank is ${loraRank}, expected a positive integer`)
  }
  if (!trainMlp && !trainAttn && !trainUnembed) {
    return yield* fail("nothing is trained; set one of trainMlp, trainAttn and trainUnembed")
  }
  const parts = Number(trainMlp) * perRank.mlp + Number(trainAttn) * perRank.attn +
    Number(trainUnembed) * perRank.unembed
  return loraRank * parts
})
