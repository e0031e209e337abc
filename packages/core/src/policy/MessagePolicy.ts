/** Policies that choose the next message: judges, simulated users and opponents. */
import * as Effect from "effect/Effect"
import * as AnswerRules from "../backend/AnswerRules.ts"
import * as AdaptiveLimiter from "../backend/limiter/AdaptiveLimiter.ts"
import { Metering } from "../backend/Metering.ts"
import type { SamplingClient } from "../backend/SamplingClient.ts"
import type { TinkerError } from "../backend/TinkerError.ts"
import type { ChatModel } from "../catalog/ChatModel.ts"
import type * as Message from "../chat/Message.ts"
import type * as Renderer from "../chat/Renderer.ts"
import type { Grammar } from "../model/Grammar.ts"
import type * as Sampling from "../model/Sampling.ts"
import * as Seed from "../records/Seed.ts"
import type * as Policy from "./Policy.ts"

/** A request for the next message of a conversation. */
export interface Request {
  readonly messages: ReadonlyArray<Message.Message>
  /** Identifies the request, for example `7/capitals/m3/rubric0`. Requests with the same key have the same seed. */
  readonly key: string
  /** A grammar that constrains the message. The policy fails if its backend does not support grammars. */
  readonly grammar?: Grammar
}

/** Responds to a conversation with a message. @see tinker-cookbook `MessageCompleter` */
export interface MessagePolicy<out E = never, out R = never> {
  readonly respond: (request: Request) => Effect.Effect<Message.Message, E, R>
}

/** How messages are sampled and parsed. */
export interface SamplingOptions extends Policy.SamplingOptions {
  /** Renders the messages and parses the answers. */
  readonly model: Pick<ChatModel, "renderer">
  /** Where responses end. Default: the renderer's own stop. */
  readonly stop?: Sampling.Stop
}

/**
 * Samples every message from one client, in the judges' lane of the `AdaptiveLimiter`, and counts the tokens for the run. A response that
 * was cut or did not end properly is still parsed and used.
 *
 * @example
 * const judge = MessagePolicy.fromSamplingClient(client, { model, maxTokens: 64, temperature: 0, seed: 1 })
 * const verdict = judge.respond({ messages: [Message.user("Is 7 a prime? Answer yes or no.")], key: "prime" })
 *
 * @see tinker-cookbook `TinkerMessageCompleter`
 */
export const fromSamplingClient = (
  client: SamplingClient,
  options: SamplingOptions
): MessagePolicy<TinkerError | Renderer.RendererError> => {
  const { model: { renderer }, seed, stop = renderer.stop, ...shape } = options
  return {
    respond: Effect.fnUntraced(function*({ grammar, key, messages }) {
      const prompt = yield* renderer.generationPrompt(messages)
      const params = { ...shape, stop, seed: Seed.derive(seed, key) }
      const { meter } = yield* Metering
      const metered = meter(yield* AdaptiveLimiter.limit(client, "judge"))
      const request = { prompt, params, ...(grammar !== undefined && { grammar }) }
      const { tokens } = yield* AnswerRules.onlySequence(request, yield* metered.sample(request))
      return (yield* renderer.parse(tokens)).message
    })
  }
}
