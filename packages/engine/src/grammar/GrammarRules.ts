/** Grammars in the library's notation, as they go to a thread. */

/** The rule of a sampled text: one text of the grammar's own rule `root`, and its stop. */
export const root = "answer"

/** The text of UTF-8 bytes that are written as one character each. */
const fromUtf8 = (bytes: string) => Buffer.from(bytes, "latin1").toString("utf8")

const literal = (text: string) =>
  `"${Array.from(text, (character) => `\\U${character.codePointAt(0)?.toString(16).padStart(8, "0")}`).join("")}"`

/** The rules with `root` for texts that end in one of the strings, given as UTF-8, or at a token that stops them. */
export const stopped = (rules: string, strings: ReadonlyArray<string>, hasStopTokens: boolean) => {
  const endings = [...strings.map((string) => literal(fromUtf8(string))), ...(hasStopTokens ? ["\"\""] : [])]
  return `${rules}\n${root} ::= root (${endings.join(" | ")})\n`
}
