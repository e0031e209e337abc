/** Recognises the renderer that matches a model's chat template. */
import * as SmolLm2 from "../renderers/SmolLm2.ts"

interface Family {
  readonly renderer: string
  readonly isWrittenBy: (template: string) => boolean
}

const turn = "<|im_start|>"

/** Whether a template adds a default system message. Such a template needs its own renderer. */
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

/** The name of the renderer that writes the same text as the template; undefined if the template's family is not known. */
export const rendererOf = (template: string): string | undefined =>
  families.find(({ isWrittenBy }) => isWrittenBy(template))?.renderer
