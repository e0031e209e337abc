/**
 * Makes runs with planted faults, and stores their records and the audit's findings, without transcripts, in
 * `packages/core/test/fixtures/verdicts`. The arguments are the number of a round (default 1) and, optionally, the names of some of its
 * runs. Stored runs are repeated only if they are named.
 */
import {
  ChatModel,
  type Env,
  Evaluator,
  ProblemGroupBuilder,
  Rl,
  type RLDataset,
  RunRecord,
  RunStore,
  Setting
} from "@effect-rl/core"
import { Audit } from "@effect-rl/core/records"
import { Recipes, Sums, TrainingSettings } from "@effect-rl/recipes"
import { Sandbox } from "@effect-rl/sandbox"
import { Effect, Schema, Stream } from "effect"
import { existsSync, mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { gzipSync } from "node:zlib"
import * as Controls from "../learning/Controls.ts"
import * as RecipeRun from "../learning/RecipeRun.ts"
import * as OnEngine from "../OnEngine.ts"
import * as Report from "../Report.ts"
import * as Plans from "./Plans.ts"

const kept = join(import.meta.dirname, "../../packages/core/test/fixtures/verdicts")

const Settings = Schema.Struct(TrainingSettings.fields({
  model: "effect-rl/tiny-64",
  iterations: 16,
  groupsPerBatch: 8,
  groupSize: 8,
  maxTokens: 40,
  learningRate: 1e-3,
  evalEvery: 8
}))

/** Number of problems in each measurement. */
const problems = 96

const rl = Effect.fnUntraced(function*({ grader, isMeasuredSo, isUnmeasured, largest = 99, settings }: Plans.RlPlan) {
  const decoded = yield* Setting.decode(Settings, settings)
  const model = yield* ChatModel.resolve(decoded.model)
  const { groupSize, groupsPerBatch, iterations: batches, maxTokens } = decoded
  const graded = grader === undefined ? Sums.boxed.env : Plans.env(grader())
  const pairs: Sums.Kind["pairs"] = (batch, count, seed) =>
    Sums.boxed.pairs(batch, count, seed).map(([a, b]) => [a % (largest + 1), b % (largest + 1)])
  const dataset = Sums.dataset({ ...Sums.boxed, env: graded, pairs }, { model, batches, groupSize, groupsPerBatch })
  const measured = isMeasuredSo === true ? graded : Sums.boxed.env
  const groups = Sums.heldOutPairs.slice(0, problems).map(([a, b], index) =>
    ProblemGroupBuilder.make({ key: `${index}/${a}+${b}`, size: 1, env: () => measured(model, a, b) })
  )
  const { run, ...options } = TrainingSettings.options(model, decoded)
  const evaluators = isUnmeasured === true ? [] : [Evaluator.testSet({ name: "held_out", groups, maxTokens })]
  return Rl.run({ ...options, dataset, run: { ...run, evaluators } })
})

/** The environment with the planted reward, paid at the end, instead of its own. Its scores do not change. */
const paidEnv = <E, R>(
  pays: (episode: Plans.Episode) => number,
  { tokenizer }: ChatModel.ChatModel,
  env: Env.Env<E, R>
): Env.Env<E, R> => {
  let [calls, turns] = [0, 0]
  return {
    ...env,
    step: (action) =>
      Effect.map(env.step(action), (step) => {
        turns++
        calls += step.toolCalls ?? 0
        const text = tokenizer.decode(action.tokens)
        return { ...step, reward: step._tag === "Done" ? pays({ calls, turns, text }) : 0 }
      })
  }
}

const paid = <E, R>(
  pays: (episode: Plans.Episode) => number,
  model: ChatModel.ChatModel,
  dataset: RLDataset.RLDataset<E, R>
): RLDataset.RLDataset<E, R> => ({
  ...dataset,
  batch: (index, seed) =>
    Effect.map(dataset.batch(index, seed), (groups) =>
      groups.map((group) => ({
        ...group,
        open: Effect.map(group.open, (opened) => ({
          ...opened,
          makeEnv: (...given: Parameters<typeof opened.makeEnv>) =>
            Effect.map(opened.makeEnv(...given), (env) => paidEnv(pays, model, env))
        }))
      })))
})

const named = (name: string) => {
  const found = Recipes.all.find((recipe) => recipe.name === name)
  return found === undefined ? Effect.die(`no recipe is named ${name}`) : Effect.succeed(found)
}

/** The path of the weights that a run of `supervised` ends with. */
const teacherOf = Effect.fnUntraced(function*(settings: object) {
  const records = yield* RecipeRun.train(yield* named("supervised"), settings)
  const path = records.findLast(RunRecord.guards.Saved)?.samplerPath
  return path ?? (yield* Effect.die("the teacher's run has saved no weights"))
})

const recipe = Effect.fnUntraced(function*({ isNegated, pays, recipe: name, taught, ...plan }: Plans.RecipePlan) {
  const found = yield* named(name)
  const settings = taught === undefined ? plan.settings : { ...plan.settings, teacher: yield* teacherOf(taught) }
  if (pays === undefined && isNegated === undefined) {
    const { build, model } = yield* found.configure(settings)
    return (yield* build(yield* ChatModel.resolve(model))).run
  }
  const options = yield* RecipeRun.options(found, settings)
  const dataset = pays === undefined ? options.dataset : paid(pays, options.model, options.dataset)
  const change = isNegated === true ? Controls.negatedAdvantages(0) : {}
  return Rl.run({ ...options, dataset, update: { ...options.update, ...change } })
})

const make = Effect.fnUntraced(function*({ label, left = 1, name, partedAfter, run }: Plans.Plan) {
  const store = yield* RunStore.RunStore
  const stream = yield* run.program === "rl" ? rl(run) : recipe(run)
  if (partedAfter !== undefined) {
    const isParted = (record: RunRecord.RunRecord) => record._tag === "Updated" && record.iteration >= partedAfter
    yield* Stream.runDrain(Stream.takeUntil(stream, isParted))
  }
  yield* Effect.exit(Stream.runDrain(stream))
  const all = yield* Stream.runCollect(store.read)
  const records = all.slice(0, Math.floor(left * all.length))
  const cut = { ...store, read: Stream.fromIterable(records) }
  const findings = yield* Stream.runCollect(Audit.run(cut))
  const isWritten = false
  const lines = [{ name, label, isWritten, findings }, ...records.map(RunRecord.toJson)]
  writeFileSync(
    join(kept, `${name}.jsonl.gz`),
    gzipSync(lines.map((line) => JSON.stringify(line)).join("\n"), { level: 9 })
  )
  const last = records.findLast(RunRecord.guards.Updated)
  Report.progress(
    `${name}: ${records.length} records, reward ${last?.reward?.mean.toFixed(3)}, ${records.at(-1)?._tag}`
  )
}, Effect.provide(RunStore.RunStore.layerMemory, { local: true }))

const [asked = "1", ...chosen] = process.argv.slice(2)
const plans = asked === "1" ? [...Plans.tuned, ...Plans.firstRound] : Plans.round(Number(asked))
const wanted = plans.filter(({ name }) =>
  chosen.length === 0 ? !existsSync(join(kept, `${name}.jsonl.gz`)) : chosen.includes(name)
)

mkdirSync(kept, { recursive: true })
OnEngine.runMain(
  Effect.forEach(wanted, make, { discard: true }).pipe(Effect.provide(Sandbox.Sandbox.layerBubblewrap()))
)
