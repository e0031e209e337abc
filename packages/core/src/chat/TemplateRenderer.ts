/** The renderer of a chat template. */
import * as Effect from "effect/Effect"
import * as ChatTemplate from "./ChatTemplate.ts"
import type { Renderer } from "./Renderer.ts"
import * as Supervision from "./Supervision.ts"

/** A renderer that writes and reads as the template says. */
export const make = (template: ChatTemplate.ChatTemplate): Renderer => ({
  name: template.name,
  stop: template.stop,
  hasExtensionProperty: template.hasExtensionProperty,
  generationPrompt: (messages, options = {}) =>
    ChatTemplate.prepare(template, messages).pipe(
      Effect.flatMap((prepared) => ChatTemplate.promptPieces(template, prepared, options)),
      Effect.map(ChatTemplate.toInput)
    ),
  parse: template.parse,
  supervisedExample: (messages, trainOnWhat) => Supervision.example(template, messages, trainOnWhat),
  supervisedExamples: (messages, trainOnWhat) => Supervision.examples(template, messages, trainOnWhat),
  ...(template.toolsPrefix === undefined ? {} : { toolsPrefix: template.toolsPrefix })
})
