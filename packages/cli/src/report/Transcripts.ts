/** Answers to the same few held-out problems before and after training. */
import type { RunStore } from "@effect-rl/core"
import type { Trajectory } from "@effect-rl/core/environments"
import { Conversation, Quantity, type Recorded, Rollouts, Story } from "@effect-rl/core/records"
import * as Effect from "effect/Effect"
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
  /** The first and the last answer. */
  readonly answers: ReadonlyArray<Answer>
}

/** Number of problems shown: the first problem, and others at equal distances. */
const shown = 3

const chosen = <A>(values: ReadonlyArray<A>): ReadonlyArray<A> => {
  const count = Math.min(shown, values.length)
  return Array.from({ length: count }, (_, index) => Math.floor((index * values.length) / count)).flatMap((at) =>
    values.slice(at, at + 1)
  )
}

const callLine = ({ arguments: given, name, result }: Conversation.ToolUse) =>
  `${name}(${given})${result === undefined ? "" : ` → ${result}`}`

/**
 * A turn's messages, tool calls and other logs of the environment, without empty messages such as the text of a bare tool call. If the
 * environment logged nothing, the decoded tokens.
 */
const turnLines = (transition: Trajectory.Transition, turn: Conversation.Turn): ReadonlyArray<string> => {
  const lines = [
    ...(Conversation.isLogged(transition) ? [Conversation.text(turn.said)] : []),
    ...turn.tools.map(callLine),
    ...Conversation.others(transition).flatMap(([name, value]) => value === "" ? [] : [`${name}: ${value}`])
  ].filter((line) => line !== "")
  return lines.length === 0 ? [Conversation.saidText(turn)] : lines
}

const said = ({ transitions }: Trajectory.Trajectory, turns: ReadonlyArray<Conversation.Turn>) =>
  transitions.flatMap((transition, index) => {
    const turn = turns[index]
    return turn === undefined ? [] : turnLines(transition, turn)
  }).join("\n")

/** The text of the last user message before the first response; undefined if there is none or the prompt cannot be read. */
const asked = ([first]: ReadonlyArray<Conversation.Turn>) => {
  const message = first?.shown.findLast(({ role }) => role === "user")
  return message === undefined || Conversation.text(message) === "" ? undefined : Conversation.text(message)
}

interface Attempt {
  readonly question: string
  readonly reference: string
  readonly answer: Answer
}

/** The first attempt of a group; undefined if the group has none. */
const attempt = Effect.fnUntraced(function*(
  run: RunStore.RunReader,
  record: Recorded.Group,
  language: Conversation.Language | undefined
) {
  const { iteration, key } = record
  const result = yield* Rollouts.result(run, record)
  const [first] = result === undefined ? [] : Rollouts.members({ record, result, index: 0, advantages: [] })
  if (first === undefined) return undefined
  const { reward, trajectory } = first
  const turns = yield* Conversation.read(trajectory, language)
  const found: Attempt = {
    question: trajectory.task?.question ?? asked(turns) ?? key,
    reference: trajectory.task?.reference ?? "",
    answer: { iteration, response: said(trajectory, turns), reward }
  }
  return found
})

/**
 * Reads problems of the first evaluator that rolled out groups, with their first and last answers. Without a language, only what the
 * environments logged is shown.
 */
export const read = Effect.fnUntraced(function*(
  run: RunStore.RunReader,
  { story }: RunHistory,
  language?: Conversation.Language
) {
  const measured = Story.batches(story).filter(({ evaluator }) => evaluator !== undefined)
  const groups = measured.filter(({ evaluator }) => evaluator === measured[0]?.evaluator).flatMap(({ groups }) =>
    groups
  )
  const keys = chosen([...new Set(groups.map(({ key }) => key))].toSorted())
  return yield* Effect.forEach(keys, (key) => transcript(run, groups.filter((group) => group.key === key), language))
})

const transcript = Effect.fnUntraced(function*(
  run: RunStore.RunReader,
  groups: ReadonlyArray<Recorded.Group>,
  language: Conversation.Language | undefined
) {
  const ends = [...new Set([...groups.slice(0, 1), ...groups.slice(-1)])]
  const attempts = (yield* Effect.forEach(ends, (group) => attempt(run, group, language))).filter((found) =>
    found !== undefined
  )
  const made: Transcript = {
    question: attempts[0]?.question ?? "",
    reference: attempts[0]?.reference ?? "",
    answers: attempts.map(({ answer }) => answer)
  }
  return made
})

const noText = "(the environment logged no text; show --rollouts lists the turns)"

const answerLines = ({ iteration, response, reward }: Answer, style: Style) => [
  `  after ${Quantity.plural(iteration, "iteration")}, reward ${
    (reward > 0.5 ? style.good : style.bad)(reward.toFixed(1))
  }:`,
  ...Untrusted.showLines(response.trim() || noText).split("\n").map((line) => style.dim(`    ${line}`))
]

const inOneLine = (text: string) => Untrusted.show(text.replaceAll("\n", " ⏎ "))

export const lines = (transcripts: ReadonlyArray<Transcript>, style: Style): ReadonlyArray<string> =>
  transcripts.flatMap(({ answers, question, reference }) => [
    style.bold(inOneLine(reference === "" ? question : `${question} (${reference})`)),
    ...answers.flatMap((answer) => answerLines(answer, style))
  ])
