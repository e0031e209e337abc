/** Grade-school word problems with worked solutions. */
import * as PythonText from "@effect-rl/core/renderers/text/PythonText"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"

/** One line of `train.jsonl` and `test.jsonl`. */
export const Gsm8kRow = Schema.Struct({ question: Schema.String, answer: Schema.String })
export interface Gsm8kRow extends Schema.Schema.Type<typeof Gsm8kRow> {}

/** A problem and the number that answers it. */
export interface Problem {
  readonly question: string
  readonly answer: string
}

/** Matches the line ends of Python's `splitlines`. */
const lineEnd = "\\r\\n|[\\n-\\r\\x1c-\\x1e\\x85\\u2028\\u2029]"
const marked = new RegExp(`####${PythonText.space}*([^\\n]+)`, "g")

/**
 * The text after `####` on the last line that begins with it, without an optional colon and without commas. If no line begins with it, the
 * text after the last `####`. None if the solution has no final answer.
 *
 * @example
 * Gsm8kRow.finalAnswer("She sells 9 eggs for $18.\n#### 18") // Option.some("18")
 *
 * @see tinker-cookbook `extract_gsm8k_final_answer`
 */
export const finalAnswer = (solution: string): Option.Option<string> => {
  const line = solution.split(new RegExp(lineEnd)).map(PythonText.strip).findLast((line) => line.startsWith("####"))
  if (line === undefined) {
    return Option.map(Option.fromUndefinedOr([...solution.matchAll(marked)].at(-1)?.[1]), PythonText.strip)
  }
  const content = PythonText.strip(line.slice(4))
  const value = content.startsWith(":") ? PythonText.strip(content.slice(1)) : content
  return Option.some(PythonText.strip(value.replaceAll(",", "")))
}
