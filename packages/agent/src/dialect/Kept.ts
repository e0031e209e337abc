/**
 * What a session keeps of its conversations, so that its clients can name what was said instead of sending it again.
 *
 * @example
 * const kept = Kept.make()
 */
import type * as Anthropic from "./anthropic/AnthropicRequest.ts"
import type * as Responses from "./openai/OpenAiResponse.ts"

/** A conversation of Anthropic's form with its last answer. */
export type Thread = Pick<Anthropic.CountTokens, "messages" | "system" | "tools">

export interface Kept {
  /** Items of responses, by their ids. */
  readonly items: Map<string, Responses.Item>
  /** The input of each response and its output, by the response's id. */
  readonly responses: Map<string, ReadonlyArray<Responses.Item>>
  /** Conversations by the id of their last message. */
  readonly threads: Map<string, Thread>
}

/** Nothing yet. */
export const make = (): Kept => ({ items: new Map(), responses: new Map(), threads: new Map() })
