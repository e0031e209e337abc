/** Model, tokenizer and renderer that belong together. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Capabilities } from "../backend/Capabilities.ts"
import { Tinker } from "../backend/Tinker.ts"
import type { TinkerError } from "../backend/TinkerError.ts"
import * as ModelRegistry from "./ModelRegistry.ts"
import type * as Renderer from "./Renderer.ts"
import * as Renderers from "./Renderers.ts"
import * as TemplateFamily from "./TemplateFamily.ts"
import { type Tokenizer, type TokenizerError, Tokenizers } from "./Tokenizer.ts"

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

/** What the model registry knows unless given. */
export interface Options {
  readonly renderer?: string
  /** A model name or folder to load the tokenizer from. */
  readonly tokenizer?: string
}

/** Asked for, known of the model by its name, or recognised in its chat template. */
const chooseRenderer = (
  name: string,
  renderer: string | undefined,
  { chatTemplate }: Tokenizer
): Effect.Effect<string, ChatModelError> => {
  const found = renderer ?? (chatTemplate === undefined ? undefined : TemplateFamily.rendererOf(chatTemplate))
  if (found !== undefined) return Effect.succeed(found)
  const reason = chatTemplate === undefined ? "its renderer is not known" : "its chat template is of no known family"
  return Effect.fail(
    new ChatModelError({ model: name, detail: `${reason}; pass renderer, one of: ${Renderers.names.join(", ")}` })
  )
}

const checkFingerprint = (
  name: string,
  loadedFrom: string,
  tokenizer: Tokenizer,
  capabilities: Capabilities
): Effect.Effect<void, ChatModelError> => {
  const expected = capabilities.tokenizerFingerprint
  if (expected === undefined || expected === tokenizer.fingerprint) return Effect.void
  const detail =
    `the tokenizer loaded from "${loadedFrom}" (${tokenizer.fingerprint}) is not the one the backend's model was`
    + ` trained with (${expected}); pass tokenizer with the name or folder of the right one`
  return Effect.fail(new ChatModelError({ model: name, detail }))
}

/**
 * Asks the backend for the model, then loads the tokenizer and renderer that go with it. Fails when the backend does not
 * have the model, the tokenizer is not the model's own, or no renderer is known for it.
 */
export const resolve: (
  name: string,
  options?: Options
) => Effect.Effect<
  ChatModel,
  ChatModelError | TokenizerError | Renderer.RendererError | TinkerError,
  Tinker | Tokenizers
> = Effect.fn("ChatModel.resolve")(function*(name: string, options: Options = {}) {
  const capabilities = yield* Tinker.use((tinker) => tinker.capabilities(name))
  const known = ModelRegistry.find(name)
  const tokenizerId = options.tokenizer ?? known?.tokenizer ?? ModelRegistry.baseName(name)
  const tokenizer = yield* Tokenizers.use((tokenizers) => tokenizers.load(tokenizerId))
  yield* checkFingerprint(name, tokenizerId, tokenizer, capabilities)
  const rendererName = yield* chooseRenderer(name, options.renderer ?? known?.renderers[0], tokenizer)
  const renderer = yield* Renderers.byName(rendererName, tokenizer)
  return { name, tokenizer, renderer, capabilities }
})
