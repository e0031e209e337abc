/** Comparisons of runs as text. */
import type { Compare } from "@effect-rl/core"
import { Verdict } from "@effect-rl/core/evaluation"
import type { Divergence } from "@effect-rl/core/records"
import { Quantity } from "@effect-rl/core/records"
import * as Columns from "../terminal/Columns.ts"
import type { Style } from "../terminal/Style.ts"
import * as Untrusted from "../terminal/Untrusted.ts"

const signed = (value: number) => `${value > 0 ? "+" : ""}${Quantity.fixed(value, 3)}`

const sideLine = (side: Compare.Measured) => [side.name, `${Quantity.fixed(side.mean, 3)} ${Verdict.standing(side)}`]

const problemsLine = ({ better, equal, left, problems, right, worse }: Compare.Comparison) => {
  const all = left.problems === problems && right.problems === problems
  const of = all ? "of both" : `of both, which attempted ${left.problems} and ${right.problems}`
  return ["problems", `${problems} ${of}: ${better} better, ${worse} worse, ${equal} the same`]
}

/** One evaluator's comparison, verdict first. */
export const comparison = (compared: Compare.Comparison, style: Style): ReadonlyArray<string> => {
  const { difference, evaluator, high, left, low, right } = compared
  const { better, text } = Verdict.of(compared)
  const shown = Untrusted.show(text)
  return [
    `${style.bold(Untrusted.show(evaluator))}  ${better === null ? style.warn(shown) : style.good(shown)}`,
    ...Columns.aligned([
      [
        "difference",
        `${signed(difference)}, 95 % interval ${signed(low)} to ${signed(high)}, ${Verdict.about(compared)}`
      ],
      sideLine(left),
      sideLine(right),
      problemsLine(compared)
    ]).map((line) => `  ${Untrusted.show(line)}`)
  ]
}

const lossLine = (side: Compare.LossSide) => [side.name, `${Quantity.fixed(side.mean, 3)} ${Verdict.standing(side)}`]

/** The comparison of a held-out loss or margin, verdict first. */
export const loss = (compared: Compare.LossComparison, style: Style): ReadonlyArray<string> => {
  const { difference, evaluator, high, left, low, metric, right } = compared
  const { better, text } = Verdict.ofLoss(compared)
  const shown = Untrusted.show(text)
  const interval = Number.isFinite(low)
    ? `, 95 % interval ${signed(low)} to ${signed(high)}, over seeds`
    : ""
  return [
    `${style.bold(Untrusted.show(`${evaluator} ${metric}`))}  ${
      better === null ? style.warn(shown) : style.good(shown)
    }`,
    ...Columns.aligned([
      ["difference", `${signed(difference)} nats${interval}`],
      lossLine(left),
      lossLine(right)
    ]).map((line) => `  ${Untrusted.show(line)}`)
  ]
}

const longest = 40

const textOf = (value: Divergence.Difference["left"]) => value === undefined ? "–" : JSON.stringify(value)

/** The value with its fractions rounded to four digits. */
const roundedText = (value: Divergence.Difference["left"]) =>
  value === undefined ?
    "–" :
    JSON.stringify(value, (_, part: unknown) =>
      typeof part === "number" && !Number.isInteger(part) ? Number(part.toPrecision(4)) : part)

/** Both values with four digits, or with all digits if they are equal after rounding. */
const textsOf = ({ left, right }: Pick<Divergence.Difference, "left" | "right">) => {
  const [one, other] = [roundedText(left), roundedText(right)]
  return one === other ? [textOf(left), textOf(right)] as const : [one, other] as const
}

/** Cuts a long value, such as a list of updates, around the difference. The comparison page shows more of it. */
const cut = (text: string, other: string) => {
  if (text.length <= longest) return text
  const at = text.split("").findIndex((letter, index) => letter !== other[index])
  const same = at < 0 ? text.length : at
  const from = Math.min(Math.max(0, same - longest / 2), text.length - longest)
  return [...(from > 0 ? ["…"] : []), text.slice(from, from + longest), ...(from + longest < text.length ? ["…"] : [])]
    .join(" ")
}

const rows = (differences: ReadonlyArray<Divergence.Difference>) =>
  Columns.aligned(differences.map(({ field, ...sides }) => {
    const [left, right] = textsOf(sides)
    return [field, cut(left, right), cut(right, left)]
  })).map((line) => `  ${Untrusted.show(line)}`)

/** Lines for the settings in which the first runs of the two sides differ. */
export const configuration = (differences: ReadonlyArray<Divergence.Difference>, style: Style): ReadonlyArray<string> =>
  differences.length === 0
    ? [style.bold("configured alike")]
    : [style.bold("configured differently"), ...rows(differences)]

const shown = 5

/** Lines for the first record in which the first runs of the two sides differ. */
export const divergence = (first: Divergence.Divergence | undefined, style: Style): ReadonlyArray<string> => {
  if (first === undefined) return [style.bold("no record differs")]
  const { differences, evaluator, iteration, key, record } = first
  const when = evaluator === undefined
    ? `iteration ${iteration + 1}`
    : `${evaluator} after ${Quantity.plural(iteration, "iteration")}`
  const place = [when, key === undefined ? undefined : `group ${key}`]
  const where = place.filter((part) => part !== undefined).join(", ")
  return [
    `${style.bold("first difference")}  ${Untrusted.show(where)}: ${record}`,
    ...(differences.length === 0 ? ["  only one of them has it"] : rows(differences.slice(0, shown)))
  ]
}
