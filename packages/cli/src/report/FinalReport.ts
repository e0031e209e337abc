/** The report at the end of a run. */
import { Quantity, RewardCurve, Story } from "@effect-rl/core/records"
import * as Arr from "effect/Array"
import type { Output } from "../terminal/Output.ts"
import * as Sparkline from "../terminal/Sparkline.ts"
import type { Style } from "../terminal/Style.ts"
import * as ProgressText from "../train/ProgressText.ts"
import type { Measurement, RunHistory } from "./RunHistory.ts"

const curveSize = { width: 76, height: 14 }

/** The reward curve: a drawing of dots on a terminal, and one line of bars elsewhere, because every font and log can show bars. */
const curve = ({ rewards }: RunHistory, { mode, style }: Shown): ReadonlyArray<string> => {
  const [first, last] = [rewards[0], rewards.at(-1)]
  if (first === undefined || last === undefined || rewards.length < 2) return []
  const title = style.bold("mean reward of each iteration")
  if (mode === "live") return ["", title, ...RewardCurve.text(rewards, curveSize).split("\n")]
  const bars = Sparkline.of(rewards.slice(-curveSize.width).map(({ reward }) => reward))
  return ["", `${title}, ${Quantity.fixed(first.reward, 3)} to ${Quantity.fixed(last.reward, 3)}`, bars]
}

/** The output mode and style in which the report is shown. */
type Shown = Pick<Output["Service"], "mode" | "style">

const byEvaluator = (measurements: ReadonlyArray<Measurement>) =>
  Object.entries(Arr.groupBy(measurements, ({ evaluator }) => evaluator))

const show = ({ high, low, value }: Measurement) =>
  `${Quantity.percent(value, 1)} (${ProgressText.interval(low, high)})`

const columns = (cells: ReadonlyArray<string>) => cells.map((cell) => cell.padEnd(27)).join("").trimEnd()

/** The first and last measurement of each evaluator, as text. */
export const ends = ({ measurements }: RunHistory) =>
  byEvaluator(measurements).map(([evaluator, [first, ...later]]) => {
    const last = later.at(-1)
    return {
      evaluator: first === undefined ? evaluator : `${evaluator} (${first.episodes})`,
      before: first === undefined ? "–" : show(first),
      after: last === undefined ? "–" : show(last)
    }
  })

const heldOut = (history: RunHistory, style: Style) => {
  const measured = ends(history)
  if (measured.length === 0) return []
  return [
    "",
    style.bold(columns(["held-out problems, correct", "before", "after"])),
    ...measured.map(({ after, before, evaluator }) =>
      columns([evaluator, before, after === "–" ? after : style.good(after)])
    )
  ]
}

interface MeanReward {
  readonly evaluator: string
  readonly mean: string
}

/** Mean rewards of evaluators that do not grade answers as right or wrong. */
const meanRewards = ({ story }: RunHistory): ReadonlyArray<MeanReward> =>
  Story.evaluations(story).flatMap(({ evaluated }) => {
    if (evaluated?.reward === undefined || evaluated.score !== undefined) return []
    const { evaluator, metrics, reward } = evaluated
    return [{
      evaluator: `${evaluator} (${metrics[`${evaluator}/episodes`] ?? "–"})`,
      mean: `${Quantity.fixed(reward.mean, 3)}${ProgressText.rewardInterval(reward)}`
    }]
  })

const heldOutRewards = (history: RunHistory, style: Style) => {
  const evaluators = Object.entries(Arr.groupBy(meanRewards(history), ({ evaluator }) => evaluator))
  if (evaluators.length === 0) return []
  return [
    "",
    style.bold(columns(["held-out episodes, reward", "before", "after"])),
    ...evaluators.map(([evaluator, [first, ...later]]) => {
      const last = later.at(-1)
      return columns([evaluator, first.mean, last === undefined ? "–" : style.good(last.mean)])
    })
  ]
}

export const lines = (history: RunHistory, shown: Shown): ReadonlyArray<string> => [
  ...curve(history, shown),
  ...heldOut(history, shown.style),
  ...heldOutRewards(history, shown.style)
]

/** The report as JSON: the number of iterations, and the first and last measurement of each evaluator. */
export const record = ({ measurements, rewards }: RunHistory) => ({
  iterations: rewards.length,
  evaluations: Object.fromEntries(
    byEvaluator(measurements).map(([name, measured]) => [name, { before: measured[0], after: measured.at(-1) }])
  )
})
