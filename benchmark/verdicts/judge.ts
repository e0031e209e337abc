/**
 * Judges every labelled run of `packages/core/test/fixtures/verdicts`, and says which verdicts are right. A run counts as held out while
 * nothing of the verdict has been changed since it was made.
 */
import { RunRecord } from "@effect-rl/core"
import { type Audit, Diagnosis, Recorded, Story } from "@effect-rl/core/records"
import { Schema } from "effect"
import { execFileSync } from "node:child_process"
import { readdirSync, readFileSync, statSync } from "node:fs"
import { join } from "node:path"
import { gunzipSync } from "node:zlib"
import * as Report from "../Report.ts"

const root = join(import.meta.dirname, "../..")
const folder = join(root, "packages/core/test/fixtures/verdicts")

/** What a verdict is made of, beside the records. */
const sources = ["Diagnosis.ts", "diagnosis", "Audit.ts", "audit"].map((name) => join("packages/core/src/report", name))

/** The newest commit that changed any of the paths, with its time. */
const lastCommit = (...paths: ReadonlyArray<string>) => {
  const [hash = "", time = "0"] = execFileSync("git", ["log", "-1", "--format=%h %ct", "--", ...paths], {
    cwd: root,
    encoding: "utf8"
  }).trim().split(" ")
  return { hash, at: 1000 * Number(time) }
}

const decode = Schema.decodeUnknownSync(RunRecord.codec)

interface Kept {
  readonly name: string
  readonly label: ReadonlyArray<Diagnosis.Kind>
  readonly isWritten: boolean
  readonly findings: ReadonlyArray<Audit.Finding>
}

interface Judged extends Kept {
  readonly program: string
  readonly model: string
  readonly made: number
  readonly diagnosis: Diagnosis.Diagnosis
  readonly isRight: boolean
}

const judge = (file: string): Judged => {
  const [head = "", ...lines] = gunzipSync(readFileSync(join(folder, file))).toString().split("\n")
  const kept: Kept = JSON.parse(head)
  const story = Story.fromRecords(lines.map((line) => Recorded.make(decode(JSON.parse(line)))))
  const diagnosis = Diagnosis.of(story, kept)
  const { at = 0 } = story.records[0] ?? {}
  const { dataset, model } = story.opened?.identity ?? {}
  const [task = ""] = typeof dataset === "string" ? dataset.split("/") : []
  return {
    ...kept,
    program: task === "" ? story.opened?.program ?? "" : task,
    model: String(model).replace("effect-rl/", ""),
    made: at,
    diagnosis,
    isRight: kept.label.includes(diagnosis.kind)
  }
}

const verdict = lastCommit(...sources)
const labels = lastCommit("benchmark/verdicts/Plans.ts")
const runs = readdirSync(folder).toSorted().map(judge)
const heldOut = runs.filter(({ made }) => made > verdict.at)
const tuned = runs.filter(({ made }) => made <= verdict.at)

const isGood = ({ label }: Judged) => label.includes("learned") || label.includes("solved")
const isBad = ({ label }: Judged) => label.includes("suspect") || label.includes("failed")

const summary = (name: string, of: ReadonlyArray<Judged>) => [
  name,
  `${of.length}`,
  `${of.filter(({ isRight }) => isRight).length}`,
  of.length === 0 ? "–" : `${(100 * Report.mean(of.map(({ isRight }) => Number(isRight)))).toFixed(1)} %`,
  `${of.filter((run) => isGood(run) && run.diagnosis.level === "bad").length} of ${of.filter(isGood).length}`,
  `${of.filter((run) => isBad(run) && run.diagnosis.level === "good").length} of ${of.filter(isBad).length}`
]

const table = (of: ReadonlyArray<Judged>) =>
  Report.table(
    ["run", "task", "model", "planted", "verdict", "right", "sentence"],
    of.map(({ diagnosis: { kind, sentence }, isRight, label, model, name, program }) => [
      name,
      program,
      model,
      label.join(" or "),
      kind,
      isRight ? "yes" : "**no**",
      sentence.replaceAll("|", "\\|").slice(0, 160)
    ])
  )

const size = readdirSync(folder).reduce((sum, file) => sum + statSync(join(folder, file)).size, 0) / 2 ** 20
const date = (at: number) => new Date(at).toISOString().slice(0, 16).replace("T", " ")

/** Rounds that were held out once, as they were judged before anything was changed for them. */
const earlier = [
  ["first", "17", "16", "94.1 %", "`held-hacked-length` was called learned: the rule of `surface_reward` was changed"]
]

Report.publish("verdicts", "Verdicts on labelled runs", [
  `\`node --conditions=@effect-rl/source benchmark/verdicts/judge.ts\`. The verdict was last changed in ${verdict.hash} (${
    date(verdict.at)
  } UTC), the plans with their labels in ${labels.hash} (${
    date(labels.at)
  }). A label is what was planted, written before the run was made; a run is held out while the verdict has not been changed since it
was made. \`benchmark/verdicts/main.ts ROUND\` makes the runs of a round, whose seeds, sizes, rates, algorithms and faults its number draws;
their records and what an audit found are kept without transcripts, ${size.toFixed(1)} MB compressed.`,
  Report.table(
    ["", "runs", "right", "share", "good runs called bad", "hacked or failed runs called good"],
    [summary("held out", heldOut), summary("tuned on", tuned)]
  ),
  "Rounds that were held out before, as they were judged then:",
  Report.table(["round", "runs", "right", "share", "what was wrong"], earlier),
  "## Held out",
  table(heldOut),
  "## Tuned on",
  table(tuned)
])
