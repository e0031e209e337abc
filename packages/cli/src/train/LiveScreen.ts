/** What a terminal shows below the lines of a run while it goes on: is it learning, is it healthy, where the time goes, its cost. */
import * as Quantity from "../terminal/Quantity.ts"
import * as Sparkline from "../terminal/Sparkline.ts"
import * as ForecastText from "./ForecastText.ts"
import * as HealthText from "./HealthText.ts"
import type * as Progress from "./Progress.ts"
import * as ProgressText from "./ProgressText.ts"

const label = (name: string) => name.padEnd(10)

/** Narrow terminals are as wide. */
const widest = 79

/** Parts behind a label, with commas between them; those for which a line has no room go on below. */
const line = (name: string, parts: ReadonlyArray<string>): ReadonlyArray<string> =>
  parts.reduce<ReadonlyArray<string>>((lines, part) => {
    const last = lines.at(-1)
    if (last === undefined) return [label(name) + part]
    const longer = `${last}, ${part}`
    return longer.length > widest ? [...lines, label("") + part] : [...lines.slice(0, -1), longer]
  }, [])

const reward = ({ latest, rewards }: Progress.Progress): ReadonlyArray<string> => {
  const now = latest?.reward
  if (now === undefined) return []
  const error = now.standardError === undefined ? "" : ` ± ${Quantity.fixed(now.standardError, 3)}`
  return [`${label("reward")}${Sparkline.of(rewards)} ${Quantity.fixed(now.mean, 3)}${error}`]
}

const barWidth = 6

const lane = ([stage, share]: readonly [string, number]) =>
  `${stage} ${"█".repeat(Math.round(barWidth * share))}${"░".repeat(barWidth - Math.round(barWidth * share))} ` +
  Quantity.percent(share)

const time = ({ seconds }: Progress.Progress): ReadonlyArray<string> => {
  const total = seconds.sampling + seconds.training + seconds.evaluating
  if (total === 0) return []
  const shares = Object.entries(seconds).map(([stage, spent]) => [stage, spent / total] as const)
  return [label("time") + shares.filter(([, share]) => share > 0).map(lane).join("  ")]
}

const cost = ({ latest }: Progress.Progress): ReadonlyArray<string> => {
  if (latest === undefined) return []
  const { forecast, spent: { dollars, prefilled, sampled, trained } } = latest
  const tokens = Object.entries({ prefilled, sampled, trained }).map(([kind, count]) =>
    `${Quantity.count(count)} ${kind}`
  )
  return [
    ...line("tokens", dollars === undefined ? tokens : [...tokens, Quantity.dollars(dollars)]),
    ...(forecast === undefined ? [] : [`${label("forecast")}about ${ForecastText.of(forecast)} in all`])
  ]
}

/** The screen as lines; only what is going on before the first iteration is done, and nothing at the end. */
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
