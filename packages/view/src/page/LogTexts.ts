/** Texts that environments logged. */
import * as LogNames from "@effect-rl/core/story/LogNames"
import { useState } from "preact/hooks"
import type * as Entry from "../story/Entry.ts"
import { type Child, empty, h, panel, part } from "./Dom.ts"
import * as Text from "./Text.ts"

/** Longer texts are cut until somebody asks for the rest. */
const longest = 20_000

/** A line of megabytes is laid out in pieces, and only those in sight, or a browser hangs. */
const pieceLength = 20_000

const pieces = (text: string) =>
  Array.from(
    { length: Math.ceil(text.length / pieceLength) },
    (_, index) => h("span", { class: "piece" }, text.slice(index * pieceLength, (index + 1) * pieceLength))
  )

const Block = ({ text }: { readonly text: string }) => {
  const [isWhole, show] = useState(false)
  const isShort = text.length <= longest
  if (isShort) return h("pre", { dir: "auto", tabindex: 0 }, Text.foreign(text))
  if (isWhole) return h("pre", { dir: "auto", tabindex: 0 }, ...pieces(Text.foreign(text)))
  return h(
    "div",
    {},
    h("pre", { dir: "auto", tabindex: 0 }, Text.foreign(text.slice(0, longest))),
    h(
      "button",
      { type: "button", onClick: () => show(true) },
      `show all ${text.length.toLocaleString()} characters`
    )
  )
}

/** A text of the model or the environment, exactly as text. */
export const block = (text: string): Child => part(Block, { text }, `block ${text.length}`)

const textOf = (value: string | number | null) => typeof value === "string" ? value : Text.short(value)

type Named = ReadonlyArray<readonly [name: string, value: string | number | null]>

const list = (entries: Named): Child => {
  if (entries.length === 0) return empty("The environment logged no texts for this turn.")
  return h(
    "dl",
    { class: "logs" },
    ...entries.flatMap(([name, value]) => [h("dt", {}, Text.foreign(name)), h("dd", {}, block(textOf(value)))])
  )
}

/** Every logged value under its name. */
export const all = (logs: Entry.Logs): Child => list(Object.entries(logs))

const kinds: Readonly<Record<Entry.SaidPart["kind"], string>> = {
  thinking: "thinking",
  text: "answer",
  call: "call of a tool",
  unread_call: "call that cannot be read"
}

/** The logs of a turn; its response part by part if it is more than text. */
export const ofTurn = ({ logs, said }: Entry.TurnView): Child => {
  const parts = said ?? []
  if (parts.every(({ kind }) => kind === "text")) return all(logs)
  const response: Named = parts.map(({ kind, text }) => [kinds[kind], text])
  const entries: Named = Object.entries(logs)
  const has = entries.some(([name]) => name === LogNames.response)
  return list([
    ...entries.flatMap((entry): Named => entry[0] === LogNames.response ? response : [entry]),
    ...(has ? [] : response)
  ])
}

const asked: ReadonlyArray<string> = [LogNames.question, LogNames.reference]

/** The environment's question and expected answer, if it logged them. */
export const question = (logs: Entry.Logs): ReadonlyArray<Child> => {
  const shown = Object.entries(logs).filter(([name]) => asked.includes(name))
  return shown.length === 0 ? [] : [panel("Problem", all(Object.fromEntries(shown)))]
}

const spoken = (pieces: ReadonlyArray<Entry.Piece>) => pieces.map(({ text }) => text).join("")

/** The last answer of a member: its response, the text of its tokens, or all other logs. */
export const answer = (turn: Entry.TurnView | undefined): Child => {
  if (turn === undefined) return empty("This member took no turn.")
  const { logs, pieces } = turn
  if (typeof logs[LogNames.response] === "string") return block(logs[LogNames.response])
  if (pieces !== null) return block(spoken(pieces))
  return all(Object.fromEntries(Object.entries(logs).filter(([name]) => !asked.includes(name))))
}
