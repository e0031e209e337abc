/** Models of the backend that take part in a task without being trained, such as judges and other players. */
import { ChatModel, InvalidOption, MessagePolicy, Tinker, type TinkerError } from "@effect-rl/core"
import { ModelRegistry, type Renderer, Renderers, Tokenizer } from "@effect-rl/core/renderers"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"

/** Opens a policy that samples from the model. */
export type Open = Effect.Effect<
  MessagePolicy.MessagePolicy<TinkerError.TinkerError | Renderer.RendererError>,
  TinkerError.TinkerError,
  Scope.Scope
>

const rendererWithoutThinking = (name: string) =>
  ModelRegistry.find(name)?.renderers.find((renderer) => renderer.endsWith("_disable_thinking"))

/** The model with the renderer that leaves out its thinking, if it has one. A renderer that was chosen for the model stays. */
export const withoutThinking = (
  model: ChatModel.ChatModel
): Effect.Effect<ChatModel.ChatModel, Renderer.RendererError> => {
  const isDefault = model.renderer.name === ModelRegistry.find(model.name)?.renderers[0]
  const renderer = isDefault ? rendererWithoutThinking(model.name) : undefined
  return renderer === undefined
    ? Effect.succeed(model)
    : Effect.map(Renderers.byName(renderer, model.tokenizer), (renderer) => ({ ...model, renderer }))
}

/**
 * The base model that a recipe's setting names, without thinking. Fails with `InvalidOption` if no model can sample, such as in
 * `effect-rl play`.
 */
export const make = Effect.fnUntraced(function*(
  field: string,
  name: string,
  sampling: Pick<MessagePolicy.SamplingOptions, "maxTokens" | "temperature">
) {
  const [backend, tokenizers] = yield* Effect.all([
    Effect.serviceOption(Tinker.Tinker),
    Effect.serviceOption(Tokenizer.Tokenizers)
  ])
  if (Option.isNone(backend) || Option.isNone(tokenizers)) {
    return yield* new InvalidOption.InvalidOption({
      field,
      found: name,
      expected: "scripted, because no model can sample here"
    })
  }
  const renderer = rendererWithoutThinking(name)
  const model = yield* ChatModel.resolve(name, renderer === undefined ? {} : { renderer }).pipe(
    Effect.provideService(Tinker.Tinker, backend.value),
    Effect.provideService(Tokenizer.Tokenizers, tokenizers.value)
  )
  const open: Open = Effect.map(
    backend.value.createSamplingClient({ baseModel: name }),
    (client) => MessagePolicy.fromSamplingClient(client, { ...sampling, model, seed: 0 })
  )
  return open
})
