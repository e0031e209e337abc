/** The same few problems, answered again as the policy learns. */
import { type Evaluator, GroupResult, RunStore, type Trajectory } from "@effect-rl/core"
import * as AtomicFile from "@effect-rl/files/file/AtomicFile"
import * as FileFailure from "@effect-rl/files/file/FileFailure"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import type { PlatformError } from "effect/PlatformError"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as Quantity from "../terminal/Quantity.ts"
import type { Style } from "../terminal/Style.ts"
import * as Untrusted from "../terminal/Untrusted.ts"

const Answer = Schema.Struct({ step: Schema.Int, response: Schema.String, reward: Schema.Number })

const Transcript = Schema.Struct({
  evaluator: Schema.String,
  problem: Schema.String,
  question: Schema.String,
  reference: Schema.String,
  answers: Schema.Array(Answer)
})
export interface Transcript extends Schema.Schema.Type<typeof Transcript> {}

const File = Schema.fromJsonString(Schema.Array(Transcript))

/** How many problems are followed: the first, and others at equal distances. */
const followed = 3

const chosen = (groups: ReadonlyArray<GroupResult.GroupResult>) => {
  const count = Math.min(followed, groups.length)
  return Array.from({ length: count }, (_, index) => Math.floor((index * groups.length) / count)).flatMap((at) =>
    groups.slice(at, at + 1)
  )
}

type Logs = Trajectory.Transition["logs"]

/** What a turn reports, in lines. */
const turnLines = (logs: Logs) => Object.entries(logs).map(([name, value]) => `${name}: ${value}`)

/** What was said, turn by turn. */
const said = ({ transitions }: Trajectory.Trajectory) =>
  transitions.flatMap(({ logs }) => Object.hasOwn(logs, "response") ? [logs["response"]] : turnLines(logs)).join("\n")

const transcriptOf = (
  { name }: Evaluator.Evaluation,
  step: number,
  group: GroupResult.GroupResult
): ReadonlyArray<Transcript> => {
  if (GroupResult.isSkipped(group)) return []
  return GroupResult.survivors(group).slice(0, 1).flatMap(([member, trajectory]) => {
    const logs = trajectory.transitions.at(-1)?.logs ?? {}
    const text = (field: string) => String(logs[field] ?? "")
    const answer = { step, response: said(trajectory), reward: group.rewardsG[member] ?? NaN }
    return [{
      evaluator: name,
      problem: group.key,
      question: text("question") || group.key,
      reference: text("reference"),
      answers: [answer]
    }]
  })
}

/** The followed problems of one evaluation of the policy after `step` steps. */
export const of = (evaluation: Evaluator.Evaluation, step: number): ReadonlyArray<Transcript> =>
  chosen(evaluation.groups).flatMap((group) => transcriptOf(evaluation, step, group))

/** Adds newer answers to the same problems; an answer after the same step is replaced. */
export const merge = (
  older: ReadonlyArray<Transcript>,
  newer: ReadonlyArray<Transcript>
): ReadonlyArray<Transcript> => {
  const merged = new Map(older.map((transcript) => [`${transcript.evaluator} ${transcript.problem}`, transcript]))
  for (const transcript of newer) {
    const key = `${transcript.evaluator} ${transcript.problem}`
    const steps = new Set(transcript.answers.map(({ step }) => step))
    const kept = merged.get(key)?.answers.filter(({ step }) => !steps.has(step)) ?? []
    merged.set(key, { ...transcript, answers: [...kept, ...transcript.answers] })
  }
  return [...merged.values()]
}

const failure = (file: string) => (error: PlatformError) =>
  new RunStore.RunError({ run: file, detail: FileFailure.describe(file, error) })

const decode = (file: string, text: string) =>
  Effect.catch(Schema.decodeUnknownEffect(File)(text), (error) =>
    Effect.as(
      Effect.logWarning(`${file} is broken, and answers kept in it are left out of the report: ${error.message}`),
      []
    ))

/** None before the first evaluation; none, with a warning, where the file is broken: a run does not depend on it. */
export const read = Effect.fnUntraced(function*(file: string) {
  const fs = yield* FileSystem.FileSystem
  if (!(yield* fs.exists(file))) return []
  return yield* decode(file, yield* fs.readFileString(file))
}, (effect, file) => Effect.mapError(effect, failure(file)))

export const write = Effect.fnUntraced(function*(file: string, transcripts: ReadonlyArray<Transcript>) {
  const text = `${JSON.stringify(transcripts, null, 2)}\n`
  yield* AtomicFile.write(file, Stream.encodeText(Stream.succeed(text)))
}, (effect, file) => Effect.mapError(effect, failure(file)))

const answerLines = ({ response, reward, step }: typeof Answer.Type, style: Style) => [
  `  after ${Quantity.steps(step)}, reward ${(reward > 0.5 ? style.good : style.bad)(reward.toFixed(1))}:`,
  ...Untrusted.showLines(response.trim()).split("\n").map((line) => style.dim(`    ${line}`))
]

/** First and last answer to each problem. */
export const lines = (transcripts: ReadonlyArray<Transcript>, style: Style): ReadonlyArray<string> =>
  transcripts.flatMap(({ answers, question, reference }) => {
    const ends = [...new Set([...answers.slice(0, 1), ...answers.slice(-1)])]
    return [
      style.bold(Untrusted.show(reference === "" ? question : `${question} (${reference})`)),
      ...ends.flatMap((answer) => answerLines(answer, style))
    ]
  })
