/**
 * Judges every labelled run in `packages/core/test/fixtures/verdicts`, and says which verdicts are correct. A run counts as held out if the
 * diagnosis rules have not changed since it was made.
 */
import { RunRecord } from "@effect-rl/core"
import { type Audit, Diagnosis, Recorded, Story } from "@effect-rl/core/records"
import { Schema } from "effect"
import { readdirSync, readFileSync, statSync } from "node:fs"
import { join } from "node:path"
import { gunzipSync } from "node:zlib"
import * as Report from "../Report.ts"
import * as Plans from "./Plans.ts"

const folder = join(import.meta.dirname, "../../packages/core/test/fixtures/verdicts")

/** When the diagnosis rules were last changed; later commits only moved code. Update it with every change of the rules. */
const rules = { at: Date.parse("2026-11-28T11:50:37+00:00") }

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
  const { model } = story.opened?.identity ?? {}
  return {
    ...kept,
    program: story.opened?.program ?? "",
    model: String(model).replace("effect-rl/", ""),
    made: at,
    diagnosis,
    isRight: kept.label.includes(diagnosis.kind)
  }
}

/** The number of the newest planned round. */
const newestRound = 3

const runs = readdirSync(folder).toSorted().map(judge)
const heldOut = runs.filter(({ made }) => made > rules.at)
const tuned = runs.filter(({ made }) => made <= rules.at)

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

/** Plans of the newest round that have not been run yet. */
const lacking = Plans.round(newestRound).map(({ name }) => name).filter((name) =>
  !runs.some((run) => run.name === name)
)

const table = (of: ReadonlyArray<Judged>) =>
  Report.table(
    ["run", "program", "model", "planted", "verdict", "right", "sentence"],
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

/** Former held-out rounds, as they were judged before anything was changed for them. */
const earlier = [
  ["first", "17", "16", "94.1 %", "`held-hacked-length` was called learned: the rule of `surface_reward` was changed"],
  [
    "second",
    "35",
    "29",
    "82.9 %",
    "`r2-hopeless-words` and `r2-collapsed-calculator` were called unchanged, `r2-negated` suspect, `r2-hacked-besides` learned and \
`r2-hacked-even` unchanged: the rules of hopeless and collapsed runs, of `dominance` and of `unfounded_reward` were changed. \
`r2-good-distilled` was called unchanged, which it is: its teacher is no better than the student"
  ]
]

Report.publish("verdicts", "Verdicts on labelled runs", [
  `Made by \`npm run bench:verdicts\`. The rules for verdicts were last changed on ${
    date(rules.at)
  } UTC. A run's label, which names its planted
problem or says that it is good, was committed before the run was made; a run counts as held out until the rules
are changed again. \`benchmark/verdicts/main.ts ROUND\` makes the runs of a round; the number of the round determines their seeds, sizes, rates,
algorithms and faults. The runs' records and audit findings are stored without transcripts, ${
    size.toFixed(1)
  } MB compressed.`,
  Report.table(
    ["", "runs", "right", "share", "good runs called bad", "hacked or failed runs called good"],
    [...(heldOut.length === 0 ? [] : [summary("held out", heldOut)]), summary("tuned on", tuned)]
  ),
  "Earlier held-out rounds, as judged at that time:",
  Report.table(["round", "runs", "right", "share", "what was wrong"], earlier),
  ...(heldOut.length > 0 ? [] : [
    `No run has been made since the rules were last changed. **The newest held-out share is that of the last of these rounds**; the runs below
only show how well the rules fit the runs for which they were written.`
  ]),
  ...(lacking.length === 0 ? [] : [`Planned but not made: ${lacking.join(", ")}.`]),
  ...(heldOut.length === 0 ? [] : ["## Held out", table(heldOut)]),
  "## Tuned on",
  table(tuned)
])
