/** The recommended learning rate of a model. */
import * as Effect from "effect/Effect"
import * as ModelRegistry from "./ModelRegistry.ts"

const fullRate = 5e-5
const loraOverFull = 10

/**
 * The exponent of the hidden size in the formula of the learning rate, for the two model families on which it was measured; undefined for
 * other models.
 */
const exponent = (name: string): number | undefined => {
  const lower = name.toLowerCase()
  if (lower.includes("llama")) return 0.781
  return lower.includes("qwen") ? 0.0775 : undefined
}

const loraRate = (model: ModelRegistry.Model): number | undefined => {
  if (model.loraLearningRate !== undefined) return model.loraLearningRate
  const power = exponent(model.name)
  return power === undefined ? undefined : fullRate * loraOverFull * (2000 / model.hiddenSize) ** power
}

/** The kind of training and the optimizer, on which the learning rate depends. */
export interface Options {
  /** Whether a LoRA adapter is trained instead of all weights. Default: true. */
  readonly isLora?: boolean
  /** The optimizer. Default: "adamw", the only one with published rates. */
  readonly optimizer?: "adamw" | "dimuon"
}

/**
 * The recommended learning rate: `5e-5 · 10 · (2000 / hidden size)^e` for LoRA of any rank, and a tenth of it for full fine-tuning; e is
 * 0.781 for Llama and 0.0775 for Qwen. A `loraLearningRate` in the model's registry row replaces the formula. Fails for a model or an
 * optimizer without a calibrated rate. For a model that is not in the registry, pass its registry row instead of its name.
 *
 * @example
 * const learningRate = Hyperparameters.getLr("Qwen/Qwen3-8B", { isLora: true })
 *
 * @see tinker-cookbook `get_lr`
 */
export const getLr = Effect.fnUntraced(function*(
  model: string | ModelRegistry.Model,
  { isLora = true, optimizer = "adamw" }: Options = {}
): Effect.fn.Return<number, ModelRegistry.ModelRegistryError> {
  const calibrated = ModelRegistry.models.filter((model) => loraRate(model) !== undefined)
  const found = yield* ModelRegistry.get(model, calibrated)
  const fail = (detail: string) => new ModelRegistry.ModelRegistryError({ model: found.name, detail })
  if (optimizer === "dimuon") {
    return yield* fail(
      "no learning rate is published for DiMuon, and the known ones are for AdamW; choose one yourself"
    )
  }
  const rate = loraRate(found)
  if (rate !== undefined) return isLora ? rate : rate / loraOverFull
  const known = calibrated.map(({ name }) => name).join(", ")
  return yield* fail(`no calibrated learning rate; choose one yourself, or one of these models: ${known}`)
})
