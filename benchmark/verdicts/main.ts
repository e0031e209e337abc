/**
 * Makes runs in which something is planted, and keeps their records and what an audit finds, without transcripts, in
 * `packages/core/test/fixtures/verdicts`. Names of plans on the command line make these alone; a run that is kept is not made again.
 */
import { ChatModel, Evaluator, ProblemGroupBuilder, Rl, RunRecord, RunStore, Setting } from "@effect-rl/core"
import { Audit } from "@effect-rl/core/records"
import { Recipes, Sums, TrainingSettings } from "@effect-rl/recipes"
import { Effect, Schema, Stream } from "effect"
import { existsSync, mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { gzipSync } from "node:zlib"
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

/** Problems of each measurement. */
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

const recipe = Effect.fnUntraced(function*({ program, settings }: Plans.RecipePlan) {
  const { build, model } = yield* Recipes[program].configure(settings)
  return (yield* build(yield* ChatModel.resolve(model))).run
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

const named = process.argv.slice(2)
const plans = [...Plans.tuned, ...(named.includes("held-out") ? Plans.heldOut : [])]
const wanted = plans.filter(({ name }) =>
  named.length === 0 || named.includes("held-out") ? !existsSync(join(kept, `${name}.jsonl.gz`)) : named.includes(name)
)

mkdirSync(kept, { recursive: true })
OnEngine.runMain(Effect.forEach(wanted, make, { discard: true }))
