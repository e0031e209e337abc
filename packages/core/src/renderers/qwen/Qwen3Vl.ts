/**
 * Qwen3-VL: Qwen3's format with images, without line breaks around thinking.
 *
 * @example
 * const tokens = Qwen3Vl.images.count?.({ width: 640, height: 480 })
 */
import * as Effect from "effect/Effect"
import * as Message from "../../chat/Message.ts"
import type { Tokenizer } from "../../chat/Tokenizer.ts"
import * as ChatMl from "../ChatMl.ts"
import * as ImageTokens from "../ImageTokens.ts"
import * as ToolCallText from "../ToolCallText.ts"
import * as Qwen3 from "./Qwen3.ts"
import * as QwenVl from "./QwenVl.ts"

/** The published image preprocessing of Qwen3-VL; Qwen3.5 to Qwen3.8 use it too. */
export const patches: ImageTokens.Patches = {
  patchSize: 16,
  mergeSize: 2,
  minPixels: 65_536,
  maxPixels: 16_777_216
}

const vision = ["<|vision_start|>", "<|vision_end|>"] as const

/** How images are written, also for Qwen3.5 to Qwen3.8. */
export const images: ImageTokens.Images = {
  controls: vision,
  wrap: ImageTokens.between(...vision),
  count: ImageTokens.patchTokens(patches)
}

const calls = (renderer: string, toolCalls: ReadonlyArray<Message.ToolCall>) =>
  Effect.map(
    Effect.forEach(toolCalls, (call) => ChatMl.jsonCall(renderer, call)),
    (written) => `\n${written.join("\n")}`
  )

const dialect = (name: string, framesThinking: boolean): QwenVl.Dialect => ({
  name,
  hasExtensionProperty: false,
  disablesThinking: false,
  adapt: Effect.succeed,
  strips: (place) => !place.isLast,
  thinking: (thinking) => `<think>${thinking}</think>`,
  headerSuffix: () => "",
  generationHeader: ChatMl.header,
  answer: ["<tool_response>\n", "\n</tool_response>"],
  betweenAnswers: undefined,
  calls: (_, toolCalls) => calls(name, toolCalls),
  images,
  read: (text, isCut) => isCut ? Message.assistant(text) : Qwen3.read(text, framesThinking),
  reader: Qwen3.reader(framesThinking),
  toolsPrefix: (tools, systemPrompt) => Effect.sync(() => Qwen3.toolsPrefix(tools, systemPrompt)),
  callForm: ToolCallText.form
})

/** The renderer for Qwen3-VL's thinking models. @see tinker-cookbook `Qwen3VLRenderer` */
export const qwen3Vl = (tokenizer: Tokenizer) => QwenVl.make(dialect("qwen3_vl", true), tokenizer)

/** The renderer for Qwen3-VL's instruct models, which do not think. @see tinker-cookbook `Qwen3VLInstructRenderer` */
export const qwen3VlInstruct = (tokenizer: Tokenizer) => QwenVl.make(dialect("qwen3_vl_instruct", false), tokenizer)
