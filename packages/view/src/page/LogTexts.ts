/** Views of logged texts and messages. */
import { useState } from "preact/hooks"
import type * as Entry from "../story/Entry.ts"
import { type Child, empty, h, part } from "./Dom.ts"
import * as Prose from "./Prose.ts"
import * as Text from "./Text.ts"

/** Longer texts are cut until the reader expands them. */
const longest = 20_000

/** Long lines are laid out in pieces, and only visible pieces are rendered: a line of megabytes would hang the browser. */
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

/** A text from the model or the environment, shown exactly. */
export const block = (text: string): Child => part(Block, { text }, `block ${text.length}`)

/** Texts longer than `whole` characters initially show only their last `kept` characters. */
interface Opening {
  readonly whole: number
  readonly kept: number
}

const opening: Opening = { whole: 8000, kept: 4000 }

/** The limits for a text in a narrow card. */
export const inCard: Opening = { whole: 1600, kept: 1000 }

interface WrittenProps extends Opening {
  readonly text: string
}

/** Where the shown end of a text begins: if possible, at a paragraph, line or word boundary within the last `kept` characters. */
const cutOf = ({ kept, text, whole }: WrittenProps) => {
  if (text.length <= whole) return 0
  const from = text.length - kept
  const near = (break_: string) => {
    const at = text.indexOf(break_, from)
    return at < 0 || at > text.length - kept / 2 ? undefined : at + break_.length
  }
  return near("\n\n") ?? near("\n") ?? near(" ") ?? from
}

const Written = (props: WrittenProps) => {
  const [isWhole, show] = useState(false)
  const { text } = props
  const cut = cutOf(props)
  const end = h("div", { class: "prose", dir: "auto", tabindex: 0 }, ...Prose.nodes(Text.foreign(text.slice(cut))))
  if (cut === 0) return end
  return h(
    "div",
    {},
    isWhole ? h("pre", { dir: "auto", tabindex: 0 }, ...pieces(Text.foreign(text.slice(0, cut)))) : undefined,
    h(
      "button",
      { type: "button", "aria-expanded": String(isWhole), onClick: () => show(!isWhole) },
      `${isWhole ? "hide" : "show"} the ${cut.toLocaleString()} characters before`
    ),
    end
  )
}

/** A model's text, formatted for reading. A long text initially shows its end, which contains the answer. */
export const written = (text: string, { kept, whole }: Opening = opening): Child =>
  part(Written, { text, kept, whole }, `written ${text.length}`)

/** A prompt's text, formatted for reading. A long text initially shows its beginning. */
export const asked = (text: string): Child => text.length <= opening.whole ? written(text) : block(text)

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

/** All logged values with their names. */
export const all = (logs: Entry.Logs): Child => list(Object.entries(logs))
