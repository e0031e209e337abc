/** Measures whether the main job learns on five seeds, and whether its controls do not. `LEARNING_SEEDS` reduces the number of seeds. */
import { Config, Effect } from "effect"
import * as OnEngine from "../OnEngine.ts"
import * as Report from "../Report.ts"
import * as Controls from "./Controls.ts"
import * as Experiment from "./Experiment.ts"

const controlSeeds = 3

const row = (name: string, { after, before, seconds, seed }: Experiment.Outcome) => [
  `${name}, seed ${seed}`,
  Report.interval(before.sampled),
  Report.interval(after.sampled),
  before.greedy.value.toFixed(3),
  after.greedy.value.toFixed(3),
  before.worked.toFixed(2),
  after.worked.toFixed(2),
  seconds.toFixed(0)
]

/** Runs the seeds one after another and prints each result immediately, because a whole measurement takes minutes. */
const runs = (name: string, count: number, control: Controls.Control) =>
  Effect.forEach(
    Array.from({ length: count }, (_, seed) => seed),
    (seed) =>
      Effect.map(Experiment.run(seed, control), (outcome) => {
        Report.progress(row(name, outcome).join(", "))
        return outcome
      })
  )

/** The mean over at most five seeds with its 95 % interval (Student's t); only the mean for one seed. */
const overSeeds = (values: ReadonlyArray<number>) => {
  const quantiles = [NaN, 12.71, 4.303, 3.182, 2.776]
  const centre = Report.mean(values)
  const variance = Report.mean(values.map((value) => (value - centre) ** 2)) * values.length / (values.length - 1)
  const half = (quantiles[values.length - 1] ?? 1.96) * Math.sqrt(variance / values.length)
  return values.length === 1 ? centre.toFixed(3) : `${centre.toFixed(3)} ± ${half.toFixed(3)}`
}

const gain = ({ after, before }: Experiment.Outcome) => after.sampled.value - before.sampled.value
const finals = (outcomes: ReadonlyArray<Experiment.Outcome>) => outcomes.map(({ after }) => after.sampled.value)

const curve = (outcomes: ReadonlyArray<Experiment.Outcome>) => {
  const at = [0, 4, 8, 12, 16, 20, 24]
  return Report.table(
    ["mean reward in step", ...at.map(String)],
    outcomes.map(({ rewards, seed }) => [`seed ${seed}`, ...at.map((step) => (rewards[step] ?? NaN).toFixed(3))])
  )
}

const verdict = (what: string, holds: boolean) => `- ${what}: **${holds ? "yes" : "no"}**`

const program = Effect.gen(function*() {
  const seeds = yield* Config.Int("LEARNING_SEEDS").pipe(Config.withDefault(5))
  const base = yield* Experiment.base
  const trained = yield* runs("trained", seeds, Controls.none)
  const controls = Math.min(seeds, controlSeeds)
  const still = yield* runs("learning rate 0", controls, Controls.noLearning)
  const shuffled = yield* runs("rewards shuffled", controls, Controls.shuffledRewards)
  const negated = yield* runs("advantages negated", controls, Controls.negatedAdvantages)

  const worst = Math.min(...finals(trained))
  const header = [
    "",
    "before, T = 1 [95 %]",
    "after, T = 1 [95 %]",
    "before, greedy",
    "after, greedy",
    "worked before",
    "worked after",
    "s"
  ]
  Report.publish("learning", "Does it learn to add?", [
    `The arithmetic recipe trains tiny-128 for ${Experiment.iterations} steps of 32 problems × 8 attempts. The table has the share of correct answers to 512 held-out
problems, with one sampled attempt each and with the most likely (greedy) answer; "worked" is the share of sampled answers with a
computation before the box. Intervals are Wilson's.`,
    `The base model answers correctly in ${Report.interval(base.pass1)} of its attempts; for ${
      Report.interval(base.pass8)
    } of the problems at least one of
eight attempts is correct.`,
    Report.table(header, [
      ...trained.map((outcome) => row("trained", outcome)),
      ...still.map((outcome) => row("learning rate 0", outcome)),
      ...shuffled.map((outcome) => row("rewards shuffled in each group", outcome)),
      ...negated.map((outcome) => row("advantages negated", outcome))
    ]),
    curve(trained),
    [
      `- trained, over ${seeds} seeds: **${overSeeds(finals(trained))}**, worst **${worst.toFixed(3)}**`,
      Report.aim("right answers of the worst seed", worst, "", "at least", 0.9),
      verdict(
        "learning rate 0 stays in the base's interval",
        still.every(({ after, before }) =>
          after.sampled.value >= before.sampled.low && after.sampled.value <= before.sampled.high
        )
      ),
      verdict("shuffled rewards gain less than 0.10", shuffled.every((outcome) => gain(outcome) < 0.1)),
      verdict("negated advantages fall", negated.every((outcome) => gain(outcome) < 0))
    ].join("\n")
  ])
})

OnEngine.runMain(program)
