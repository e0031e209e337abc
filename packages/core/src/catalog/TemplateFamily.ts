/** Recognises renderers by the chat template of a model. */
import * as SmolLm2 from "../renderers/SmolLm2.ts"

interface Family {
  readonly renderer: string
  readonly isWrittenBy: (template: string) => boolean
}

const turn = "<|im_start|>"

/** Whether a template adds a system message of its own, for which it needs a renderer of its own. */
const hasOwnSystemMessage = (template: string) => /You are\b/.test(template)

const families: ReadonlyArray<Family> = [
  { renderer: "llama3", isWrittenBy: (template) => template.includes("<|start_header_id|>") },
  { renderer: "smollm2", isWrittenBy: (template) => template.includes(SmolLm2.systemMessage) },
  {
    renderer: "qwen3",
    isWrittenBy: (template) => template.includes(turn) && template.includes("enable_thinking")
  },
  {
    renderer: "qwen3_instruct",
    isWrittenBy: (template) => template.includes(turn) && !hasOwnSystemMessage(template)
  }
]

/** The name of the renderer that writes what the template writes; undefined for a family that is not known. */
export const rendererOf = (template: string): string | undefined =>
  families.find(({ isWrittenBy }) => isWrittenBy(template))?.renderer
