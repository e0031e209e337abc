/** The texts of a diagnosis. */
import type * as Reading from "../../story/Reading.ts"
import type * as Recorded from "../../story/Recorded.ts"
import * as Quantity from "../Quantity.ts"
import type * as Measure from "./Measure.ts"

const digits = { share: 1, reward: 3, nats: 3 }

/** A value without its unit. */
const number = (value: number, unit: Reading.Unit) =>
  (unit === "share" ? 100 * value : value).toFixed(digits[unit]).replace(/^-(?=[0.]+$)/, "")

const suffix = { share: " %", reward: "", nats: " nats" }

/** A value formatted for people: `41.6 %`, `0.520`, `0.031 nats`. */
export const value = (value: number, unit: Reading.Unit): string => `${number(value, unit)}${suffix[unit]}`

/** The change of a measure: `held_out 41.6 → 98.4 %`. */
export const change = ({ name, unit }: Measure.Measure, before: number, after: number): string =>
  before === after ? `${name} ${value(after, unit)}` : `${name} ${number(before, unit)} → ${value(after, unit)}`

/** The run's cost so far: `20 iterations, 1 min 17 s, 414 k tokens`. */
export const cost = (done: number, milliseconds: number, count: number): string =>
  [
    Quantity.plural(done, "iteration"),
    Quantity.duration(milliseconds),
    ...(count === 0 ? [] : [`${Quantity.count(count)} tokens`])
  ].join(", ")

const endOf = ({ isHeldOut, points }: Measure.Measure) =>
  [points[0].value, points.at(-1)?.value ?? NaN, isHeldOut] as const

export const contradiction = (trained: Measure.Measure, held: Measure.Measure): string => {
  const [first, last] = endOf(trained)
  const [before, after] = endOf(held)
  return `the reward rose ${number(first, trained.unit)} → ${value(last, trained.unit)} while ${
    change(held, before, after)
  }`
}

/**
 * How much of the reward the answer length explains, and how that length changed: `length explains 71 % of the differences of reward inside
 * of groups, and answers grew 11 → 24 tokens`.
 */
export const length = (share: number, first: number, last: number): string => {
  const explained = `length explains ${Math.round(100 * share)} % of the differences of reward inside of groups`
  if (!Number.isFinite(first) || first === last) return explained
  return `${explained}, and answers ${last > first ? "grew" : "shrank"} ${first.toFixed(0)} → ${last.toFixed(0)} tokens`
}

const stops = {
  completed: "",
  max_tokens_total: "; stopped at its token limit",
  max_dollars: "; stopped at its dollar limit",
  max_minutes: "; stopped at its time limit",
  max_judge_calls: "; stopped at its judge-call limit",
  interrupted: "; interrupted"
}

/** Why a run ended before it was complete; empty if it was complete. */
export const end = ({ reason }: Recorded.Finished<null>): string => stops[reason]
