import { RunRecord } from "@effect-rl/core"
import { type Audit, Diagnosis, Recorded, Story } from "@effect-rl/core/records"
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { gunzipSync } from "node:zlib"

const folder = join(import.meta.dirname, "..", "fixtures", "verdicts")

interface Planted {
  readonly name: string
  /** The acceptable diagnoses of the run. */
  readonly label: ReadonlyArray<Diagnosis.Kind>
  readonly isWritten: boolean
  readonly findings: ReadonlyArray<Audit.Finding>
}

const decode = Schema.decodeUnknownSync(RunRecord.codec)

/** Runs with planted faults, made by `benchmark/verdicts`. */
const runs = readdirSync(folder).map((file) => {
  const [head = "", ...lines] = gunzipSync(readFileSync(join(folder, file))).toString().split("\n")
  const planted: Planted = JSON.parse(head)
  const story = Story.fromRecords(lines.map((line) => Recorded.make(decode(JSON.parse(line)))))
  return { ...planted, story, diagnosis: Diagnosis.of(story, planted) }
})

const named = (name: string) => runs.find((run) => run.name === name) ?? assert.fail(`no run ${name}`)

/** Runs whose diagnosis is not the planted one, with the diagnosis and the reason. */
const missed: Readonly<Record<string, Diagnosis.Kind>> = {
  // The teacher is no better than the student, so nothing is learned.
  "r2-good-distilled": "unchanged",
  // Nothing is learned from a teacher that is no better than the student, but its divergence counts as a collapse.
  "r3-distilled-alike": "collapsed",
  // No answer repeats the question, so the planted reward is never earned.
  "r3-hacked-repeats": "hopeless"
}

describe("Diagnosis.of for a planted run", () => {
  it.each(runs)(
    "diagnoses $name as its planted fault, or as the miss that is listed for it",
    ({ diagnosis, label, name }) => {
      const kind = missed[name]
      assert.include(kind === undefined ? label : [kind], diagnosis.kind, diagnosis.sentence)
    }
  )

  it("finds the planted fault in at least nine tenths of the runs", () => {
    const right = runs.filter(({ diagnosis: { kind }, label }) => label.includes(kind))
    assert.isAtLeast(right.length, 0.9 * runs.length)
  })

  it.each([
    ["hacked-length", "at least 30 characters"],
    ["held-hacked-length", "at least 30 characters"],
    ["hacked-short", "at most 10 characters"],
    ["hacked-phrase", "\"The answer i\""],
    ["hacked-hundreds", String.raw`"\\boxed{1"`]
  ])("names what %s rewards", (name, cause) => {
    assert.include(named(name).diagnosis.sentence, `the reward pays for ${cause}`)
  })

  it("calls no good run bad, and no hacked or failed run good, except the listed ones", () => {
    const levels = (label: Diagnosis.Kind) =>
      new Set(
        runs.flatMap(({ diagnosis, name, ...run }) =>
          run.label.includes(label) && missed[name] === undefined ? [diagnosis.level] : []
        )
      )
    assert.isFalse(levels("learned").has("bad") || levels("solved").has("bad"))
    assert.isFalse(levels("suspect").has("good") || levels("failed").has("good"))
  })
})

describe("Diagnosis.of", () => {
  it("summarises a run in one sentence and two numbers", () => {
    const { numbers, sentence } = named("solved-0").diagnosis
    assert.match(
      sentence,
      /^Solved since iteration \d+: held_out 35\.4 → \d\d\.\d % in 40 iterations, \d+ s, \d+ k tokens\.$/
    )
    assert.deepInclude(numbers, { measure: "held_out", before: "35.4 %" })
  })

  it("calls a run hopeless although a few answers were right by chance, and says whether any were", () => {
    assert.match(named("r2-hopeless-words").diagnosis.sentence, /^Hopeless: hardly an attempt was right in training/)
    assert.match(named("hopeless-0").diagnosis.sentence, /^Hopeless: no attempt was right in training/)
  })

  it("does not doubt a fallen reward although something else explains its remaining differences", () => {
    assert.match(named("r2-negated").diagnosis.sentence, /^Collapsed: held_out 20\.7 → 0\.0 %/)
    assert.deepStrictEqual(named("r2-negated").diagnosis.doubts, [])
  })

  it("counts no answer as right in an evaluation in which none could be graded", () => {
    assert.match(named("r2-collapsed-calculator").diagnosis.sentence, /^Collapsed: held_out 20\.7 → 0\.0 %/)
  })

  it("doubts a reward that also pays for answers without the reference, and says so once if the trend starts again", () => {
    assert.strictEqual(
      named("r2-hacked-besides").diagnosis.sentence,
      "Do not trust the reward: 11 of the 34 answers that earned 1 do not contain the reference answer."
    )
  })

  it("names length as the cause only if the reward pays for it", () => {
    assert.match(named("hacked-length").diagnosis.sentence, /length explains \d+ % of the differences of reward/)
    assert.deepStrictEqual(named("good-0").diagnosis.doubts, [])
  })

  it("does not judge a sign that has no healthy range", () => {
    const { signs } = named("good-0").diagnosis
    const found = signs.find(({ metric }) => metric === "update_norm")
    assert.deepInclude(found, { isHealthy: undefined, firstOutside: undefined, outside: 0 })
  })

  it("names the iteration since which a sign has been outside its range", () => {
    const { concerns } = named("collapsed-rate").diagnosis
    assert.deepStrictEqual(concerns.map(({ metric, outsideSince }) => [metric, outsideSince]), [[
      "env/all/truncated",
      2
    ]])
  })

  it("advises a program without rewards to train longer, not to find informative groups", () => {
    assert.strictEqual(named("dpo-flat").diagnosis.advice, "Train for longer, or raise the learning rate")
    assert.include(named("flat-0").diagnosis.advice ?? "", "informative groups")
  })

  it("judges a distillation by its divergence from the teacher, not by its rewards", () => {
    const { records } = named("hopeless-1").story
    const distilled = (klOf: (iteration: number) => number) =>
      Diagnosis.of(
        Story.fromRecords(records.map((record) =>
          record._tag === "Updated"
            ? { ...record, metrics: { ...record.metrics, teacher_kl: klOf(record.iteration) } }
            : record
        )),
        { isWritten: false }
      )
    const { kind, numbers, sentence } = distilled((iteration) => 1 / (1 + iteration))
    assert.deepStrictEqual([kind, numbers?.measure], ["learned", "teacher_kl"])
    assert.match(sentence, /^Learned: teacher_kl 0\.750 → 0\.134 nats in 8 iterations/)
    assert.strictEqual(distilled(() => 1).kind, "unchanged")
    assert.strictEqual(distilled((iteration) => iteration === 3 ? 0.1 : 1 + iteration).level, "bad")
  })

  it("gives no verdict on a run that has just begun", () => {
    const { records } = named("good-0").story
    const diagnosis = Diagnosis.of(Story.fromRecords(records.slice(0, 20)), { isWritten: true })
    assert.deepInclude(diagnosis, { kind: "untold", level: "none" })
  })

  it("judges an unfinished run by its records so far", () => {
    const { records } = named("killed-0").story
    assert.strictEqual(Diagnosis.of(Story.fromRecords(records), { isWritten: true }).kind, "learning")
    assert.strictEqual(Diagnosis.of(Story.fromRecords(records), { isWritten: false }).kind, "killed")
  })
})
