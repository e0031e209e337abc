/** Model, tokenizer and renderer that belong together. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Capabilities } from "../backend/Capabilities.ts"
import { Tinker } from "../backend/Tinker.ts"
import type { TinkerError } from "../backend/TinkerError.ts"
import type * as Renderer from "./Renderer.ts"
import { type Tokenizer, Tokenizers } from "./Tokenizer.ts"

export class ChatModelError extends Schema.TaggedError<ChatModelError>()("ChatModelError", {
  model: Schema.String,
  detail: Schema.String
}) {
  override get message() {
    return `model "${this.model}": ${this.detail}`
  }
}

/** A value, so that policy, judge and teacher can differ; checked against the backend once. */
export interface ChatModel {
  readonly name: string
  readonly tokenizer: Tokenizer
  readonly renderer: Renderer.Renderer
  readonly capabilities: Capabilities
}
