/** The live screen below a run's log lines: learning, health, time and cost. */
import { Quantity } from "@effect-rl/core/records"
import * as Sparkline from "../terminal/Sparkline.ts"
import * as Wrapped from "../terminal/Wrapped.ts"
import * as ForecastText from "./ForecastText.ts"
import * as HealthText from "./HealthText.ts"
import type * as Progress from "./Progress.ts"
import * as ProgressText from "./ProgressText.ts"

const label = (name: string) => name.padEnd(10)

const line = (name: string, parts: ReadonlyArray<string>) => Wrapped.lines(label(name), label(""), parts)

const reward = ({ latest, rewards }: Progress.Progress): ReadonlyArray<string> => {
  const now = latest?.reward
  if (now === undefined) return []
  const error = now.standardError === undefined ? "" : ` ± ${Quantity.fixed(now.standardError, 3)}`
  return [`${label("reward")}${Sparkline.of(rewards)} ${Quantity.fixed(now.mean, 3)}${error}`]
}

const barWidth = 6

const lane = ([stage, share]: readonly [string, number]) =>
  `${stage} ${"█".repeat(Math.round(barWidth * share))}${"░".repeat(barWidth - Math.round(barWidth * share))} ` +
  Quantity.percent(share, 0)

const time = ({ seconds }: Progress.Progress): ReadonlyArray<string> => {
  const total = seconds.sampling + seconds.training + seconds.evaluating
  if (total === 0) return []
  const shares = Object.entries(seconds).map(([stage, spent]) => [stage, spent / total] as const)
  return [label("time") + shares.filter(([, share]) => share > 0).map(lane).join("  ")]
}

const cost = ({ latest }: Progress.Progress): ReadonlyArray<string> => {
  if (latest === undefined) return []
  const { forecast, metrics, spent: { dollars, prefilled, sampled, trained } } = latest
  const tokens = Object.entries({ prefilled, sampled, trained }).map(([kind, count]) =>
    `${Quantity.count(count)} ${kind}`
  )
  const price = dollars === undefined ? [] : [Quantity.dollars(dollars)]
  return [
    ...line("tokens", [...tokens, ...price, ...ProgressText.speed(metrics)]),
    ...(forecast === undefined ? [] : [`${label("forecast")}about ${ForecastText.of(forecast)} in all`])
  ]
}

/** The screen's text. It shows only the current activity until the first iteration is done, and is empty at the end. */
export const text = (progress: Progress.Progress, now: number): string => {
  const doing = ProgressText.doing(progress)
  if (doing === "") return ""
  return [
    ...reward(progress),
    ...line("health", HealthText.parts(progress.latest?.metrics ?? {})),
    ...time(progress),
    ...cost(progress),
    label("clock") + ProgressText.times(progress, now),
    doing
  ].join("\n")
}
