/**
 * Measures what the presets learn within a minute or two, and whether the controls learn nothing. Measures what
 * `benchmark/results/curves/presets.json` lacks, for all recipes or only for those named as arguments, and writes the page of all. With
 * `--again`, the trained runs are repeated, which gives the same numbers with current times.
 */
import { Rl, RunRecord, RunStore } from "@effect-rl/core"
import { Statistics } from "@effect-rl/core/evaluation"
import { type Recipe, Recipes } from "@effect-rl/recipes"
import { Clock, Effect, Stream } from "effect"
import { loadavg } from "node:os"
import * as OnEngine from "../OnEngine.ts"
import * as Report from "../Report.ts"
import * as Controls from "./Controls.ts"
import * as Figure from "./Figure.ts"
import * as Kept from "./Kept.ts"
import type * as Picture from "./Picture.ts"
import * as PresetExamples from "./PresetExamples.ts"
import * as RecipeRun from "./RecipeRun.ts"

const name = "presets"

/** A recipe, its experiment and its controls; the experiment comes first. */
interface Subject {
  readonly name: string
  /** The control that the figure shows. */
  readonly control: string
  readonly kinds: Readonly<
    Record<string, (seed: number) => Effect.Effect<ReadonlyArray<RunRecord.RunRecord>, unknown, OnEngine.Services>>
  >
}

/** A recipe as the engine trains it if no model is named, with shuffled rewards, and with a learning rate of 0. */
const rewarded = <E, R extends OnEngine.Services>(recipe: Recipe.Recipe<E, R>) => {
  const train = (control: Controls.Control) =>
    Effect.fnUntraced(function*(seed: number) {
      const options = yield* RecipeRun.options(recipe, { ...recipe.sample, ...recipe.onEngine?.settings, seed })
      return yield* Stream.runCollect(Rl.run({ ...options, update: { ...options.update, ...control(seed) } }))
    }, Effect.provide(RunStore.RunStore.layerMemory, { local: true }))
  return {
    name: recipe.name,
    control: "rewards shuffled",
    kinds: {
      trained: train(Controls.none),
      "rewards shuffled": train(Controls.shuffledRewards),
      "learning rate 0": train(Controls.noLearning)
    }
  }
}

const rewardedRecipes = [
  rewarded(Recipes.guessNumber),
  rewarded(Recipes.twentyQuestions),
  rewarded(Recipes.rubric),
  rewarded(Recipes.calculator),
  rewarded(Recipes.lookup),
  rewarded(Recipes.searchTool),
  rewarded(Recipes.format),
  rewarded(Recipes.ticTacToe)
]

const scoreOf = ({ reward, score }: RunRecord.Evaluated): Kept.Score => {
  if (score !== undefined) return { value: score.value, interval: [score.low, score.high] }
  const { mean = NaN, standardError } = reward ?? {}
  if (standardError === undefined) return { value: mean }
  const { high, low } = Statistics.interval(mean, standardError)
  return { value: mean, interval: [low, high] }
}

const sum = (values: ReadonlyArray<number>) => values.reduce((total, value) => total + value, 0)

/** The evaluations of the evaluator `held_out`, or without it those of the first evaluator. */
const evaluationsOf = (records: ReadonlyArray<RunRecord.RunRecord>) => {
  const all = records.filter(RunRecord.guards.Evaluated)
  const { evaluator } = all.find(({ evaluator }) => evaluator === "held_out") ?? all[0] ?? {}
  return all.filter((evaluation) => evaluation.evaluator === evaluator)
}

/** The reward of each iteration, or the score of each evaluation if there are no rewards. */
const curveOf = (records: ReadonlyArray<RunRecord.RunRecord>) => {
  const rewards = records.filter(RunRecord.guards.Updated).flatMap(({ reward }) => reward?.mean ?? [])
  return rewards.length > 0 ? rewards : evaluationsOf(records).map((evaluation) => scoreOf(evaluation).value)
}

const measure = Effect.fnUntraced(
  function*<E, R>(name: string, run: Effect.Effect<ReadonlyArray<RunRecord.RunRecord>, E, R>) {
    const startedAt = yield* Clock.currentTimeMillis
    const records = yield* run
    const wall = ((yield* Clock.currentTimeMillis) - startedAt) / 1000
    const [before, after] = [evaluationsOf(records).at(0), evaluationsOf(records).at(-1)]
    if (before === undefined || after === undefined) return yield* Effect.die(`${name} was not evaluated`)
    const outcome: Kept.Outcome = {
      curve: curveOf(records),
      before: scoreOf(before),
      after: scoreOf(after),
      besides: {
        iterations: records.filter(RunRecord.guards.Updated).length,
        seconds: wall - sum(records.filter(RunRecord.guards.Evaluated).map(({ seconds }) => seconds)),
        load: loadavg()[0] ?? NaN
      }
    }
    Report.progress(`${name}: ${shown(outcome.before)} to ${shown(outcome.after)}`)
    return outcome
  }
)

const shown = ({ interval, value }: Kept.Score = { value: NaN }) =>
  interval === undefined
    ? value.toFixed(3)
    : `${value.toFixed(3)} [${interval.map((end) => end.toFixed(3)).join(", ")}]`

const rowOf = ({ kinds, name }: Subject): Kept.Row<unknown, OnEngine.Services> => ({
  title: name,
  kinds: Object.fromEntries(
    Object.entries(kinds).map(([kind, run]) => [kind, (seed) => measure(`${name}, ${kind}, seed ${seed}`, run(seed))])
  )
})

/** The outcomes in the order of the subjects, each with its experiment first. */
const outcomesOf = (subjects: ReadonlyArray<Subject>, { rows }: Kept.Kept) =>
  subjects.flatMap(({ kinds, name }) =>
    Object.keys(kinds).flatMap((kind) =>
      (rows[name]?.[kind] ?? []).map((outcome, seed) => ({ ...outcome, kind, title: `${name}, ${kind}, seed ${seed}` }))
    )
  )

type Titled = ReturnType<typeof outcomesOf>

const cells = (outcomes: Titled) =>
  outcomes.map(({ after, before, besides, title }) => [
    title,
    shown(before),
    shown(after),
    String(besides["iterations"]),
    besides["seconds"]?.toFixed(0) ?? "",
    besides["load"]?.toFixed(1) ?? ""
  ])

const shares = [0, 0.25, 0.5, 0.75, 1]

const curves = (outcomes: Titled) =>
  outcomes.filter(({ kind }) => kind === "trained").map(({ curve, title }) => [
    title.replace(", trained", ""),
    ...shares.map((share) => (curve[Math.round(share * (curve.length - 1))] ?? NaN).toFixed(2))
  ])

interface Drawing extends Picture.Labels {
  readonly name: string
  readonly subjects: ReadonlyArray<Subject>
}

const drawings: ReadonlyArray<Drawing> = [{
  name,
  title: "What the presets learn from what they sample",
  value: "mean reward by iteration",
  control: "rewards shuffled in each group, distill and distill-multi taught by itself; means below −1 lie on the edge",
  least: -1,
  subjects: [...rewardedRecipes, ...PresetExamples.distilling]
}, {
  name: `${name}-examples`,
  title: "What the preset tiny-tasks learns from examples",
  value: "held-out share that is right, by evaluation",
  control: "answers of other questions, preferences and verdicts by chance, a teacher that has not learned",
  subjects: PresetExamples.onExamples
}]

const draw = ({ name: picture, subjects, ...labels }: Drawing, { rows }: Kept.Kept) =>
  Figure.save(
    picture,
    labels,
    subjects.flatMap(({ control, name: title }) => {
      const { [control]: untaught = [], trained: measured = [] } = rows[title] ?? {}
      return measured.length === 0 ? [] : [{ title, measured, control: untaught }]
    })
  )

const publish = Effect.fnUntraced(function*(subjects: ReadonlyArray<Subject>) {
  const kept = yield* Kept.read(name)
  const outcomes = outcomesOf(subjects, kept)
  Report.write(name, "What the presets learn, and what they do not", [
    `Measured last ${kept.machine}.`,
    `Recipes run with their default settings for the embedded engine, on two of its workers; the recipes with sums
have \`--model effect-rl/tiny-tasks\`, but rubric trains \`effect-rl/tiny-128\`, twenty_questions \`effect-rl/tiny-questions\`, and search_tool \`effect-rl/tiny-tools\`. The
numbers are shares of correct answers to held-out problems, sampled at temperature 1, with 95 % intervals. For tic-tac-toe they are mean
rewards against a random opponent, from −2 for an illegal move to 1; its curves are of self-play, in which one side's win is the other's
loss. For preference-model they are shares of correct verdicts on held-out comparisons: the untrained model gives no verdict, and chance is
one half. For rubric they are mean scores from the judge. The intervals of guess-number and twenty_questions are wide because only
four numbers and five things are held out, each played 64 and 48 times. search_tool is asked 16 times about each of 15 held-out places. For
distill-prompt they are shares of 100 held-out lists that the student writes in the teacher's format, which its question does not ask for.
Seconds are those of training; for distill, distill-multi and distill-prompt, of teachers and student; those of a run that was paused are missing. If the load is above 3 or missing, other programs shared the two processors.`,
    ...drawings.map(({ name, title }) =>
      `![${title}: every curve rises above its control](../../docs/images/curves/${name}.svg)`
    ),
    Report.table(["", "before [95 %]", "after [95 %]", "iterations", "s", "load"], cells(outcomes)),
    "The curves are mean rewards of iterations, or, for supervised, dpo, preference-model and distill-prompt, the share of correct answers at five evaluations.",
    Report.table(["", "first", "at 1/4", "at 1/2", "at 3/4", "last"], curves(outcomes))
  ])
  yield* Effect.forEach(drawings, (drawing) => draw(drawing, kept), { discard: true })
})

const program = Effect.gen(function*() {
  const given = process.argv.slice(2)
  const named = given.filter((argument) => argument !== "--again")
  const subjects: ReadonlyArray<Subject> = [
    ...rewardedRecipes,
    ...PresetExamples.onExamples,
    ...PresetExamples.distilling
  ]
  const chosen = named.length === 0 ? subjects : subjects.filter(({ name }) => named.includes(name))
  if (given.includes("--again")) yield* Kept.forget(name, chosen.map(({ name }) => name), "trained")
  yield* Kept.measure({ name, seeds: [0, 1, 2], rows: chosen.map(rowOf) })
  yield* publish(subjects)
})

OnEngine.runMain(program)
