/** A model together with its tokenizer and renderer. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Capabilities } from "../backend/Capabilities.ts"
import { Tinker } from "../backend/Tinker.ts"
import type { TinkerError } from "../backend/TinkerError.ts"
import type * as Renderer from "../chat/Renderer.ts"
import { type Tokenizer, type TokenizerError, Tokenizers } from "../chat/Tokenizer.ts"
import * as JinjaRenderer from "../renderers/jinja/JinjaRenderer.ts"
import * as Renderers from "../renderers/Renderers.ts"
import * as ModelRegistry from "./ModelRegistry.ts"
import * as TemplateFamily from "./TemplateFamily.ts"

/** A chat model cannot be built for the named model. */
export class ChatModelError extends Schema.TaggedError<ChatModelError>()("ChatModelError", {
  model: Schema.String,
  detail: Schema.String
}) {
  override get message() {
    return `model "${this.model}": ${this.detail}`
  }
}

/** A model with its tokenizer and renderer, checked against the backend once. Policy, judge and teacher may each have a different one. */
export interface ChatModel {
  readonly name: string
  readonly tokenizer: Tokenizer
  readonly renderer: Renderer.Renderer
  readonly capabilities: Capabilities
}

/** Overrides of the registry's choices for the model. */
export interface Options {
  /** A renderer name, a renderer, or a function that makes a renderer for the model's tokenizer. */
  readonly renderer?: string | Renderer.Renderer | Renderers.Make
  /** A tokenizer, or a model name or folder to load it from. */
  readonly tokenizer?: string | Tokenizer
}

/**
 * Chooses the renderer's name: the one given or registered for the model, else the one recognised by the tokenizer's chat template, else
 * the renderer that runs the template itself. Fails without a name and a chat template.
 */
const chooseName = (
  name: string,
  renderer: string | undefined,
  { chatTemplate }: Tokenizer
): Effect.Effect<string, ChatModelError> => {
  if (renderer !== undefined) return Effect.succeed(renderer)
  if (chatTemplate !== undefined) {
    return Effect.succeed(TemplateFamily.rendererOf(chatTemplate.source) ?? JinjaRenderer.name)
  }
  const detail = "its renderer is unknown and its tokenizer has no chat template; pass renderer, one of: "
  return Effect.fail(new ChatModelError({ model: name, detail: detail + Renderers.names.join(", ") }))
}

const chooseRenderer = (
  name: string,
  renderer: Options["renderer"],
  tokenizer: Tokenizer
): Effect.Effect<Renderer.Renderer, ChatModelError | Renderer.RendererError> => {
  if (typeof renderer === "object") return Effect.succeed(renderer)
  if (typeof renderer === "function") return renderer(tokenizer)
  return Effect.flatMap(chooseName(name, renderer, tokenizer), (chosen) => Renderers.byName(chosen, tokenizer))
}

/**
 * Logs a warning if the registry does not list the renderer for the model. The renderer that runs the model's own chat template is always
 * accepted.
 */
const warnIfUnusual = (name: string, { name: renderer }: Renderer.Renderer, { renderers }: ModelRegistry.Model) =>
  renderers.includes(renderer) || renderer === JinjaRenderer.name ? Effect.void : Effect.logWarning(
    `the renderer "${renderer}" is not one of those for ${name} (${renderers.join(", ")}), so the model may read`
      + " tokens that it was not trained on"
  )

const checkFingerprint = (
  name: string,
  source: string,
  tokenizer: Tokenizer,
  capabilities: Capabilities
): Effect.Effect<void, ChatModelError> => {
  const expected = capabilities.tokenizerFingerprint
  if (expected === undefined || expected === tokenizer.fingerprint) return Effect.void
  const detail = `${source} (${tokenizer.fingerprint}) is not the one the backend's model was`
    + ` trained with (${expected}); pass tokenizer with the name or folder of the right one`
  return Effect.fail(new ChatModelError({ model: name, detail }))
}

/**
 * Checks that the backend has the model, then loads its tokenizer and renderer. Fails if the backend does not have the model, if the
 * tokenizer cannot be loaded or is not the one the model was trained with, or if no renderer is known for the model. Logs a warning if a
 * renderer is named that the registry does not list for the model.
 *
 * @example
 * Effect.gen(function*() {
 *   const model = yield* ChatModel.resolve("Qwen/Qwen3-8B", { renderer: "qwen3_disable_thinking" })
 *   return yield* model.renderer.generationPrompt([Message.user("What is 2 + 2?")])
 * })
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
  const wanted = options.tokenizer ?? known?.tokenizer ?? ModelRegistry.baseName(name)
  const tokenizer = typeof wanted === "string"
    ? yield* Tokenizers.use((tokenizers) => tokenizers.load(wanted))
    : wanted
  const source = typeof wanted === "string" ? `the tokenizer loaded from "${wanted}"` : "the tokenizer that was passed"
  yield* checkFingerprint(name, source, tokenizer, capabilities)
  const renderer = yield* chooseRenderer(name, options.renderer ?? known?.renderers[0], tokenizer)
  if (typeof options.renderer === "string" && known !== undefined) yield* warnIfUnusual(name, renderer, known)
  return { name, tokenizer, renderer, capabilities }
})
