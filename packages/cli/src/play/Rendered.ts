/** A renderer that remembers which conversation each prompt shows. */
import type { Message } from "@effect-rl/core"
import type { Renderer } from "@effect-rl/core/renderers"
import * as Effect from "effect/Effect"

type Conversation = ReadonlyArray<Message.Message>

export interface Rendered {
  readonly renderer: Renderer.Renderer
  /**
   * The conversation behind a prompt's text. Later prompts keep answers as they were typed, so only the end of a prompt is certain to match
   * what was rendered.
   */
  readonly conversationOf: (prompt: string) => Conversation
}

/** Maximum number of remembered prompts: the latest turns of all players. */
const remembered = 64

const commonEnd = (left: string, right: string) => {
  let length = 0
  while (length < Math.min(left.length, right.length) && left.at(-1 - length) === right.at(-1 - length)) length++
  return length
}

/** Makes the renderer from another one. `textOf` returns the text of a prompt. */
export const make = (
  renderer: Renderer.Renderer,
  textOf: (prompt: Effect.Success<ReturnType<Renderer.Renderer["generationPrompt"]>>) => string
): Rendered => {
  let shown: ReadonlyArray<{ readonly conversation: Conversation; readonly text: string }> = []
  return {
    renderer: {
      ...renderer,
      generationPrompt: (conversation, options) =>
        Effect.tap(renderer.generationPrompt(conversation, options), (prompt) =>
          Effect.sync(() => {
            shown = [{ conversation, text: textOf(prompt) }, ...shown].slice(0, remembered)
          }))
    },
    conversationOf: (prompt) => {
      const ends = shown.map(({ text }) => commonEnd(text, prompt))
      return shown[ends.indexOf(Math.max(...ends))]?.conversation ?? []
    }
  }
}
