/**
 * Conversation state that a session keeps, so clients can refer to earlier items by id instead of sending them again.
 *
 * @example
 * const kept = Kept.newest(1024 * 1024)
 */
import type * as Anthropic from "./anthropic/AnthropicRequest.ts"
import type * as Responses from "./openai/OpenAiResponse.ts"

/** What one request added to a conversation, and its answer. */
export interface Part {
  /** The name of the part before this one; absent for the first. */
  readonly previous?: string
}

/** A part in Anthropic's form. The system prompt and the tools are those of the whole conversation. */
export interface Thread extends Part, Pick<Anthropic.CountTokens, "messages" | "system" | "tools"> {}

/** A part in the form of the Responses API. */
export interface Response extends Part {
  readonly items: ReadonlyArray<Responses.Item>
}

/** Values by name. A name that is set keeps its value. */
export interface Named<A> {
  readonly get: (name: string) => A | undefined
  readonly set: (name: string, value: A) => void
}

export interface Kept {
  /** Response items by id. */
  readonly items: Named<Responses.Item>
  /** Parts by response id. */
  readonly responses: Named<Response>
  /** Parts by the id of their last message. */
  readonly threads: Named<Thread>
}

/** The parts of a conversation up to the named one, in order; undefined if one of them is not kept. */
export const upTo = <A extends Part>({ get }: Named<A>, name: string): ReadonlyArray<A> | undefined => {
  const parts: Array<A> = []
  for (let at: string | undefined = name; at !== undefined;) {
    const part = get(at)
    if (part === undefined) return undefined
    parts.push(part)
    at = part.previous
  }
  return parts.reverse()
}

const unbounded = <A>(): Named<A> => {
  const values = new Map<string, A>()
  return {
    get: (name) => values.get(name),
    set: (name, value) => {
      if (!values.has(name)) values.set(name, value)
    }
  }
}

/** Creates a store that keeps everything, for short sessions. */
export const make = (): Kept => ({ items: unbounded(), responses: unbounded(), threads: unbounded() })

/** Keeps the entries used last, up to `mostCharacters` characters of JSON; for servers that run indefinitely. */
export const newest = (mostCharacters: number): Kept => {
  const entries = new Set<{ readonly characters: number; readonly forget: () => void }>()
  let characters = 0
  const bounded = <A>(): Named<A> => {
    const values = new Map<string, { readonly value: A; readonly characters: number; readonly forget: () => void }>()
    return {
      get: (name) => {
        const entry = values.get(name)
        if (entry === undefined) return undefined
        entries.delete(entry)
        entries.add(entry)
        return entry.value
      },
      set: (name, value) => {
        if (values.has(name)) return
        const entry = { value, characters: JSON.stringify(value).length, forget: () => values.delete(name) }
        values.set(name, entry)
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
