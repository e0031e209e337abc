/**
 * Whether the recipes that default to the preset tiny-tasks learn with their defaults, and whether their controls do not.
 * `PRESETS_SEEDS` takes fewer seeds; `PRESETS_RECIPES` some of the recipes. What was measured before stays on the page: it is kept
 * in `runs/presets.jsonl`.
 */
import { ChatModel, Rl, RunRecord, RunStore, Setting } from "@effect-rl/core"
import { type Recipe, Recipes, TrainingSettings } from "@effect-rl/recipes"
import { Clock, Config, Effect, FileSystem, Schema, Stream, Struct } from "effect"
import * as OnEngine from "../OnEngine.ts"
import * as Report from "../Report.ts"
import * as Controls from "./Controls.ts"

const recipes = [Recipes.guessNumber, Recipes.calculator, Recipes.lookup, Recipes.format, Recipes.ticTacToe]

const kinds = {
  trained: Controls.none,
  "learning rate 0": Controls.noLearning,
  "rewards shuffled": Controls.shuffledRewards
} satisfies Record<string, Controls.Control>

type Kind = keyof typeof kinds

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
  /** Mean reward of each iteration. */
  rewards: Schema.Array(Schema.Number),
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

/** The settings that a recipe shares with all others; only the names of `fields` count. */
const Shared = Schema.Struct(TrainingSettings.fields({
  model: "",
  iterations: 0,
  groupsPerBatch: 1,
  groupSize: 1,
  learningRate: 1,
  maxTokens: 1,
  evalEvery: 0
}))

const defaultsOf = ({ settings }: Pick<Recipe.Recipe, "settings">) =>
  Object.fromEntries(
    Object.entries(settings.fields).flatMap(([name, field]) => {
      const value = Setting.of(field)?.default
      return value === undefined ? [] : [[name, value]]
    })
  )

/** The recipe's own run, as options that a control may change. */
const optionsOf = Effect.fnUntraced(function*<E, R>(recipe: Recipe.Recipe<E, R>, seed: number) {
  const { build, model: name } = yield* recipe.configure({ seed })
  const model = yield* ChatModel.resolve(name)
  const { dataset, evaluators } = yield* build(model)
  const settings = yield* Schema.decodeUnknownEffect(Shared)({ ...defaultsOf(recipe), seed })
  const { run, ...options } = TrainingSettings.options(model, settings)
  return { ...options, dataset, run: { ...run, evaluators } }
})

const sum = (values: ReadonlyArray<number>) => values.reduce((total, value) => total + value, 0)

const measure = Effect.fnUntraced(
  function*<E, R>(recipe: Recipe.Recipe<E, R>, kind: Kind, seed: number) {
    const startedAt = yield* Clock.currentTimeMillis
    const options = yield* optionsOf(recipe, seed)
    const update = { ...options.update, ...kinds[kind](seed) }
    const records = yield* Stream.runCollect(Rl.run({ ...options, update }))
    const wall = ((yield* Clock.currentTimeMillis) - startedAt) / 1000
    const evaluations = records.filter(RunRecord.guards.Evaluated)
    const first = evaluations.filter(({ evaluator }) => evaluator === evaluations[0]?.evaluator)
    const [before, after] = [first.at(0), first.at(-1)]
    if (before === undefined || after === undefined) return yield* Effect.die(`${recipe.name} was not evaluated`)
    const updates = records.filter(RunRecord.guards.Updated)
    const outcome: Outcome = {
      recipe: recipe.name,
      kind,
      seed,
      before: measured(before),
      after: measured(after),
      rewards: updates.map(({ reward }) => reward?.mean ?? NaN),
      seconds: wall - sum(evaluations.map(({ seconds }) => seconds))
    }
    Report.progress(`${outcome.recipe}, ${kind}, seed ${seed}: ${shown(outcome.before)} to ${shown(outcome.after)}`)
    return outcome
  },
  Effect.provide(RunStore.RunStore.layerMemory, { local: true })
)

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
  outcomes.map(({ after, before, kind, recipe, rewards, seconds, seed }) => [
    `${recipe}, ${kind}, seed ${seed}`,
    shown(before),
    shown(after),
    String(rewards.length),
    seconds.toFixed(0)
  ])

const shares = [0, 0.25, 0.5, 0.75, 1]

const curves = (outcomes: ReadonlyArray<Outcome>) =>
  outcomes.filter(({ kind }) => kind === "trained").map(({ recipe, rewards, seed }) => [
    `${recipe}, seed ${seed}`,
    ...shares.map((share) => (rewards[Math.round(share * (rewards.length - 1))] ?? NaN).toFixed(2))
  ])

const publish = (outcomes: ReadonlyArray<Outcome>) =>
  Report.publish("presets", "What the preset tiny-tasks learns, and what it does not", [
    `Each recipe with its defaults on two workers of the embedded engine. The numbers are shares of right answers to held-out problems,
sampled at temperature 1, with 95 % intervals; of tic-tac-toe the mean reward against a random opponent, from −2 for an illegal move
to 1. Seconds are those of training; other programs shared the machine meanwhile.`,
    Report.table(["", "before [95 %]", "after [95 %]", "iterations", "s"], rows(outcomes)),
    Report.table(["mean reward", "first iteration", "at 1/4", "at 1/2", "at 3/4", "last"], curves(outcomes)),
    `Supervised training, preferences and distillation learn on tiny-64 and tiny-128, on sums: see [sums](learning.md),
[preferences](rlhf.md).`
  ])

const order = (outcomes: ReadonlyArray<Outcome>) =>
  recipes.flatMap(({ name }) =>
    Object.keys(kinds).flatMap((kind) =>
      outcomes.filter((outcome) => outcome.recipe === name && outcome.kind === kind)
        .toSorted((left, right) => left.seed - right.seed)
    )
  )

const seedsOf = { trained: 3, "learning rate 0": 1, "rewards shuffled": 1 }

const wanted = Effect.gen(function*() {
  const most = yield* Config.Int("PRESETS_SEEDS").pipe(Config.withDefault(3))
  const some = yield* Config.String("PRESETS_RECIPES").pipe(Config.withDefault(""))
  const chosen = recipes.filter(({ name }) => some === "" || some.split(",").includes(name))
  return Struct.keys(kinds).flatMap((kind) =>
    Array.from({ length: Math.min(most, seedsOf[kind]) }, (_, seed) => seed).flatMap((seed) =>
      chosen.map((recipe) => ({ recipe, kind, seed }))
    )
  )
})

const program = Effect.gen(function*() {
  const outcomes = [...yield* known]
  for (const { kind, recipe, seed } of yield* wanted) {
    if (outcomes.some((known) => known.recipe === recipe.name && known.kind === kind && known.seed === seed)) continue
    const outcome = yield* measure(recipe, kind, seed)
    yield* keep(outcome)
    outcomes.push(outcome)
  }
  publish(order(outcomes))
})

OnEngine.runMain(program)
