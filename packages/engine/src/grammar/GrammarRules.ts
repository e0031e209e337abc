/** Grammars in the library's notation, as they go to a thread. */
import type { Grammar } from "@effect-rl/core/backend"
import * as StringRules from "./StringRules.ts"

/** The rules of a grammar. */
export interface Rules {
  /** The first of them is `start`. */
  readonly text: string
  /** Texts that may be tokens of their own. */
  readonly marks: ReadonlyArray<string>
}

/** The rule of a sampled text: one text of the grammar's own rules, and its stop. */
export const root = "answer"

const start = "answer_start"

/** The text of UTF-8 bytes that are written as one character each. */
const fromUtf8 = (bytes: string) => Buffer.from(bytes, "latin1").toString("utf8")

const literal = (text: string) => text === "" ? "\"\"" : `"${Array.from(text, StringRules.escaped).join("")}"`

/** The rules of values alone, whose first is called `root`. */
export const values = (text: string): Rules => ({ text: `${text}\n${start} ::= root\n`, marks: [] })

/** The rules of texts with calls, each of which is a value of the given rules. */
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

/** The rules with `root` for texts that end in one of the strings, given as UTF-8, or at a token that stops them. */
export const stopped = ({ text }: Rules, strings: ReadonlyArray<string>, hasStopTokens: boolean) => {
  const endings = [...strings.map((string) => literal(fromUtf8(string))), ...(hasStopTokens ? ["\"\""] : [])]
  return `${text}\n${root} ::= ${start} (${endings.join(" | ")})\n`
}
