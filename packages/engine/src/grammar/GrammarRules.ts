/** Grammar rules in xgrammar's notation, ready to send to a compute thread. */
import type { Grammar } from "@effect-rl/core/backend"
import * as StringRules from "./StringRules.ts"

/** A grammar's rules and its marks. */
export interface Rules {
  /** The rules as text; rule `answer_start` matches a whole text. */
  readonly text: string
  /** The texts of added tokens that the rules may use, such as the marks around a call. */
  readonly marks: ReadonlyArray<string>
}

/** The name of the rule for a whole sample: a text that the grammar allows, followed by its stop. */
export const root = "answer"

const start = "answer_start"

/** Decodes UTF-8 bytes that are written as one character each. */
const fromUtf8 = (bytes: string) => Buffer.from(bytes, "latin1").toString("utf8")

const literal = (text: string) => text === "" ? "\"\"" : `"${Array.from(text, StringRules.escaped).join("")}"`

/** Rules for values alone; rule `root` of `text` matches one value. */
export const values = (text: string): Rules => ({ text: `${text}\n${start} ::= root\n`, marks: [] })

/** Rules for text with calls; rule `root` of `text` matches the value of each call. */
export const calls = (text: string, { between, close, hasText, marks, open }: Grammar.Calls): Rules => {
  const more = between === undefined ? "\"\"" : `"" | (${literal(between)} answer_calls)`
  const before = hasText ? StringRules.without("answer_text", marks) : ""
  const begun = hasText ? "answer_text ((\"\") | (answer_calls))" : "answer_calls"
  return {
    text: [
      StringRules.withoutMarks(text, marks),
      `answer_calls ::= (${literal(open)} root ${literal(close)} answer_more)`,
      `answer_more ::= (${more})`,
      before,
      `${start} ::= (${begun})`,
      ""
    ].join("\n"),
    marks
  }
}

/**
 * Adds the rule `answer`: a text that the grammar allows, followed by one of the UTF-8 stop strings. If there are stop tokens, the text may
 * also end without a stop string.
 */
export const stopped = ({ text }: Rules, strings: ReadonlyArray<string>, hasStopTokens: boolean) => {
  const endings = [...strings.map((string) => literal(fromUtf8(string))), ...(hasStopTokens ? ["\"\""] : [])]
  return `${text}\n${root} ::= ${start} (${endings.join(" | ")})\n`
}
