/** The output of a renderer as text. Trained text stands between ⟦ and ⟧. */
import type { Message } from "@effect-rl/core"
import { ModelInput } from "@effect-rl/core/backend"
import type { Renderer, Tokenizer } from "@effect-rl/core/renderers"
import { Effect } from "effect"

export const prompt = Effect.fnUntraced(function*(
  renderer: Renderer.Renderer,
  tokenizer: Tokenizer.Tokenizer,
  messages: ReadonlyArray<Message.Message>,
  options?: Renderer.GenerationOptions
) {
  const input = yield* renderer.generationPrompt(messages, options)
  return tokenizer.decode(yield* ModelInput.toTokens(input))
})

export const supervised = Effect.fnUntraced(function*(
  renderer: Renderer.Renderer,
  tokenizer: Tokenizer.Tokenizer,
  messages: ReadonlyArray<Message.Message>,
  trainOnWhat: Renderer.TrainOnWhat = "last_assistant_message"
) {
  const { input, weights } = yield* renderer.supervisedExample(messages, trainOnWhat)
  let text = ""
  for (const [index, token] of (yield* ModelInput.toTokens(input)).entries()) {
    const before = weights[index - 1] ?? 0
    const weight = weights[index] ?? 0
    text += (weight > before ? "⟦" : weight < before ? "⟧" : "") + tokenizer.decode([token])
  }
  return weights.at(-1) === 1 ? `${text}⟧` : text
})
