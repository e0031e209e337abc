/** Progress in words: a line per step, and a line that moves. */
import type { Train } from "@effect-rl/core"
import * as Quantity from "../terminal/Quantity.ts"
import type { Style } from "../terminal/Style.ts"
import * as Progress from "./Progress.ts"

const barWidth = 24

const bar = (share: number) => {
  const filled = Math.round(share * barWidth)
  return `${"█".repeat(filled)}${"░".repeat(barWidth - filled)}`
}

/** As wide as the number of the last step. */
const stepNumber = (done: number, iterations: number) =>
  `${String(done).padStart(String(iterations).length)}/${iterations}`

const times = (progress: Progress.Progress, now: number) => {
  const left = Progress.remaining(progress)
  const elapsed = `${Quantity.duration(now - progress.startedAt)} elapsed`
  return left === undefined || left <= 0 ? elapsed : `${elapsed}, ${Quantity.duration(left)} left`
}

const activity = ({ evaluators, evaluatorsLeft, groups, phase }: Progress.Progress) => {
  switch (phase) {
    case "evaluating":
      return `evaluating on held-out problems (${evaluators - evaluatorsLeft + 1} of ${evaluators})`
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

/** What is going on now. */
export const live = (progress: Progress.Progress, now: number): string => {
  const doing = activity(progress)
  if (doing === "") return ""
  const isStep = progress.phase === "sampling" || progress.phase === "training"
  const place = isStep ? `step ${stepNumber(progress.iteration + 1, progress.iterations)} ` : ""
  return `${place}${doing} · ${times(progress, now)}`
}

/** What a step has come to. `progress` already includes it. */
export const step = (
  { groups, informative, iteration, meanReward, metrics, optimizerSteps, rewardStandardError }: Train.Iteration,
  progress: Progress.Progress,
  style: Style,
  now: number
): string => {
  const truncated = metrics["env/all/truncated"] ?? NaN
  const tokensPerSecond = (metrics["tokens/sampled"] ?? NaN) / (metrics["time/sampling"] ?? NaN)
  const error = rewardStandardError === undefined ? "" : ` ± ${Quantity.fixed(rewardStandardError, 3)}`
  const parts = [
    `reward ${style.bold(Quantity.fixed(meanReward, 3))}${error}`,
    `informative ${Quantity.percent(informative / groups)}`,
    truncated >= highTruncation
      ? style.warn(`truncated ${Quantity.percent(truncated)}`)
      : `truncated ${Quantity.percent(truncated)}`,
    ...(Number.isFinite(tokensPerSecond) ? [`${Quantity.count(tokensPerSecond)} tokens/s`] : []),
    ...(optimizerSteps === 0 ? [style.warn("no signal, nothing trained")] : []),
    style.dim(times(progress, now))
  ]
  return `step ${stepNumber(iteration + 1, progress.iterations)}  ${parts.join("  ")}`
}

/** From this share of cut responses on, the limit is what is measured. */
const highTruncation = 0.5

/** What to do when most responses are cut; undefined otherwise. */
export const truncationAdvice = ({ metrics }: Train.Iteration, maxTokens: number): string | undefined => {
  const truncated = metrics["env/all/truncated"] ?? 0
  return truncated >= highTruncation
    ? `${Quantity.percent(truncated)} of the responses were cut at ${maxTokens} tokens and rarely earn their reward: ` +
      "raise --max-tokens"
    : undefined
}

export const evaluated = ({ evaluation, iteration }: Train.Evaluated, style: Style): string => {
  const of = (name: string) => evaluation.metrics[`${evaluation.name}/${name}`] ?? NaN
  if (!Number.isFinite(of("correct"))) {
    const reward = style.bold(Quantity.fixed(of("reward"), 3))
    return `${evaluation.name} after ${Quantity.steps(iteration)}: reward ${reward} over ${of("episodes")} episodes`
  }
  return `${evaluation.name} after ${Quantity.steps(iteration)}: ${
    style.bold(Quantity.percent(of("correct"), 1))
  } of ` +
    `${of("episodes")} correct, 95 % interval ${interval(of("correct_low"), of("correct_high"))}`
}

export const interval = (low: number, high: number): string =>
  `${Quantity.percent(low, 1).replace(" %", "")} to ${Quantity.percent(high, 1)}`
