/** A turn's messages: those shown to the policy, and the response with its tool calls and their results. */
import * as Quantity from "@effect-rl/core/report/Quantity"
import * as LogNames from "@effect-rl/core/story/LogNames"
import type * as Entry from "../story/Entry.ts"
import { type Child, empty, h } from "./Dom.ts"
import * as LogTexts from "./LogTexts.ts"
import * as Text from "./Text.ts"

type Message = Entry.MemberView["messages"][number]

/** A named part of a conversation. A collapsed part shows its name and length until it is opened. */
interface Part {
  readonly name: string
  readonly text: string
  readonly isFolded: boolean
}

const contentOf = ({ content }: Message): string =>
  typeof content === "string"
    ? content
    : (content ?? []).map((part) => part.type === "text" ? part.text : "⟨image⟩").join("\n")

const open = (name: string, text: string): Part => ({ name, text, isFolded: false })
const folded = (name: string, text: string): Part => ({ name, text, isFolded: true })

/** The tools, each as its name, description and parameters. */
const toolsOf = ({ tools }: Entry.MemberView): ReadonlyArray<Part> =>
  tools.length === 0 ? [] : [folded(
    `${tools.length === 1 ? "tool" : "tools"}: ${tools.map(({ function: { name } }) => name).join(", ")}`,
    tools.map(({ function: { description, name, parameters } }) =>
      [name, description, JSON.stringify(parameters, null, 2)].join("\n")
    ).join("\n\n")
  )]

/** Tool results by call id; they are shown with their calls. */
const resultsOf = ({ messages }: Entry.MemberView): ReadonlyMap<string, string> =>
  new Map(
    messages.flatMap((message) =>
      message.role === "tool" && message.tool_call_id !== undefined ? [[message.tool_call_id, contentOf(message)]] : []
    )
  )

const hasTools = (text: string) => text.includes("<tools>") || text.includes("# Tools")

const shownPart = (message: Message): ReadonlyArray<Part> => {
  const text = contentOf(message)
  switch (message.role) {
    case "system":
    case "developer":
      return [folded(hasTools(text) ? `${message.role}, with tools` : message.role, text)]
    case "tool":
      return message.tool_call_id === undefined ? [open("result", text)] : []
    default:
      return [open(message.role, text)]
  }
}

/** The response's parts as the renderer parsed them, or else as the message has them. */
const responseParts = (turn: Entry.TurnView, message: Message): ReadonlyArray<Entry.SaidPart> => {
  if (turn.said !== null) return turn.said
  const [reasoning, text] = [message.reasoning_content ?? "", contentOf(message)]
  const calls = message.tool_calls ?? []
  return [
    ...(reasoning === "" ? [] : [{ kind: "thinking", text: reasoning } as const]),
    ...(text === "" && calls.length > 0 ? [] : [{ kind: "text", text } as const]),
    ...calls.map(({ function: { arguments: given, name } }) => ({ kind: "call", text: `${name}(${given})` }) as const)
  ]
}

const saidParts = (
  turn: Entry.TurnView,
  message: Message,
  results: ReadonlyMap<string, string>
): ReadonlyArray<Part> => {
  const calls = message.tool_calls ?? []
  let call = 0
  return responseParts(turn, message).flatMap(({ kind, text }): ReadonlyArray<Part> => {
    switch (kind) {
      case "thinking":
        return [folded("thinking", text)]
      case "text":
        return [open("answer", text)]
      case "unread_call":
        return [open("call that cannot be read", text)]
      case "call": {
        const result = results.get(calls[call++]?.id ?? "")
        return [open("call of a tool", text), ...(result === undefined ? [] : [open("result", result)])]
      }
    }
  })
}

/** Opens a turn's only part, and reasoning that no answer follows. */
const isNeeded = (part: Part, index: number, parts: ReadonlyArray<Part>): Part =>
  parts.length === 1 || (part.name === "thinking" && index === parts.length - 1) ? { ...part, isFolded: false } : part

/** Prose is formatted for reading; tool calls, results and other logs are shown exactly. */
const textOf = ({ name, text }: Part): Child => {
  switch (name) {
    case "answer":
    case "thinking":
    case "assistant":
      return LogTexts.written(text)
    case "user":
      return LogTexts.asked(text)
    default:
      return LogTexts.block(text)
  }
}

const draw = (part: Part): ReadonlyArray<Child> => [
  h("dt", {}, Text.foreign(part.name)),
  h(
    "dd",
    { class: `said-${part.name.replace(/\W.*$/, "")}` },
    part.isFolded
      ? h("details", {}, h("summary", {}, Quantity.plural(part.text.length, "character")), textOf(part))
      : textOf(part)
  )
]

/** The turn's other logs. */
const others = ({ logs }: Entry.TurnView): ReadonlyArray<Part> =>
  Object.entries(logs).flatMap(([name, value]) =>
    LogNames.isSaid(name) || value === null ? [] : [open(name, String(value))]
  )

/** The conversation of a turn. */
export const ofTurn = (member: Entry.MemberView, turn: Entry.TurnView): Child => {
  const { place: { first, response } } = turn
  const said = member.messages[response]
  const parts = said === undefined ? [] : saidParts(turn, said, resultsOf(member)).map(isNeeded)
  const tools = first === 0 ? toolsOf(member) : []
  const all = [...tools, ...member.messages.slice(first, response).flatMap(shownPart), ...parts, ...others(turn)]
  return all.length === 0
    ? empty("The environment logged no texts for this turn.")
    : h("dl", { class: "logs" }, ...all.flatMap(draw))
}

/** The member's question: the user messages of its first turn. */
export const question = (member: Entry.MemberView | undefined): string => {
  const [turn] = member?.turns ?? []
  if (member === undefined || turn === undefined) return ""
  const asked = member.messages.slice(turn.place.first, turn.place.response).filter(({ role }) => role === "user")
  return asked.map(contentOf).join("\n\n")
}

/** A member's last response with its tool calls. If it was cut off before an answer, its reasoning. */
export const answer = (member: Entry.MemberView): Child => {
  const turn = member.turns.at(-1)
  const said = turn === undefined ? undefined : member.messages[turn.place.response]
  if (turn === undefined || said === undefined) return empty("This member took no turn.")
  const all = responseParts(turn, said)
  const parts = all.filter(({ kind }) => kind !== "thinking")
  return LogTexts.written((parts.length === 0 ? all : parts).map(({ text }) => text).join("\n"), LogTexts.inCard)
}

const shortest = 40

/** A one-line summary of a turn, for an outline. */
export const gist = (member: Entry.MemberView, turn: Entry.TurnView): string => {
  const said = member.messages[turn.place.response]
  const parts = said === undefined ? [] : responseParts(turn, said)
  const told = (parts.find(({ kind }) => kind === "call") ?? parts.findLast(({ kind }) => kind === "text"))?.text ?? ""
  const line = told.trim().replace(/\s+/g, " ")
  return line.length > shortest ? `${line.slice(0, shortest)} …` : line
}
