/** The number of parameters that a LoRA adapter trains. */
import * as Effect from "effect/Effect"
import * as ModelRegistry from "./ModelRegistry.ts"

/** Rank 32 and everything trained unless given; the names are those of `LoraOptions`. */
export interface Options {
  readonly loraRank?: number
  readonly trainMlp?: boolean
  readonly trainAttn?: boolean
  readonly trainUnembed?: boolean
}

/**
 * Rank times the parameters that one unit of rank adds to the trained parts. Fails for a model without counts, a rank that is not a
 * positive integer, and where nothing is trained.
 *
 * @example
 * const parameters = LoraParameters.getLoraParamCount("Qwen/Qwen3-8B", { loraRank: 32, trainUnembed: false })
 *
 * @see tinker-cookbook `get_lora_param_count`
 */
export const getLoraParamCount = (
  name: string,
  options: Options = {}
): Effect.Effect<number, ModelRegistry.ModelRegistryError> => {
  const { loraRank = 32, trainAttn = true, trainMlp = true, trainUnembed = true } = options
  const fail = (detail: string) => Effect.fail(new ModelRegistry.ModelRegistryError({ model: name, detail }))
  const model = ModelRegistry.find(name)
  if (model === undefined) {
    return Effect.fail(ModelRegistry.unknown(name, ModelRegistry.models.filter((model) => model.loraParametersPerRank)))
  }
  const perRank = model.loraParametersPerRank
  if (perRank === undefined) return fail("its LoRA parameters were never counted")
  if (!Number.isInteger(loraRank) || loraRank < 1) return fail(`loraRank is ${loraRank}, expected a positive integer`)
  if (!trainMlp && !trainAttn && !trainUnembed) {
    return fail("nothing is trained; set one of trainMlp, trainAttn and trainUnembed")
  }
  return Effect.succeed(
    loraRank *
      (Number(trainMlp) * perRank.mlp + Number(trainAttn) * perRank.attn + Number(trainUnembed) * perRank.unembed)
  )
}
