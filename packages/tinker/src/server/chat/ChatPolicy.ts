/** How this server treats chat clients that ask for what it cannot give. */
import type { Notes } from "@effect-rl/agent"
import * as Effect from "effect/Effect"

/** Notes that are remembered so as not to be repeated. */
const mostNotes = 1000

/** Characters of a logged note: fields are as long as a client makes them. */
const longestNote = 300

/** Logs each kind of note once for each field. */
export const make = (isLenient: boolean): Notes.Policy => {
  const noted = new Set<string>()
  return {
    isLenient,
    noted: ({ detail, field, kind }) =>
      Effect.suspend(() => {
        // A copy, as a slice would keep all of the text in memory.
        const key = Buffer.from(`${kind} ${field}`.slice(0, longestNote)).toString()
        if (noted.has(key) || noted.size >= mostNotes) return Effect.void
        noted.add(key)
        return kind === "no effect"
          ? Effect.logInfo(`chat clients send ${field}, which has no effect: ${detail}`)
          : Effect.logWarning(`an answer to a chat client lacks what was asked: ${detail.slice(0, longestNote)}`)
      })
  }
}
