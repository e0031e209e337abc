/** The tokenizer of a recorded run, to show its tokens as text. */
import { RunRecord, type RunStore } from "@effect-rl/core"
import { Tokenizer } from "@effect-rl/core/renderers"
import type { Conversation } from "@effect-rl/export"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as ModelTokenizers from "../ModelTokenizers.ts"

const load = Effect.fnUntraced(function*(model: string, fingerprint: unknown) {
  const tokenizer = yield* (yield* Tokenizer.Tokenizers).load(model)
  if (fingerprint === undefined || tokenizer.fingerprint === fingerprint) return tokenizer
  const detail = "it is not the one that the run was sampled with"
  return yield* new Tokenizer.TokenizerError({ tokenizer: model, detail })
}, Effect.provide(ModelTokenizers.layer))

/** Reads the run's tokens as text; undefined, with a warning, where its model's tokenizer is not available. */
export const decoder = Effect.fnUntraced(function*(run: RunStore.RunReader) {
  const records = yield* Stream.runCollect(run.read)
  const { model, tokenizer } = records.findLast(RunRecord.guards.Opened)?.identity ?? {}
  if (typeof model !== "string") return undefined
  return yield* load(model, tokenizer).pipe(
    Effect.map(({ decode }): Conversation.Decode => decode),
    Effect.catch(({ message }) =>
      Effect.as(Effect.logWarning(`texts are those that environments logged: ${message}`), undefined)
    )
  )
})
