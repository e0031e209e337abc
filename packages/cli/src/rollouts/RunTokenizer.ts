/** The tokenizer and renderer of a recorded run, to show its tokens as messages. */
import type { RunStore } from "@effect-rl/core"
import { type Conversation, StoryReader } from "@effect-rl/core/records"
import { Renderers, Tokenizer } from "@effect-rl/core/renderers"
import * as Effect from "effect/Effect"
import * as ModelTokenizers from "../ModelTokenizers.ts"

const load = Effect.fnUntraced(function*(model: string, fingerprint: unknown) {
  const tokenizer = yield* (yield* Tokenizer.Tokenizers).load(model)
  if (fingerprint === undefined || tokenizer.fingerprint === fingerprint) return tokenizer
  const detail = "it is not the one that the run was sampled with"
  return yield* new Tokenizer.TokenizerError({ tokenizer: model, detail })
}, Effect.provide(ModelTokenizers.layer))

/** A tokenizer's language, with the run's renderer if this version has that renderer. */
const languageOf = (tokenizer: Tokenizer.Tokenizer, renderer: unknown): Effect.Effect<Conversation.Language> =>
  typeof renderer !== "string"
    ? Effect.succeed(tokenizer)
    : Effect.match(Renderers.byName(renderer, tokenizer), {
      onFailure: () => tokenizer,
      onSuccess: (found) => ({ decode: tokenizer.decode, parse: found.parse, renderer: found })
    })

/** Loads the language of the run's tokens; undefined, with a warning, if the model's tokenizer is not available. */
export const language = Effect.fnUntraced(function*(run: RunStore.RunReader) {
  const { opened } = yield* StoryReader.read(run)
  const { model, renderer, tokenizer } = opened?.identity ?? {}
  if (typeof model !== "string") return undefined
  return yield* load(model, tokenizer).pipe(
    Effect.flatMap((tokenizer) => languageOf(tokenizer, renderer)),
    Effect.catch(({ message }) =>
      Effect.as(Effect.logWarning(`texts are those that environments logged: ${message}`), undefined)
    )
  )
})
