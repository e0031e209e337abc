/** `--model`: the models that a server serves besides the presets, and their shares of the memory. */
import { Quantity } from "@effect-rl/core/records"
import type { Engine } from "@effect-rl/engine"
import * as Flag from "effect/cli/Flag"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as MemoryText from "../terminal/MemoryText.ts"

export interface ServedModel {
  readonly name: string
  readonly place: string
}

/** The engine's memory has no room for the model beside the others. */
export class ModelTooLarge extends Schema.TaggedError<ModelTooLarge>()("ModelTooLarge", {
  model: Schema.String,
  weightBytes: Schema.Number,
  shareBytes: Schema.Number,
  /** Tokens of the longest sequence that fits. */
  contextLength: Schema.Int,
  /** Number of models that share the memory. */
  models: Schema.Int
}) {
  override get message() {
    const { contextLength, model, models, shareBytes, weightBytes } = this
    const others = models === 1 ? "" : ` beside ${models - 1} more`
    return `--model ${model} does not fit into the engine's memory${others}: its weights take ${
      Quantity.bytes(weightBytes)
    } ` +
      `and its share is ${
        Quantity.bytes(shareBytes)
      }, with room for sequences of ${contextLength} tokens, expected 512 at least`
  }
}

/** Parses `NAME=PLACE`, or a place that is also the name. */
const parse = (text: string): ServedModel => {
  const at = text.indexOf("=")
  return at > 0 ? { name: text.slice(0, at), place: text.slice(at + 1) } : { name: text, place: text }
}

export const flag = Flag.String("model").pipe(
  Flag.withMetavar("name=place"),
  Flag.withDescription(
    "Another model to serve: a folder in Hugging Face's format, a GGUF file, smollm2 or a preset; its place is its name unless one is given"
  ),
  Flag.filter((text) => parse(text).place !== "", () => "a place, or NAME=PLACE"),
  Flag.map(parse),
  Flag.between(0, Infinity)
)

/** Bytes from which weights are reported: they take a while to load, and leave less memory for the rest. */
const worthTelling = 2 ** 26

/** Reports how the `given` models share the memory. Fails, before any weights are read, if a model has no room. */
export const tell = Effect.fnUntraced(function*({ models }: Engine.Plan, given: number) {
  const tooLarge = models.find(({ fits }) => !fits)
  if (tooLarge !== undefined) {
    const { contextLength, name, shareBytes, totalBytes, weightBytes } = tooLarge
    const room = totalBytes > shareBytes ? 0 : contextLength
    return yield* new ModelTooLarge({ model: name, weightBytes, shareBytes, contextLength: room, models: given })
  }
  for (const model of models) {
    if (model.weightBytes >= worthTelling) yield* Console.log(MemoryText.line(model))
  }
})
