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

/**
 * The model with its renderer that leaves out thinking, if there is one. A renderer other than the model's default one
 * is kept, because it was chosen for the model.
 */
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
 * The base model `name`, without thinking, which the setting `field` names. Fails with `InvalidOption` if the program
 * has no backend or no tokenizers, as in `effect-rl play`.
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
