/** Trims white space at both ends of text that arrives in pieces. */
import * as PythonText from "./text/PythonText.ts"

/** Which white space is trimmed. */
export type Space = "nothing" | "newlines" | "space"

export interface TrimmedText {
  readonly write: (text: string) => void
  /** Ends the text, and writes or drops the trailing white space that was held back. */
  readonly end: (held: "keep" | "drop") => void
}

export const stripStart = (text: string, space: Space) => {
  if (space === "nothing") return text
  return space === "newlines" ? PythonText.stripLeadingNewlines(text) : PythonText.stripStart(text)
}

const stripEnd = (text: string, space: Space) => {
  if (space === "nothing") return text
  return space === "newlines" ? PythonText.stripTrailingNewlines(text) : PythonText.stripEnd(text)
}

/** A trimmer that drops leading white space, and holds white space back until it is known whether more text follows. */
export const make = (emit: (text: string) => void, atStart: Space, atEnd: Space): TrimmedText => {
  let isStarted = false
  let held = ""
  return {
    write: (text) => {
      const all = isStarted ? held + text : stripStart(held + text, atStart)
      isStarted ||= all !== ""
      const shown = stripEnd(all, atEnd)
      held = all.slice(shown.length)
      if (shown !== "") emit(shown)
    },
    end: (rest) => {
      if (rest === "keep" && held !== "") emit(held)
      held = ""
      isStarted = false
    }
  }
}
