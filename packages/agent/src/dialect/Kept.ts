/**
 * What a session keeps of its conversations, so that its clients can name what was said instead of sending it again.
 *
 * @example
 * const kept = Kept.newest(1024 * 1024)
 */
import type * as Anthropic from "./anthropic/AnthropicRequest.ts"
import type * as Responses from "./openai/OpenAiResponse.ts"

/** A conversation of Anthropic's form with its last answer. */
export type Thread = Pick<Anthropic.CountTokens, "messages" | "system" | "tools">

/** Values by their names, each of which is given once. */
export interface Named<A> {
  readonly get: (name: string) => A | undefined
  readonly set: (name: string, value: A) => void
}

export interface Kept {
  /** Items of responses, by their ids. */
  readonly items: Named<Responses.Item>
  /** The input of each response and its output, by the response's id. */
  readonly responses: Named<ReadonlyArray<Responses.Item>>
  /** Conversations by the id of their last message. */
  readonly threads: Named<Thread>
}

/** Keeps everything, for a session that ends soon. */
export const make = (): Kept => ({ items: new Map(), responses: new Map(), threads: new Map() })

/** Keeps what was said last, as long as it has at most so many characters of JSON, for a server that goes on. */
export const newest = (mostCharacters: number): Kept => {
  const entries = new Set<{ readonly characters: number; readonly forget: () => void }>()
  let characters = 0
  const bounded = <A>(): Named<A> => {
    const values = new Map<string, A>()
    return {
      get: (name) => values.get(name),
      set: (name, value) => {
        const entry = { characters: JSON.stringify(value).length, forget: () => values.delete(name) }
        values.set(name, value)
        entries.add(entry)
        characters += entry.characters
        for (const oldest of entries) {
          if (characters <= mostCharacters) break
          entries.delete(oldest)
          oldest.forget()
          characters -= oldest.characters
        }
      }
    }
  }
  return { items: bounded(), responses: bounded(), threads: bounded() }
}
