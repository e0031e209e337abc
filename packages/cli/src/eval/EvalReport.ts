/** Evaluation results as text and as JSON. */
import type { Evaluator } from "@effect-rl/core"
import { Proportion } from "@effect-rl/core/evaluation"
import { GroupResult } from "@effect-rl/core/program"
import type { Style } from "../terminal/Style.ts"
import * as Untrusted from "../terminal/Untrusted.ts"

/** One sampled answer to a question that the environment logged. */
export interface Answer {
  readonly evaluation: string
  /** The question's index, counted from 0. */
  readonly question: number
  readonly attempt: number
  readonly prompt: string
  readonly reference: string
  readonly response: string
  readonly correct: boolean
}

export const answers = ({ groups, name }: Evaluator.Evaluation): ReadonlyArray<Answer> =>
  groups.flatMap((group, question) =>
    GroupResult.isSkipped(group) ? [] : GroupResult.survivors(group).flatMap(([attempt, { task, transitions }]) => {
      const { answer: response, success: correct } = transitions.at(-1)?.score ?? {}
      if (response === undefined || correct === undefined) return []
      const { question: prompt = "", reference = "" } = task ?? {}
      return [{ evaluation: name, question, attempt, prompt, reference, response, correct }]
    })
  )

/** An evaluation's numbers; each `pass@k` with its confidence interval. */
export const record = ({ groups, metrics, name }: Evaluator.Evaluation): Readonly<Record<string, string | number>> => {
  const answered = groups.filter((group) => !GroupResult.isSkipped(group)).length
  const own = Object.entries(metrics).map(([metric, value]) => [metric.slice(name.length + 1), value] as const)
  const passes = own.filter(([metric]) => metric.startsWith("pass@")).flatMap(([metric, value]) => {
    const { high, low } = Proportion.wilson(Math.round(value * answered), answered)
    return [[`${metric}_low`, low], [`${metric}_high`, high]] as const
  })
  const questions = groups.length === 0 ? {} : { questions: groups.length }
  return { name, ...questions, ...Object.fromEntries([...own, ...passes]) }
}

const percent = (value: number) => `${(100 * value).toFixed(1)} %`

/** A line for a share with its confidence interval. */
const share = (numbers: Readonly<Record<string, string | number>>, metric: string) => {
  const [value, low, high] = [numbers[metric], numbers[`${metric}_low`], numbers[`${metric}_high`]]
  if (typeof value !== "number") return []
  const interval = typeof low === "number" && typeof high === "number"
    ? `, ${percent(low)} to ${percent(high)} at 95 %`
    : ""
  return [`${metric.padEnd(10)} ${percent(value)}${interval}`]
}

/** Measurements that need no sampled answers, such as a likelihood. */
const measurements = (numbers: Readonly<Record<string, string | number>>) =>
  Object.entries(numbers).flatMap(([metric, value]) =>
    typeof value === "number" ? [`${metric.padEnd(10)} ${Number.isInteger(value) ? value : value.toFixed(4)}`] : []
  )

export const lines = (evaluation: Evaluator.Evaluation, subject: string, style: Style): ReadonlyArray<string> => {
  const numbers = record(evaluation)
  const title = `${style.bold(Untrusted.show(evaluation.name))}  ${Untrusted.show(subject)}`
  if (evaluation.groups.length === 0) return [title, ...measurements(numbers)]
  const passes = Object.keys(numbers).filter((metric) => /^pass@\d+$/.test(metric))
  const leftOut = Number(numbers["dropped_members"] ?? 0)
  return [
    title,
    `questions  ${numbers["questions"]}, ${numbers["episodes"] ?? 0} answers`,
    ...share(numbers, "correct"),
    ...passes.flatMap((metric) => share(numbers, metric)),
    ...(typeof numbers["correct"] === "number" || typeof numbers["reward"] !== "number"
      ? []
      : [`reward     ${numbers["reward"].toFixed(4)}`]),
    ...share(numbers, "truncated"),
    ...(leftOut > 0 ? [style.warn(`left out   ${leftOut} answers that failed`)] : [])
  ]
}
