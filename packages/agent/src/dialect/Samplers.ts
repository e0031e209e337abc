/**
 * An answerer backed by in-process sampling clients, each under the model name that agents use.
 *
 * @example
 * const answerer = Effect.gen(function*() {
 *   const chatModel = yield* ChatModel.resolve("Qwen/Qwen3-8B")
 *   const client = yield* Tinker.Tinker.use((tinker) => tinker.createSamplingClient({ baseModel: chatModel.name }))
 *   return Samplers.answerer({ policy: { chatModel, client } })
 * })
 */
import type { ChatModel } from "@effect-rl/core"
import type { SamplingClient } from "@effect-rl/core/backend"
import * as Effect from "effect/Effect"
import { randomUUID } from "node:crypto"
import type { Answerer } from "./Answerer.ts"
import * as PromptedChat from "./PromptedChat.ts"
import { fromTinkerError, notFound, type Refusal } from "./Refusal.ts"

/** Weights with their tokenizer and renderer. */
export interface Sampler {
  readonly chatModel: ChatModel.ChatModel
  readonly client: SamplingClient.SamplingClient
}

/** Answers with these samplers by name; other names are refused. */
export const answerer = (samplers: Readonly<Record<string, Sampler>>): Answerer => {
  const find = (model: string): Effect.Effect<Sampler, Refusal> => {
    const found = Object.hasOwn(samplers, model) ? samplers[model] : undefined
    return found === undefined ? Effect.fail(notFound("model", model)) : Effect.succeed(found)
  }
  const source = (model: string): Effect.Effect<PromptedChat.Source, Refusal> =>
    Effect.map(find(model), ({ chatModel, client }) => ({
      id: randomUUID(),
      chatModel,
      sample: (request) => Effect.mapError(client.sample(request), fromTinkerError),
      replied: () => Effect.void
    }))
  return {
    models: Effect.succeed(
      Object.entries(samplers).map(([id, { chatModel: { capabilities: { contextLength } } }]) => ({
        id,
        contextLength
      }))
    ),
    chatModel: (model) => Effect.map(find(model), ({ chatModel }) => chatModel),
    prompted: (model, asked, settings) =>
      Effect.flatMap(source(model), (found) => PromptedChat.prompted(found, asked, settings)),
    continued: (model, prompt, settings) =>
      Effect.flatMap(source(model), (found) => PromptedChat.continued(found, prompt, settings))
  }
}
