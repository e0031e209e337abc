/**
 * Grammar rules for text that contains none of the given strings, called marks.
 * There is one rule for each prefix of a mark that the text read so far may end with, as in the automaton of Aho and Corasick
 * (doi:10.1145/360825.360855).
 */

/** Escapes a character for literals and character classes. */
export const escaped = (character: string) => `\\U${character.codePointAt(0)?.toString(16).padStart(8, "0")}`

interface State {
  /** The mark prefix that the text ends with. */
  readonly read: string
  readonly name: string
}

/** All proper prefixes of the marks; the empty prefix has the rule `name`. */
const statesOf = (name: string, marks: ReadonlyArray<string>): ReadonlyArray<State> => {
  const beginnings = marks.flatMap((mark) => Array.from(mark, (_, length) => mark.slice(0, length)))
  return [...new Set(["", ...beginnings])].map((read, index) => ({
    read,
    name: index === 0 ? name : `answer_${name}_${index}`
  }))
}

/** The longest mark prefix that the text ends with. */
const longest = (states: ReadonlyArray<State>, text: string) =>
  states.reduce((found, state) => text.endsWith(state.read) && state.read.length > found.read.length ? state : found)

/** Writes a rule for each state. */
const rules = (
  name: string,
  marks: ReadonlyArray<string>,
  { ending, excluded, tail }: {
    /** Alternatives that do not continue with a mark's next character. */
    readonly ending: ReadonlyArray<string>
    /** Characters that the text may not contain, in character-class notation. */
    readonly excluded: string
    readonly tail: string
  }
): string => {
  const states = statesOf(name, marks)
  const characters = [...new Set(marks.join(""))]
  return states.map(({ name: own, read }) => {
    const ends = (character: string) => marks.some((mark) => (read + character).endsWith(mark))
    const next = (character: string) => longest(states, read + character).name
    const named = characters.filter((character) => ends(character) || next(character) !== name)
    const steps = named.filter((character) => !ends(character)).map((character) =>
      `("${escaped(character)}" ${next(character)})`
    )
    const others = `([^${excluded}${named.map(escaped).join("")}] ${name})`
    return `${own} ::= (${[...ending, ...steps, others].join(" | ")})${tail}`
  }).join("\n")
}

/** Rule `name`, which matches any text without the marks. */
export const without = (name: string, marks: ReadonlyArray<string>): string =>
  rules(name, marks, { ending: ["(\"\")"], excluded: "", tail: "" })

/** The library's rule for the inside of a JSON string and its closing quote. */
const inside = /^basic_string_sub ::= \(\(.*? basic_string_sub\)\)(.*)$/m

/** Rules for JSON values whose strings contain no mark. */
export const withoutMarks = (text: string, marks: ReadonlyArray<string>): string => {
  if (marks.length === 0 || !text.includes("basic_string")) return text
  const [line, tail = ""] = inside.exec(text) ?? []
  if (line === undefined) throw new Error("the library writes strings in an unknown form")
  return text.replace(
    line,
    () =>
      rules("basic_string_sub", marks, {
        ending: ["(\"\\\"\")", "(\"\\\\\" basic_escape basic_string_sub)"],
        excluded: "\\0-\\x1f\\\"\\\\\\r\\n",
        tail
      })
  )
}
