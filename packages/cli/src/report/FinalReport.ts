/** What a run has come to. */
import { RewardCurve } from "@effect-rl/core"
import * as Arr from "effect/Array"
import * as Quantity from "../terminal/Quantity.ts"
import type { Style } from "../terminal/Style.ts"
import * as ProgressText from "../train/ProgressText.ts"
import type { Measurement, RunHistory } from "./RunHistory.ts"

const curveSize = { width: 76, height: 14 }

const curve = ({ rewards }: RunHistory, style: Style) =>
  rewards.length < 2
    ? []
    : ["", style.bold("mean reward of each iteration"), ...RewardCurve.text(rewards, curveSize).split("\n")]

const byEvaluator = (measurements: ReadonlyArray<Measurement>) =>
  Object.entries(Arr.groupBy(measurements, ({ evaluator }) => evaluator))

const show = ({ high, low, value }: Measurement) =>
  `${Quantity.percent(value, 1)} (${ProgressText.interval(low, high)})`

const columns = (cells: ReadonlyArray<string>) => cells.map((cell) => cell.padEnd(27)).join("").trimEnd()

/** First and last measurement of each evaluator. */
const heldOut = ({ measurements }: RunHistory, style: Style) => {
  const evaluators = byEvaluator(measurements)
  if (evaluators.length === 0) return []
  return [
    "",
    style.bold(columns(["held-out problems, correct", "before", "after"])),
    ...evaluators.map(([name, [first, ...later]]) => {
      const last = later.at(-1)
      const episodes = first === undefined ? "" : ` (${first.episodes})`
      return columns([
        `${name}${episodes}`,
        first === undefined ? "–" : show(first),
        last === undefined ? "–" : style.good(show(last))
      ])
    })
  ]
}

export const lines = (history: RunHistory, style: Style): ReadonlyArray<string> => [
  ...curve(history, style),
  ...heldOut(history, style)
]

/** For programs: the first and last measurement of each evaluator. */
export const record = ({ measurements, rewards }: RunHistory) => ({
  iterations: rewards.length,
  evaluations: Object.fromEntries(
    byEvaluator(measurements).map(([name, measured]) => [name, { before: measured[0], after: measured.at(-1) }])
  )
})
