/**
 * Simulates comparisons of two methods. Reports how often the 95 % intervals of `CrossedEffects` and of its alternatives contain the true
 * difference, how wide they are, and how often they detect an effect.
 */
import { CrossedEffects } from "@effect-rl/core/evaluation"
import * as SimulatedScores from "../../packages/core/test/evaluate/SimulatedScores.ts"
import * as Report from "../Report.ts"
import * as Alternatives from "./Alternatives.ts"
import * as Bootstrap from "./Bootstrap.ts"

const problems = 200
const pairs = 10_000
/** Number of simulated pairs for which the bootstrap is computed as well. */
const bootstrapped = 1_000
/** Number of simulated pairs with an effect. */
const affected = 2_000
const shownEffect = 0.1

interface Interval {
  readonly low: number
  readonly high: number
}

type Tables = ReturnType<typeof SimulatedScores.pair>

/** The intervals of one pair by name. The alternatives need several seeds on both sides. */
const intervalsOf = ([left, right]: Tables): Readonly<Record<string, Interval>> => ({
  compare: CrossedEffects.difference(left, right),
  ...(Math.min(left.length, right.length) > 1 ? Alternatives.all(left, right) : {})
})

interface Measured {
  readonly coverage: number
  readonly median: number
  readonly mean: number
}

const summary = (intervals: ReadonlyArray<Interval>, effect: number): Measured => {
  const widths = intervals.map(({ high, low }) => high - low)
  const coverage = Report.mean(intervals.map(({ high, low }) => low <= effect && effect <= high ? 1 : 0))
  return { coverage, median: Report.median(widths), mean: Report.mean(widths) }
}

const measure = (options: SimulatedScores.Options, seed: number): Readonly<Record<string, Measured>> => {
  const [draws, others] = [SimulatedScores.draws(seed), SimulatedScores.draws(seed + 1)]
  const found = new Map<string, Array<Interval>>()
  const keep = (name: string, interval: Interval) => {
    const intervals = found.get(name) ?? []
    intervals.push(interval)
    found.set(name, intervals)
  }
  for (let pair = 0; pair < pairs; pair++) {
    const tables = SimulatedScores.pair(options, draws)
    for (const [name, interval] of Object.entries(intervalsOf(tables))) keep(name, interval)
    if (pair < bootstrapped) keep("bootstrap", Bootstrap.interval(...tables, others.uniform))
  }
  return Object.fromEntries([...found].map(([name, intervals]) => [name, summary(intervals, options.effect)]))
}

/** The share of pairs in which the interval of `CrossedEffects` lies above 0. */
const shown = (options: SimulatedScores.Options, seed: number) => {
  const draws = SimulatedScores.draws(seed)
  return Report.mean(Array.from({ length: affected }, () => {
    const [left, right] = SimulatedScores.pair({ ...options, effect: shownEffect }, draws)
    return CrossedEffects.difference(left, right).low > 0 ? 1 : 0
  }))
}

const counts = [[1, 1], [2, 2], [3, 3], [5, 5]] as const
const deviations = [[0, 0], [0.03, 0.03], [0.05, 0.05]] as const
const kinds = ["binary", "graded"] as const

const usual: ReadonlyArray<SimulatedScores.Options> = kinds.flatMap((rewards) =>
  deviations.flatMap((deviations) => counts.map((seeds) => ({ seeds, deviations, rewards, problems, effect: 0 })))
)

/** Harder cases: unequal variances, unequal numbers of seeds, and methods that differ in the problems that suit them. */
const harder: ReadonlyArray<SimulatedScores.Options> = kinds.flatMap((rewards) => {
  const three = { rewards, problems, effect: 0, seeds: [3, 3], deviations: [0.03, 0.03] } as const
  return [
    { ...three, deviations: [0.02, 0.05] },
    { ...three, deviations: [0.02, 0.05], seeds: [2, 2] },
    { ...three, seeds: [2, 5] },
    { ...three, seeds: [3, 5] },
    { ...three, seeds: [1, 3] },
    { ...three, suits: 0.1 },
    { ...three, suits: 0.1, seeds: [2, 2] }
  ] as const
})

const names = ["compare", "components of at least 0", "equal deviations", "noise counted twice", "bootstrap"]

const cell = (measured: Measured | undefined) =>
  measured === undefined
    ? "–"
    : `${(100 * measured.coverage).toFixed(1)} %, ${measured.median.toFixed(3)}`

const label = ({ deviations, rewards, seeds, suits = 0 }: SimulatedScores.Options) => [
  rewards,
  deviations[0] === deviations[1] ? String(deviations[0]) : deviations.join(" and "),
  seeds.join(" + "),
  ...(suits === 0 ? [] : [`problems suit each method by ± ${suits}`])
]

interface Row {
  readonly options: SimulatedScores.Options
  readonly measured: Readonly<Record<string, Measured>>
  readonly power: number
}

const rowsOf = (options: ReadonlyArray<SimulatedScores.Options>, firstSeed: number): ReadonlyArray<Row> =>
  options.map((options, index) => {
    const measured = measure(options, firstSeed + 10 * index)
    Report.progress(`${label(options).join(", ")}: ${cell(measured["compare"])}`)
    return { options, measured, power: shown(options, firstSeed + 10 * index + 5) }
  })

const header = ["rewards", "deviation", "seeds", ...names, "mean width of compare", `shows +${shownEffect}`]

const tableOf = (rows: ReadonlyArray<Row>) =>
  Report.table(
    header,
    rows.map(({ measured, options, power }) => {
      const [rewards = "", deviation = "", seeds = "", besides] = label(options)
      return [
        besides === undefined ? rewards : `${rewards}, ${besides}`,
        deviation,
        seeds,
        ...names.map((name) => cell(measured[name])),
        measured["compare"]?.mean.toFixed(3) ?? "–",
        `${(100 * power).toFixed(0)} %`
      ]
    })
  )

const coverages = (rows: ReadonlyArray<Row>, least: number) =>
  rows.filter(({ options }) => Math.min(...options.seeds) >= least)
    .map(({ measured }) => 100 * (measured["compare"]?.coverage ?? NaN))

const [even, uneven] = [rowsOf(usual, 1_000), rowsOf(harder, 2_000)]

Report.publish("compare", "Intervals of comparisons, in simulated pairs of methods", [
  `The table says how often a 95 % interval contains the true difference between two methods, and its median width. Each row simulates ${pairs}
pairs (for the bootstrap the first ${bootstrapped}, with ${Bootstrap.resamples} resamples) on ${problems} problems whose probabilities of success lie between 0.2 and
0.8. A binary reward is 1 with that probability; a graded reward varies around it with a standard deviation of 0.15. "Deviation" is the
standard deviation of a seed's mean. The standard error of a coverage is 0.2 %, or 0.7 % for the bootstrap. The last column is the share of ${affected} pairs for which
the interval of compare lies above 0 if the better method is better by ${shownEffect} on every problem.`,
  `- **compare** is \`CrossedEffects.difference\`: it adds the variance of the seeds' means, with Welch's degrees of freedom, to the problems'
  variance, from which it subtracts the noise that the seeds' means already contain. With a single seed on a side, the interval
  covers only these runs and not other seeds, and \`compare\` gives no verdict on methods.
- **components of at least 0**: the seeds' variance minus the problems' noise, at least 0, with Satterthwaite's degrees of freedom over all
  three components; restricted maximum likelihood gives the same components.
- **equal deviations**: like compare, but with Student's S + T − 2 degrees of freedom, as if both methods varied equally by seed.
- **noise counted twice**: the full variances of seeds and problems added, with S + T − 2 degrees of freedom for both.
- **bootstrap**: the two-way (pigeonhole) percentile bootstrap over seeds and problems.`,
  [
    Report.aim(
      "lowest coverage of compare in the first table, with at least two seeds per side",
      Math.min(...coverages(even, 2)),
      " %",
      "at least",
      94
    ),
    Report.aim(
      "highest coverage of compare in the first table, with at least three seeds per side",
      Math.max(...coverages(even, 3)),
      " %",
      "at most",
      96.5
    )
  ].join("\n"),
  tableOf(even),
  `Harder cases: two methods whose seeds vary by different amounts, different numbers of seeds, and methods each of which is better
on some of the problems.`,
  tableOf(uneven)
])
