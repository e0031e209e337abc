/** Loaded tokenizers and renderers, by base model. */
import { ChatModel, type Tinker } from "@effect-rl/core"
import type { Tokenizer } from "@effect-rl/core/renderers"
import * as Effect from "effect/Effect"
import { badRequest, fromTinkerError } from "../HttpRefusal.ts"

/** Loads and caches the tokenizer and renderer of a model. `tokenizerOf` returns the name of a model's tokenizer. */
export const make = Effect.fnUntraced(function*(tokenizerOf: (model: string) => string) {
  const context = yield* Effect.context<Tinker.Tinker | Tokenizer.Tokenizers>()
  const loaded = new Map<string, ChatModel.ChatModel>()
  const load = Effect.fnUntraced(function*(model: string) {
    const tokenizer = tokenizerOf(model)
    const found = yield* ChatModel.resolve(model, tokenizer === model ? {} : { tokenizer }).pipe(
      Effect.provideContext(context),
      Effect.mapError((error) =>
        error._tag === "TinkerError"
          ? fromTinkerError(error)
          : badRequest(`model "${model}" cannot chat: ${error.message}`)
      )
    )
    loaded.set(model, found)
    return found
  })
  return (model: string) =>
    Effect.suspend(() => {
      const found = loaded.get(model)
      return found === undefined ? load(model) : Effect.succeed(found)
    })
})
