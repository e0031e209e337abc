/**
 * Measures what tiny-64 learns on policy from a teacher whose tokens are single bytes, and from one with its own tokenizer. The byte-level
 * teacher is pretrained first, the other one imitates worked sums. Measures the seeds that `benchmark/results/curves/byte-teacher.json`
 * lacks.
 */
import { ChatModel, Credit, RunRecord, Tinker } from "@effect-rl/core"
import type { SamplingClient } from "@effect-rl/core/backend"
import { Proportion } from "@effect-rl/core/evaluation"
import { Recipes } from "@effect-rl/recipes"
import { Effect } from "effect"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as OnEngine from "../OnEngine.ts"
import * as Process from "../Process.ts"
import * as Report from "../Report.ts"
import * as Figure from "./Figure.ts"
import * as Kept from "./Kept.ts"
import * as RecipeRun from "./RecipeRun.ts"
import * as Sums from "./Sums.ts"

const name = "byte-teacher"
const byteLevel = "tiny-bytes"
const [same, bytes] = ["the student's tokenizer", "single bytes"]

/** The budget of every student. */
const settings = { iterations: 40, groupsPerBatch: 64, groupSize: 2, schedule: "linear" }

interface Teacher {
  readonly title: string
  readonly model: ChatModel.ChatModel
  readonly client: SamplingClient.SamplingClient
}

/** The student after learning from the teacher's log-probabilities of its own answers. */
const student = ({ client: teacher, model, title }: Teacher, learningRate: number) =>
  Effect.fnUntraced(function*(seed: number) {
    const models = { student: yield* ChatModel.resolve(Sums.model), teacher: model }
    const credit = Credit.distill({ teacher, ...(title === same ? {} : { models }) })
    const { correct, updates } = yield* Sums.trainOne({ ...settings, learningRate }, seed, () => credit)
    const curve = updates.map(({ metrics }) => metrics["teacher_kl"] ?? NaN)
    const outcome: Kept.Outcome = {
      curve,
      after: { value: correct / Sums.problems, trials: Sums.problems },
      besides: { "KL from the teacher": Report.mean(curve.slice(-3)) }
    }
    return outcome
  })

const rowOf = (teacher: Teacher) => ({
  title: teacher.title,
  measure: student(teacher, Sums.usual.learningRate),
  control: student(teacher, 1e-12)
})

const figure = {
  name,
  title: "On-policy distillation of tiny-64 on sums, by the tokens of the teacher",
  value: "KL from the teacher by iteration, nats per token",
  control: "learning rate 10⁻¹²",
  score: "right answers",
  seeds: Sums.seeds
}

/** The gain from the byte-level teacher as a share of that from the other one: of all seeds, its bounds, and of each seed. */
const recovered = ({ rows }: Kept.Kept, before: number) => {
  const [ofBytes = [], ofSame = []] = [rows[bytes]?.["measured"], rows[same]?.["measured"]]
  const [left, right] = [Kept.shareAfter(ofBytes), Kept.shareAfter(ofSame)]
  const ratio = (after: number, other = NaN) => (after - before) / (other - before)
  return {
    all: ratio(left.value, right.value),
    low: ratio(left.low, right.high),
    high: ratio(left.high, right.low),
    each: ofBytes.map(({ after }, seed) => ratio(after.value, ofSame[seed]?.after.value))
  }
}

const publish = Effect.fnUntraced(function*(teachers: ReadonlyArray<Teacher>, before: number) {
  const kept = yield* Kept.read(name)
  const rows = yield* Effect.forEach(
    teachers,
    Effect.fnUntraced(function*({ client, model, title }) {
      const { control = [], measured = [] } = kept.rows[title] ?? {}
      const right = yield* Sums.rightAnswersOf(model, client)
      return [
        title,
        Report.interval(Proportion.wilson(right, Sums.problems)),
        Report.interval(Kept.shareAfter(measured)),
        measured.map(({ after }) => after.value.toFixed(3)).join(", "),
        Report.mean(measured.map(({ besides }) => besides["KL from the teacher"] ?? NaN)).toFixed(3),
        Report.interval(Kept.shareAfter(control))
      ]
    })
  )
  const { all, each, high, low } = recovered(kept, before)
  Report.write("distillation", "Does a student learn from a teacher with another tokenizer?", [
    `Measured ${kept.machine}; \`npm run bench:distillation\`.`,
    `tiny-64 learns sums by on-policy distillation in ${settings.iterations} iterations of ${settings.groupsPerBatch} problems × ${settings.groupSize} answers, with each of ${Sums.seeds.length} seeds.
It answers ${
      before.toFixed(3)
    } of ${Sums.problems} held-out problems correctly before. One teacher is tiny-64 itself after imitating worked sums (the recipe
\`supervised\`). The tokens of the other one are single bytes: \`npm run pretrain -w packages/engine -- tiny-bytes\` trains it on worked sums from the
weights of tiny-64. Neither has seen a held-out problem. Each token of the student is scored with the log-probability of the teacher's
tokens that cover the same bytes. Shares are means over all seeds. Their 95 % intervals are Wilson's for the problems of\none seed, because all seeds are asked the same problems.`,
    Report.table([
      "the teacher's tokens",
      "the teacher's right answers",
      "the student's [95 %]",
      "of each seed",
      "KL from the teacher at the end, nats per token",
      `${figure.control} [95 %]`
    ], rows),
    `![KL from the teacher by iteration](../../docs/images/curves/${name}.svg)`,
    [
      Report.aim("Gain from the byte-level teacher, of that from the same tokenizer", 100 * all, " %", "at least", 80),
      `- Of each seed: ${each.map(Report.percent).join(", ")}; between opposite ends of both intervals: ${
        Report.percent(low)
      } to ${Report.percent(high)}.`
    ].join("\n")
  ])
})

const program = Effect.gen(function*() {
  const { createSamplingClient } = yield* Tinker.Tinker
  const chat = yield* ChatModel.resolve(Sums.model)
  const records = yield* RecipeRun.train(Recipes.supervised, { model: Sums.model, evalEvery: 0 })
  const modelPath = records.findLast(RunRecord.guards.Saved)?.samplerPath ?? ""
  const teachers: ReadonlyArray<Teacher> = [
    { title: same, model: chat, client: yield* createSamplingClient({ modelPath }) },
    {
      title: bytes,
      model: yield* ChatModel.resolve(byteLevel),
      client: yield* createSamplingClient({ baseModel: byteLevel })
    }
  ]
  const before = (yield* Sums.rightAnswersOf(chat, yield* createSamplingClient({ baseModel: Sums.model }))) /
    Sums.problems
  const measured = { ...figure, rows: teachers.map(rowOf) }
  yield* Figure.measure(measured)
  yield* Figure.draw(measured)
  yield* publish(teachers, before)
})

/** The folder of the byte-level teacher, which is trained here. */
const place = mkdtempSync(join(tmpdir(), byteLevel))
process.once("exit", () => rmSync(place, { recursive: true }))
const pretrain = join(import.meta.dirname, "../../packages/engine/scripts/pretrain.ts")
Report.progress(Process.node(pretrain, byteLevel, place))

OnEngine.runMain(program, [{ name: byteLevel, place }])
