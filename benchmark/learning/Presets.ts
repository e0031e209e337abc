/**
 * What the preset tiny-tasks learns within a minute or two, and whether the controls do not. `PRESETS_SEEDS` takes fewer seeds;
 * `PRESETS_RECIPES` some of the recipes. What was measured before stays on the page: it is kept in `runs/presets.jsonl`.
 */
import { Rl, RunRecord, RunStore } from "@effect-rl/core"
import { type Recipe, Recipes } from "@effect-rl/recipes"
import { Clock, Config, Effect, FileSystem, Schema, Stream } from "effect"
import * as OnEngine from "../OnEngine.ts"
import * as Report from "../Report.ts"
import * as Controls from "./Controls.ts"
import * as PresetExamples from "./PresetExamples.ts"
import * as RecipeRun from "./RecipeRun.ts"

/** What is trained, and how: as it is first, then its controls. */
interface Subject {
  readonly name: string
  readonly kinds: Readonly<
    Record<string, (seed: number) => Effect.Effect<ReadonlyArray<RunRecord.RunRecord>, unknown, OnEngine.Services>>
  >
}

/** A recipe with its defaults, with a learning rate of 0, and with rewards shuffled. */
const rewarded = <E, R>(recipe: Recipe.Recipe<E, R>) => {
  const train = (control: Controls.Control) =>
    Effect.fnUntraced(function*(seed: number) {
      const options = yield* RecipeRun.options(recipe, { seed })
      return yield* Stream.runCollect(Rl.run({ ...options, update: { ...options.update, ...control(seed) } }))
    }, Effect.provide(RunStore.RunStore.layerMemory, { local: true }))
  return {
    name: recipe.name,
    kinds: {
      trained: train(Controls.none),
      "learning rate 0": train(Controls.noLearning),
      "rewards shuffled": train(Controls.shuffledRewards)
    }
  }
}

const subjects = Effect.map(PresetExamples.subjects, (examples): ReadonlyArray<Subject> => [
  rewarded(Recipes.guessNumber),
  rewarded(Recipes.calculator),
  rewarded(Recipes.lookup),
  rewarded(Recipes.format),
  rewarded(Recipes.ticTacToe),
  ...examples
])

const Measured = Schema.Struct({
  value: Schema.Number,
  /** The 95 % interval, where it is known. */
  interval: Schema.optionalKey(Schema.Tuple([Schema.Number, Schema.Number]))
})
type Measured = typeof Measured.Type

const Outcome = Schema.Struct({
  recipe: Schema.String,
  kind: Schema.String,
  seed: Schema.Int,
  /** On held-out problems: the share that is right, or the mean reward of matches. */
  before: Measured,
  after: Measured,
  iterations: Schema.Int,
  /** Mean reward of each iteration; of training on examples the share that is right, at five evaluations. */
  curve: Schema.Array(Schema.Number),
  /** Of training, without the evaluations. */
  seconds: Schema.Number
})
type Outcome = typeof Outcome.Type

const measured = ({ reward, score }: RunRecord.Evaluated): Measured => {
  if (score !== undefined) return { value: score.value, interval: [score.low, score.high] }
  const { mean = NaN, standardError } = reward ?? {}
  return standardError === undefined
    ? { value: mean }
    : { value: mean, interval: [mean - 1.96 * standardError, mean + 1.96 * standardError] }
}

const sum = (values: ReadonlyArray<number>) => values.reduce((total, value) => total + value, 0)

/** The evaluation of right answers where there is one, else the first. */
const evaluationsOf = (records: ReadonlyArray<RunRecord.RunRecord>) => {
  const all = records.filter(RunRecord.guards.Evaluated)
  const { evaluator } = all.find(({ evaluator }) => evaluator === "held_out") ?? all[0] ?? {}
  return all.filter((evaluation) => evaluation.evaluator === evaluator)
}

/** The reward of each iteration, or each evaluation where there are no rewards. */
const curveOf = (records: ReadonlyArray<RunRecord.RunRecord>) => {
  const rewards = records.filter(RunRecord.guards.Updated).flatMap(({ reward }) => reward?.mean ?? [])
  return rewards.length > 0 ? rewards : evaluationsOf(records).map((evaluation) => measured(evaluation).value)
}

const measure = Effect.fnUntraced(function*({ kinds, name }: Subject, kind: string, seed: number) {
  const startedAt = yield* Clock.currentTimeMillis
  const records = yield* kinds[kind]?.(seed) ?? Effect.die(`${name} has no ${kind}`)
  const wall = ((yield* Clock.currentTimeMillis) - startedAt) / 1000
  const [before, after] = [evaluationsOf(records).at(0), evaluationsOf(records).at(-1)]
  if (before === undefined || after === undefined) return yield* Effect.die(`${name} was not evaluated`)
  const outcome: Outcome = {
    recipe: name,
    kind,
    seed,
    before: measured(before),
    after: measured(after),
    iterations: records.filter(RunRecord.guards.Updated).length,
    curve: curveOf(records),
    seconds: wall - sum(records.filter(RunRecord.guards.Evaluated).map(({ seconds }) => seconds))
  }
  Report.progress(`${name}, ${kind}, seed ${seed}: ${shown(outcome.before)} to ${shown(outcome.after)}`)
  return outcome
})

const shown = ({ interval, value }: Measured) =>
  interval === undefined
    ? value.toFixed(3)
    : `${value.toFixed(3)} [${interval.map((end) => end.toFixed(3)).join(", ")}]`

const kept = "runs/presets.jsonl"

const Lines = Schema.fromJsonString(Outcome)

const known = Effect.gen(function*() {
  const fs = yield* FileSystem.FileSystem
  const text = (yield* fs.exists(kept)) ? yield* fs.readFileString(kept) : ""
  return yield* Effect.forEach(
    text.split("\n").filter((line) => line !== ""),
    (line) => Schema.decodeEffect(Lines)(line)
  )
})

const keep = Effect.fnUntraced(function*(outcome: Outcome) {
  const fs = yield* FileSystem.FileSystem
  yield* fs.makeDirectory("runs", { recursive: true })
  yield* fs.writeFileString(kept, `${yield* Schema.encodeEffect(Lines)(outcome)}\n`, { flag: "a" })
})

const rows = (outcomes: ReadonlyArray<Outcome>) =>
  outcomes.map(({ after, before, iterations, kind, recipe, seconds, seed }) => [
    `${recipe}, ${kind}, seed ${seed}`,
    shown(before),
    shown(after),
    String(iterations),
    seconds.toFixed(0)
  ])

const shares = [0, 0.25, 0.5, 0.75, 1]

const curves = (outcomes: ReadonlyArray<Outcome>) =>
  outcomes.filter(({ kind }) => kind === "trained").map(({ curve, recipe, seed }) => [
    `${recipe}, seed ${seed}`,
    ...shares.map((share) => (curve[Math.round(share * (curve.length - 1))] ?? NaN).toFixed(2))
  ])

const publish = (outcomes: ReadonlyArray<Outcome>) =>
  Report.publish("presets", "What the preset tiny-tasks learns, and what it does not", [
    `Recipes with their defaults on two workers of the embedded engine; those of sums with \`--model effect-rl/tiny-tasks\`, and
preference-model with \`--iterations 120 --schedule linear\`, as one of three seeds learned nothing with the defaults. The numbers are shares of right answers to held-out problems, sampled at temperature 1, with 95 % intervals; of tic-tac-toe the mean reward against a
random opponent, from −2 for an illegal move to 1; of preference-model the share of right verdicts on held-out comparisons. The interval
of guess-number is wide because four numbers are held out, each played 64 times. Seconds are those of training; other programs shared
the machine meanwhile.`,
    Report.table(["", "before [95 %]", "after [95 %]", "iterations", "s"], rows(outcomes)),
    `The curves: mean rewards of iterations; of supervised, dpo and preference-model the share that is right at five evaluations.`,
    Report.table(["", "first", "at 1/4", "at 1/2", "at 3/4", "last"], curves(outcomes)),
    `The teacher of distill is what supervised makes of the preset with seed 0; the control is taught by the preset itself.`
  ])

/** In the order of the subjects; of each what is trained first. */
const order = (all: ReadonlyArray<Subject>, outcomes: ReadonlyArray<Outcome>) =>
  all.flatMap(({ kinds, name }) =>
    Object.keys(kinds).flatMap((kind) =>
      outcomes.filter((outcome) => outcome.recipe === name && outcome.kind === kind)
        .toSorted((left, right) => left.seed - right.seed)
    )
  )

/** Seeds of what is trained, and of each of its controls. */
const seeds = [3, 1, 1]

/** One seed of each subject after the other, the controls last. */
const wanted = Effect.fnUntraced(function*(all: ReadonlyArray<Subject>) {
  const most = yield* Config.Int("PRESETS_SEEDS").pipe(Config.withDefault(Math.max(...seeds)))
  const some = yield* Config.String("PRESETS_RECIPES").pipe(Config.withDefault(""))
  const chosen = all.filter(({ name }) => some === "" || some.split(",").includes(name))
  return seeds.flatMap((count, at) =>
    Array.from({ length: Math.min(most, count) }, (_, seed) => seed).flatMap((seed) =>
      chosen.flatMap((subject) => Object.keys(subject.kinds).slice(at, at + 1).map((kind) => ({ subject, kind, seed })))
    )
  )
})

const program = Effect.gen(function*() {
  const all = yield* subjects
  const outcomes = [...yield* known]
  for (const { kind, seed, subject } of yield* wanted(all)) {
    const { name } = subject
    if (outcomes.some((known) => known.recipe === name && known.kind === kind && known.seed === seed)) continue
    const outcome = yield* measure(subject, kind, seed)
    yield* keep(outcome)
    outcomes.push(outcome)
  }
  publish(order(all, outcomes))
})

OnEngine.runMain(program)
