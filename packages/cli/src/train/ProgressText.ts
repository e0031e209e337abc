/** Progress as text: one line per iteration, and one live line. */
import type { RunRecord } from "@effect-rl/core"
import { Statistics } from "@effect-rl/core/evaluation"
import { Quantity } from "@effect-rl/core/records"
import type { Style } from "../terminal/Style.ts"
import * as Wrapped from "../terminal/Wrapped.ts"
import * as HealthText from "./HealthText.ts"
import * as Progress from "./Progress.ts"

const barWidth = 24

const bar = (share: number) => {
  const filled = Math.round(share * barWidth)
  return `${"█".repeat(filled)}${"░".repeat(barWidth - filled)}`
}

/** The iteration's number and the total, as in ` 3/20`, padded to the total's width; only the number if the total is unknown. */
const iterationNumber = (done: number, iterations: number | null) =>
  iterations === null ? String(done) : `${String(done).padStart(String(iterations).length)}/${iterations}`

/** The run's elapsed time and, if it can be estimated, its remaining time. */
export const times = (progress: Progress.Progress, now: number) => {
  const left = Progress.remaining(progress)
  const elapsed = `${Quantity.duration(now - progress.startedAt)} elapsed`
  return left === undefined || left <= 0 ? elapsed : `${elapsed}, ${Quantity.duration(left)} left`
}

const activity = ({ evaluator, groups, phase }: Progress.Progress) => {
  switch (phase) {
    case "evaluating":
      return `evaluating ${evaluator} (${groups.completed} problems done)`
    case "sampling":
      return groups.total === 0
        ? "sampling"
        : `sampling ${bar(groups.completed / groups.total)} ${groups.completed}/${groups.total} problems`
    case "training":
      return "training"
    case "saving":
      return "saving"
    case "starting":
      return "starting"
    case "done":
      return ""
  }
}

/** The current activity; empty at the end. */
export const doing = (progress: Progress.Progress): string => {
  const isIteration = progress.phase === "sampling" || progress.phase === "training"
  const place = isIteration ? `iteration ${iterationNumber(progress.iteration + 1, progress.iterations)} ` : ""
  return place + activity(progress)
}

/** The current activity, with elapsed and remaining time, in one line. */
export const live = (progress: Progress.Progress, now: number): string => {
  const text = doing(progress)
  return text === "" ? "" : `${text} · ${times(progress, now)}`
}

/** An iteration's sampling speed; empty if the iteration did not sample. */
export const speed = (metrics: Readonly<Record<string, number>>): ReadonlyArray<string> => {
  const tokensPerSecond = (metrics["tokens/sampled"] ?? NaN) / (metrics["time/sampling"] ?? NaN)
  return Number.isFinite(tokensPerSecond) ? [`${Quantity.count(tokensPerSecond)} tokens/s`] : []
}

/** The results of an iteration, with speed and time unless they are shown elsewhere. `progress` already includes the iteration. */
export const iteration = (
  { iteration, metrics, reward, updates }: RunRecord.Updated,
  progress: Progress.Progress,
  style: Style,
  now: number | undefined
): string => {
  const truncated = metrics["env/all/truncated"] ?? NaN
  const error = reward?.standardError === undefined ? "" : ` ± ${Quantity.fixed(reward.standardError, 3)}`
  const parts = [
    ...(reward === undefined ? [] : [`reward ${style.bold(Quantity.fixed(reward.mean, 3))}${error}`]),
    ...numbers(metrics, updateNumbers, style),
    ...HealthText.groups(metrics),
    ...(truncated > 0 ? [truncation(truncated, style)] : []),
    ...(now === undefined ? [] : speed(metrics)),
    ...(updates.length === 0 ? [style.warn("no signal, nothing trained")] : []),
    ...(now === undefined ? [] : [style.dim(times(progress, now))])
  ]
  return `iteration ${iterationNumber(iteration + 1, progress.iterations)}  ${parts.join("  ")}`
}

const nats = (value: number) => `${Quantity.fixed(value, 3)} nats`

/** Metrics shown besides rewards: the supervised loss, the preference margin, and the distance from a teacher. */
const updateNumbers = [
  ["nll", "NLL", nats],
  ["dpo/margin", "reward margin", (value: number) => Quantity.fixed(value, 3)],
  ["teacher_kl", "teacher KL", nats]
] as const

/** The reported metrics, each with its label. */
const numbers = (
  metrics: Readonly<Record<string, number>>,
  named: ReadonlyArray<readonly [metric: string, name: string, show: (value: number) => string]>,
  style: Style
) =>
  named.flatMap(([metric, name, show]) => {
    const value = metrics[metric]
    return value === undefined ? [] : [`${name} ${style.bold(show(value))}`]
  })

/** The share of truncated responses above which the reward measures the token limit rather than the answers. */
const highTruncation = 0.5

const truncation = (truncated: number, style: Style) => {
  const text = `truncated ${Quantity.percent(truncated, 0)}`
  return truncated >= highTruncation ? style.warn(text) : text
}

/** Advice if most responses are truncated; undefined otherwise. */
export const truncationAdvice = ({ metrics }: RunRecord.Updated, maxTokens: number): string | undefined => {
  const truncated = metrics["env/all/truncated"] ?? 0
  return truncated >= highTruncation
    ? `${
      Quantity.percent(truncated, 0)
    } of the responses were cut at ${maxTokens} tokens and rarely earn their reward: ` +
      "raise --max-tokens"
    : undefined
}

/** An evaluation's results with their 95 % intervals, wrapped to 79 columns. */
export const evaluated = (
  { evaluator, iteration, metrics, reward, score }: RunRecord.Evaluated,
  style: Style
): ReadonlyArray<string> => {
  const { episodes, pairs, ...likelihoods } = Object.fromEntries(
    Object.entries(metrics).map(([metric, value]) => [metric.slice(evaluator.length + 1), value])
  )
  const when = `${evaluator} after ${Quantity.plural(iteration, "iteration")}`
  const measured = [
    ...numbers(likelihoods, [["nll", "NLL", nats], ["margin", "margin", nats]], style),
    ...(score === undefined
      ? []
      : [
        `${style.bold(Quantity.percent(score.value, 1))} of ${episodes ?? pairs} ` +
        `${pairs === undefined ? "correct" : "preferred"} (${interval(score.low, score.high)})`
      ]),
    ...(score === undefined && reward !== undefined
      ? [
        `reward ${style.bold(Quantity.fixed(reward.mean, 3))}${rewardInterval(reward)}${
          episodes === undefined ? "" : ` over ${episodes} episodes`
        }`
      ]
      : [])
  ]
  return measured.length === 0 ? [when] : Wrapped.lines(`${when}: `, "  ", measured)
}

/** The 95 % interval of a mean reward in brackets, if it is known. */
export const rewardInterval = (reward: RunRecord.Reward): string => {
  const interval = Statistics.rewardInterval(reward)
  return interval === undefined
    ? ""
    : ` (${Quantity.fixed(interval.low, 3)} to ${Quantity.fixed(interval.high, 3)})`
}

export const interval = (low: number, high: number): string =>
  `${Quantity.percent(low, 1).replace(" %", "")} to ${Quantity.percent(high, 1)}`
