/**
 * Conversation state that a session keeps, so clients can refer to earlier items by id instead of sending them again.
 *
 * @example
 * const kept = Kept.newest(1024 * 1024)
 */
import type * as Anthropic from "./anthropic/AnthropicRequest.ts"
import type * as Responses from "./openai/OpenAiResponse.ts"

/** A conversation in Anthropic's form with its last answer. */
export type Thread = Pick<Anthropic.CountTokens, "messages" | "system" | "tools">

/** Values by name. Each name is set once. */
export interface Named<A> {
  readonly get: (name: string) => A | undefined
  readonly set: (name: string, value: A) => void
}

export interface Kept {
  /** Response items by id. */
  readonly items: Named<Responses.Item>
  /** The input and output of each response, by response id. */
  readonly responses: Named<ReadonlyArray<Responses.Item>>
  /** Conversations by the id of their last message. */
  readonly threads: Named<Thread>
}

/** Creates a store that keeps everything, for short sessions. */
export const make = (): Kept => ({ items: new Map(), responses: new Map(), threads: new Map() })

/** Keeps the newest entries, up to `mostCharacters` characters of JSON; for servers that run indefinitely. */
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
