/** The renderers by the names that recipes and checkpoints use. */
import * as Effect from "effect/Effect"
import { llama3 } from "./Llama3.ts"
import { qwen3, qwen3DisableThinking, qwen3Instruct } from "./Qwen3.ts"
import { qwen35, qwen35DisableThinking } from "./Qwen35.ts"
import { type Renderer, RendererError } from "./Renderer.ts"
import { roleColon } from "./RoleColon.ts"
import { smolLm2 } from "./SmolLm2.ts"
import * as Suggestion from "./Suggestion.ts"
import type { Tokenizer } from "./Tokenizer.ts"

type Make = (tokenizer: Tokenizer) => Effect.Effect<Renderer, RendererError>

const renderers: ReadonlyMap<string, Make> = new Map([
  ["role_colon", roleColon],
  ["llama3", llama3],
  ["qwen3", qwen3],
  ["qwen3_disable_thinking", qwen3DisableThinking],
  ["qwen3_instruct", qwen3Instruct],
  ["smollm2", smolLm2],
  ["qwen3_5", qwen35],
  ["qwen3_5_disable_thinking", qwen35DisableThinking]
])

export const names: ReadonlyArray<string> = Array.from(renderers.keys())

/** Fails for an unknown name, with the nearest known one, and for a tokenizer that lacks the family's special tokens. */
export const byName = (name: string, tokenizer: Tokenizer): Effect.Effect<Renderer, RendererError> => {
  const make = renderers.get(name)
  if (make !== undefined) return make(tokenizer)
  return Effect.fail(
    new RendererError({ renderer: name, detail: `no such renderer; ${Suggestion.describe(name, names)}` })
  )
}
