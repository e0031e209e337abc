/**
 * Attributes of each known model.
 *
 * @example
 * const contextLength = ModelRegistry.find("Qwen/Qwen3-8B")?.contextLength
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Suggestion from "../settings/Suggestion.ts"
import { models } from "./KnownModels.ts"
import * as PublishedPrices from "./PublishedPrices.ts"

/** Trainable parameters per unit of LoRA rank. The experts of one layer share a factor. */
export interface LoraParametersPerRank {
  readonly mlp: number
  readonly attn: number
  readonly unembed: number
}

/** A row of the registry: one model and its attributes. @see tinker-cookbook `ModelAttributes` */
export interface Model {
  readonly name: string
  readonly organization: string
  readonly version: string
  /** The published size: `8B`, or `30B-A3B` for a mixture of experts with 3B active parameters. */
  readonly size: string
  /** Whether the model is tuned to follow instructions; false for a base model. */
  readonly isChat: boolean
  readonly seesImages?: boolean
  readonly hearsAudio?: boolean
  readonly hiddenSize: number
  /** Context length in tokens that upstream's evaluations assume for the hosted model. A variant of the name may have a longer one. */
  readonly contextLength?: number
  /** Recommended renderers, the preferred one first. */
  readonly renderers: readonly [string, ...ReadonlyArray<string>]
  /** The repository from which the tokenizer is loaded. */
  readonly tokenizer: string
  readonly loraParametersPerRank?: LoraParametersPerRank
  /** Prices at the hosted service. Absent if the service does not have the model, or its price is not known here. */
  readonly price?: PublishedPrices.Price
  /** An empirical LoRA learning rate, for a model that the general formula does not fit. */
  readonly loraLearningRate?: number
}

/** The model, or one of its attributes, is not known. */
export class ModelRegistryError extends Schema.TaggedError<ModelRegistryError>()("ModelRegistryError", {
  model: Schema.String,
  detail: Schema.String
}) {
  override get message() {
    return `model "${this.model}": ${this.detail}`
  }
}

const byName: ReadonlyMap<string, Model> = new Map(models.map((model) => [model.name, model]))

/** The name without a variant such as `:peft:131072`. */
export const baseName = (name: string): string => name.replace(/:.*$/, "")

/** The context length in the name of a variant such as `:peft:131072`; NaN if it has none. */
const contextOf = (name: string) => Number(/:peft:(\d+)/.exec(name)?.[1] ?? NaN)

const variant = (name: string, model: Model): Model => {
  const { contextLength, price: _, ...attributes } = model
  const context = contextOf(name)
  const price = PublishedPrices.byModel.get(name)
  return {
    ...attributes,
    ...(Number.isNaN(context) ? contextLength !== undefined && { contextLength } : { contextLength: context }),
    ...(price !== undefined && { price })
  }
}

/**
 * The model with this name, or `undefined`. A variant such as `:peft:131072` has the attributes of its model, except for the context length
 * in its name and its own price.
 */
export const find = (name: string): Model | undefined => {
  const model = byName.get(baseName(name))
  return model === undefined || model.name === name ? model : variant(name, model)
}

/** The error for a name that is not among `known`. It suggests the nearest known names. */
export const unknown = (name: string, known: ReadonlyArray<Model>): ModelRegistryError =>
  new ModelRegistryError({
    model: name,
    detail: `not known here; ${Suggestion.describe(baseName(name), known.map((model) => model.name))}`
  })

/**
 * The model with this name. A row is returned as it is, so callers can pass models that the registry does not know. Fails for an unknown
 * name and suggests the nearest names in `known`.
 */
export const get = (
  model: string | Model,
  known: ReadonlyArray<Model> = models
): Effect.Effect<Model, ModelRegistryError> => {
  if (typeof model !== "string") return Effect.succeed(model)
  const found = find(model)
  return found === undefined ? Effect.fail(unknown(model, known)) : Effect.succeed(found)
}

export { models }
