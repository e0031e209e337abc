/** The results of episodes that a person played, as text. */
import { EnvMetric } from "@effect-rl/core"
import { Trajectory } from "@effect-rl/core/environments"
import { Statistics } from "@effect-rl/core/evaluation"
import { GroupResult } from "@effect-rl/core/program"
import { Quantity } from "@effect-rl/core/records"
import * as Option from "effect/Option"
import type { Style } from "../terminal/Style.ts"
import * as Untrusted from "../terminal/Untrusted.ts"

const paint = (style: Style, reward: number) => (reward > 0 ? style.good : reward < 0 ? style.bad : style.bold)

const count = ({ length }: ReadonlyArray<Trajectory.Transition>) => length === 1 ? "1 turn" : `${length} turns`

type Played = Pick<Trajectory.Trajectory, "task" | "transitions">

const turnLines = (played: Played, { reward }: Trajectory.Transition, turn: number, style: Style) => [
  `  turn ${turn + 1}, reward ${paint(style, reward)(Quantity.fixed(reward, 2))}`,
  ...Object.entries(Trajectory.texts(played, turn)).flatMap(([name, value]) =>
    Untrusted.showLines(`${name}: ${value}`).split("\n").map((line) => style.dim(`    ${line}`))
  )
]

const metricLine = (turns: ReadonlyArray<EnvMetric.Metrics>) => {
  const values = Object.entries(EnvMetric.aggregate([turns]))
  return values.length === 0
    ? []
    : [`  ${values.map(([name, value]) => `${Untrusted.show(name)} ${Quantity.fixed(value, 2)}`).join(", ")}`]
}

/** One turn's reward, shown before the next turn. */
export const turn = ({ reward }: Trajectory.Transition, style: Style): string =>
  style.dim("reward ") + paint(style, reward)(Quantity.fixed(reward, 2))

/** Lines for every turn of an episode that the person left. */
export const left = (transitions: ReadonlyArray<Trajectory.Transition>, style: Style): ReadonlyArray<string> => [
  `left after ${count(transitions)}: the input has ended`,
  ...transitions.flatMap((transition, turn) => turnLines({ transitions }, transition, turn, style))
]

/** Lines for the reward, the metrics and every turn of an episode. */
export const lines = (result: GroupResult.GroupResult, style: Style): ReadonlyArray<string> => {
  if (GroupResult.isSkipped(result)) return [style.warn(`not finished: ${Untrusted.show(result.reason.message)}`)]
  return GroupResult.survivors(result).flatMap(([member, trajectory]) => {
    const { stopReason, transitions } = trajectory
    const reward = result.rewardsG[member] ?? NaN
    const reason = Option.match(stopReason, { onNone: () => "", onSome: (name) => `, ${Untrusted.show(name)}` })
    return [
      `reward ${paint(style, reward)(Quantity.fixed(reward, 2))} after ${count(transitions)}${reason}`,
      ...metricLine([...transitions.map(({ metrics }) => metrics), result.metricsG[member] ?? {}]),
      ...transitions.flatMap((transition, turn) => turnLines(trajectory, transition, turn, style))
    ]
  })
}

/** The mean reward over all episodes; empty for a single episode. */
export const summary = (results: ReadonlyArray<GroupResult.GroupResult>): ReadonlyArray<string> => {
  const rewards = results.flatMap((result) => GroupResult.isSkipped(result) ? [] : Array.from(result.rewardsG))
  const mean = Quantity.fixed(Statistics.mean(rewards), 2)
  return rewards.length < 2 ? [] : ["", `mean reward ${mean} over ${rewards.length} episodes`]
}
