/** How this server treats chat requests for unavailable effects. */
import type { Notes } from "@effect-rl/agent"
import * as Effect from "effect/Effect"

/** How many logged notes are remembered to avoid repetition. */
const mostNotes = 1000

/** Maximum length of a logged note, because clients choose the length of field names. */
const longestNote = 300

/** The policy of this server, which logs each kind of note once per field. */
export const make = (isLenient: boolean): Notes.Policy => {
  const noted = new Set<string>()
  return {
    isLenient,
    noted: ({ detail, field, kind }) =>
      Effect.suspend(() => {
        // A copy, because a slice would keep the whole text in memory.
        const key = Buffer.from(`${kind} ${field}`.slice(0, longestNote)).toString()
        if (noted.has(key) || noted.size >= mostNotes) return Effect.void
        noted.add(key)
        return kind === "no effect"
          ? Effect.logInfo(`chat clients send ${field}, which has no effect: ${detail}`)
          : Effect.logWarning(`an answer to a chat client lacks what was asked: ${detail.slice(0, longestNote)}`)
      })
  }
}
