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

/** Trainable parameters that each unit of LoRA rank adds; experts of one layer share a factor. */
export interface LoraParametersPerRank {
  readonly mlp: number
  readonly attn: number
  readonly unembed: number
}

/** @see tinker-cookbook `ModelAttributes` */
export interface Model {
  readonly name: string
  readonly organization: string
  readonly version: string
  /** As published: `8B`, or `30B-A3B` for a mixture of experts with 3B active parameters. */
  readonly size: string
  /** Whether it is tuned to follow instructions, as opposed to a base model. */
  readonly isChat: boolean
  readonly seesImages?: boolean
  readonly hearsAudio?: boolean
  readonly hiddenSize: number
  /** Context in tokens for which upstream's evaluations of the hosted model leave room; variants of a name may have more. */
  readonly contextLength?: number
  /** Recommended renderers, the preferred one first. */
  readonly renderers: readonly [string, ...ReadonlyArray<string>]
  /** The repository to load the tokenizer from. */
  readonly tokenizer: string
  readonly loraParametersPerRank?: LoraParametersPerRank
  /** Absent where the hosted service's price is not known here, or it does not have the model. */
  readonly price?: PublishedPrices.Price
  /** A LoRA learning rate found by trying, where the general formula does not hold. */
  readonly loraLearningRate?: number
}

/** A model is not known, or an attribute of it is not. */
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

/** Context of a variant with another one than the model's own, such as `:peft:131072`. */
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
 * The model of a name; `undefined` for an unknown one. A variant such as `:peft:131072` has the attributes of its model, but the context that it
 * names and a price of its own.
 */
export const find = (name: string): Model | undefined => {
  const model = byName.get(baseName(name))
  return model === undefined || model.name === name ? model : variant(name, model)
}

/** The failure for a name that is not among `known`, with the nearest of them. */
export const unknown = (name: string, known: ReadonlyArray<Model>): ModelRegistryError =>
  new ModelRegistryError({
    model: name,
    detail: `not known here; ${Suggestion.describe(baseName(name), known.map((model) => model.name))}`
  })

/**
 * The model of a name, or the row itself: a model that the registry does not know is a value. Fails for an unknown name, with the nearest of
 * `known`.
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
