/**
 * Rules of texts that do not contain some texts, called marks.
 *
 * There is a rule for each beginning of a mark with which what was read so far ends, as in the automaton of Aho and Corasick
 * (doi:10.1145/360825.360855).
 */

/** A character as it is written in literals and classes. */
export const escaped = (character: string) => `\\U${character.codePointAt(0)?.toString(16).padStart(8, "0")}`

interface State {
  /** The beginning that was read. */
  readonly read: string
  readonly name: string
}

/** The beginnings of marks, without whole marks; the rule of the empty one is called `name`. */
const statesOf = (name: string, marks: ReadonlyArray<string>): ReadonlyArray<State> => {
  const beginnings = marks.flatMap((mark) => Array.from(mark, (_, length) => mark.slice(0, length)))
  return [...new Set(["", ...beginnings])].map((read, index) => ({
    read,
    name: index === 0 ? name : `answer_${name}_${index}`
  }))
}

/** The longest beginning of a mark with which the text ends. */
const longest = (states: ReadonlyArray<State>, text: string) =>
  states.reduce((found, state) => text.endsWith(state.read) && state.read.length > found.read.length ? state : found)

/** A rule for each state. */
const rules = (
  name: string,
  marks: ReadonlyArray<string>,
  { ending, excluded, tail }: {
    /** Alternatives that do not go on by a character of a mark. */
    readonly ending: ReadonlyArray<string>
    /** Characters in the notation of a class that no text has. */
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

/** The rule `name` of any text without the marks. */
export const without = (name: string, marks: ReadonlyArray<string>): string =>
  rules(name, marks, { ending: ["(\"\")"], excluded: "", tail: "" })

/** How the library writes the inside of JSON strings and the quote that ends them. */
const inside = /^basic_string_sub ::= \(\(.*? basic_string_sub\)\)(.*)$/m

/** The rules of JSON values, in whose strings no mark occurs. */
export const withoutMarks = (text: string, marks: ReadonlyArray<string>): string => {
  if (marks.length === 0 || !text.includes("basic_string")) return text
  const [line, tail = ""] = inside.exec(text) ?? []
  if (line === undefined) throw new Error("the library writes strings in another form than is known here")
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
