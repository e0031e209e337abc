/** Texts that environments logged. */
import { useState } from "preact/hooks"
import type * as Entry from "../story/Entry.ts"
import { type Child, empty, h, part } from "./Dom.ts"
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
