/** The same few held-out problems, answered before and after training. */
import type { RunRecord, RunStore } from "@effect-rl/core"
import type { Trajectory } from "@effect-rl/core/environments"
import { GroupResult } from "@effect-rl/core/program"
import { GroupPayload } from "@effect-rl/core/records"
import * as Effect from "effect/Effect"
import * as Quantity from "../terminal/Quantity.ts"
import type { Style } from "../terminal/Style.ts"
import * as Untrusted from "../terminal/Untrusted.ts"
import type { RunHistory } from "./RunHistory.ts"

export interface Answer {
  readonly iteration: number
  readonly response: string
  readonly reward: number
}

export interface Transcript {
  readonly question: string
  readonly reference: string
  /** The first and the last. */
  readonly answers: ReadonlyArray<Answer>
}

/** How many problems are shown: the first, and others at equal distances. */
const shown = 3

const chosen = <A>(values: ReadonlyArray<A>): ReadonlyArray<A> => {
  const count = Math.min(shown, values.length)
  return Array.from({ length: count }, (_, index) => Math.floor((index * values.length) / count)).flatMap((at) =>
    values.slice(at, at + 1)
  )
}

const headline = new Set(["question", "reference"])

/** The logs of a turn as lines, without empty messages, such as those beside a tool call. */
const turnLines = (logs: Trajectory.Transition["logs"]) =>
  Object.entries(logs).flatMap(([name, value]) => value === "" || headline.has(name) ? [] : [`${name}: ${value}`])

/** The text of the turns. */
const said = ({ transitions }: Trajectory.Trajectory) =>
  transitions.flatMap(({ logs }) => Object.hasOwn(logs, "response") ? [logs["response"]] : turnLines(logs)).join("\n")

interface Attempt {
  readonly question: string
  readonly reference: string
  readonly answer: Answer
}

/** The first attempt of a group; undefined where it has none. */
const attempt = Effect.fnUntraced(function*(
  run: RunStore.RunReader,
  { iteration, key, payload }: RunRecord.GroupRolledOut
) {
  if (payload === undefined) return undefined
  const result = yield* GroupPayload.decode(yield* run.payload(payload))
  if (GroupResult.isSkipped(result)) return undefined
  const [first] = GroupResult.survivors(result)
  if (first === undefined) return undefined
  const [member, trajectory] = first
  const logs = trajectory.transitions.at(-1)?.logs ?? {}
  const found: Attempt = {
    question: String(logs["question"] ?? key),
    reference: String(logs["reference"] ?? ""),
    answer: { iteration, response: said(trajectory), reward: result.rewardsG[member] ?? NaN }
  }
  return found
})

/** Problems of the run's first evaluator, with their first and last answers. */
export const read = Effect.fnUntraced(function*(run: RunStore.RunReader, { records }: RunHistory) {
  const groups = records.flatMap((record) =>
    record._tag === "GroupRolledOut" && record.evaluator !== undefined ? [record] : []
  )
  const own = groups.filter(({ evaluator }) => evaluator === groups[0]?.evaluator)
  const keys = chosen([...new Set(own.map(({ key }) => key))].toSorted())
  return yield* Effect.forEach(keys, (key) => transcript(run, own.filter((group) => group.key === key)))
})

const transcript = Effect.fnUntraced(function*(
  run: RunStore.RunReader,
  groups: ReadonlyArray<RunRecord.GroupRolledOut>
) {
  const ends = [...new Set([...groups.slice(0, 1), ...groups.slice(-1)])]
  const attempts = (yield* Effect.forEach(ends, (group) => attempt(run, group))).filter((found) => found !== undefined)
  const made: Transcript = {
    question: attempts[0]?.question ?? "",
    reference: attempts[0]?.reference ?? "",
    answers: attempts.map(({ answer }) => answer)
  }
  return made
})

const noText = "(the environment logged no text; show --rollouts lists the turns)"

const answerLines = ({ iteration, response, reward }: Answer, style: Style) => [
  `  after ${Quantity.iterations(iteration)}, reward ${(reward > 0.5 ? style.good : style.bad)(reward.toFixed(1))}:`,
  ...Untrusted.showLines(response.trim() || noText).split("\n").map((line) => style.dim(`    ${line}`))
]

const inOneLine = (text: string) => Untrusted.show(text.replaceAll("\n", " ⏎ "))

export const lines = (transcripts: ReadonlyArray<Transcript>, style: Style): ReadonlyArray<string> =>
  transcripts.flatMap(({ answers, question, reference }) => [
    style.bold(inOneLine(reference === "" ? question : `${question} (${reference})`)),
    ...answers.flatMap((answer) => answerLines(answer, style))
  ])
