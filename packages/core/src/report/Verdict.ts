/** The conclusion of a comparison, as text. */
import type * as Compare from "./Compare.ts"

export interface Verdict {
  /** The side whose method is better; null if the runs cannot tell. */
  readonly better: "left" | "right" | null
  readonly text: string
}

const range = (values: ReadonlyArray<number>, unit: string) => {
  const [least, most] = [Math.min(...values), Math.max(...values)].map((value) =>
    value.toLocaleString("en-US", { maximumFractionDigits: value < 10 ? 1 : 0 })
  )
  return `${least === most ? least : `${least} to ${most}`} ${unit}`
}

const iterations = (values: ReadonlyArray<number>) =>
  range(values, values.every((value) => value === 1) ? "iteration" : "iterations")

/**
 * How far a side's runs were trained: `after 60 iterations, 1,204,316 tokens, 200 s`. The time is left out if it is not known for every
 * run.
 */
export const standing = ({ seeds }: Pick<Compare.Measured, "seeds">): string => {
  const seconds = seeds.map((seed) => seed.seconds)
  return [
    `${seeds.length === 1 ? "" : `${seeds.length} seeds, `}after ${
      iterations(seeds.map(({ iteration }) => iteration))
    }`,
    range(seeds.map(({ tokens }) => tokens), "tokens"),
    ...(seconds.some(Number.isNaN) ? [] : [range(seconds, "s")])
  ].join(", ")
}

/** The runs that the interval covers, in words: other seeds too, or these runs alone. */
export const about = ({ coversSeeds }: Pick<Compare.Comparison, "coversSeeds">): string =>
  coversSeeds ? "about other seeds too" : "about these runs alone"

const units: Readonly<Record<Compare.Meter, (limit: number) => string>> = {
  iteration: (limit) => `after ${iterations([limit])}`,
  tokens: (limit) => `within ${range([limit], "tokens")}`,
  time: (limit) => `within ${range([limit], "s")}`
}

/** The amount of training at which the sides are compared, if one was requested. */
const point = ({ at }: Compare.Comparison) => at === null ? "" : ` ${units[at.meter](at.limit)}`

const isEvenlyTrained = ({ at, left, right }: Compare.Comparison) =>
  at !== null || new Set([...left.seeds, ...right.seeds].map(({ iteration }) => iteration)).size === 1

/** The side with a single seed, if the other side has several; otherwise undefined. */
const withOneSeed = ({ left, right }: Compare.Comparison) =>
  left.seeds.length === right.seeds.length ? undefined : [left, right].find(({ seeds }) => seeds.length === 1)

/**
 * Calls a method better only if the sides share at least two problems, both have several seeds and were trained equally far, and the
 * interval excludes 0. For two single runs, the verdict only says which run scored higher.
 *
 * @example
 * const [left, right] = [{ name: "a", runs: [recordsOfA] }, { name: "b", runs: [recordsOfB] }]
 * const texts = Result.map(Compare.runs(left, right), (all) => all.map((comparison) => Verdict.of(comparison).text))
 */
export const of = (comparison: Compare.Comparison): Verdict => {
  const { coversSeeds, high, left, low, problems, right } = comparison
  const undecided = (text: string): Verdict => ({ better: null, text })
  if (problems < 2) return undecided("no verdict: the sides have one problem in common")
  if (!isEvenlyTrained(comparison)) {
    const measured = ({ seeds }: Compare.Measured) => `after ${iterations(seeds.map(({ iteration }) => iteration))}`
    return undecided(
      `no verdict: ${left.name} was measured ${measured(left)}, ${right.name} ${measured(right)}; ` +
        "--at iteration, tokens or time compares them at an equal point"
    )
  }
  const single = withOneSeed(comparison)
  if (single !== undefined) {
    return undecided(`no verdict: ${single.name} is one seed, which does not show how much seeds differ`)
  }
  if (low <= 0 && high >= 0) return undecided(`no clear difference${point(comparison)}: the interval contains 0`)
  const better = low > 0 ? "right" : "left"
  const [winner, loser] = low > 0 ? [right, left] : [left, right]
  return coversSeeds
    ? { better, text: `${winner.name} is better than ${loser.name}${point(comparison)}` }
    : undecided(
      `${winner.name} scored higher than ${loser.name}${point(comparison)} in these runs: other seeds may reverse it`
    )
}

/**
 * The conclusion of a comparison by held-out loss or margin. A side is called better only if the runs were trained equally far and its
 * advantage exceeds the variation between seeds.
 */
export const ofLoss = ({ difference, high, isLowerBetter, left, low, right }: Compare.LossComparison): Verdict => {
  const undecided = (text: string): Verdict => ({ better: null, text })
  if (new Set([...left.seeds, ...right.seeds].map(({ iteration }) => iteration)).size > 1) {
    return undecided("no verdict: the sides were measured after different numbers of iterations")
  }
  if (difference === 0) return undecided("no difference")
  const better = difference > 0 === isLowerBetter ? "left" : "right"
  const [winner, loser] = better === "right" ? [right, left] : [left, right]
  if (!Number.isFinite(low)) {
    return undecided(`${winner.name} measured better than ${loser.name} in these runs: other seeds may reverse it`)
  }
  return low <= 0 && high >= 0
    ? undecided("no clear difference: the interval contains 0")
    : { better, text: `${winner.name} is better than ${loser.name}` }
}
