/** Texts that environments logged. */
import type * as Entry from "../story/Entry.ts"
import { h, panel } from "./Dom.ts"
import * as Text from "./Text.ts"

/** Longer texts are cut until somebody asks for the rest. */
const longest = 20_000

/** A text of the model or the environment, exactly as text. */
export const block = (text: string): HTMLElement => {
  if (text.length <= longest) return h("pre", { dir: "auto" }, Text.foreign(text))
  const shown = h("pre", { dir: "auto" }, Text.foreign(text.slice(0, longest)))
  const more = h("button", {
    type: "button",
    click: (event) => {
      event.stopPropagation()
      shown.textContent = Text.foreign(text)
      more.remove()
    }
  }, `show all ${text.length} characters`)
  return h("div", {}, shown, more)
}

const textOf = (value: string | number | null) => typeof value === "string" ? value : Text.short(value)

/** Every logged value under its name. */
export const all = (logs: Entry.Logs): HTMLElement => {
  const entries = Object.entries(logs)
  if (entries.length === 0) return h("p", { class: "empty" }, "The environment logged no texts for this turn.")
  return h(
    "dl",
    { class: "logs" },
    ...entries.flatMap(([name, value]) => [h("dt", {}, Text.foreign(name)), h("dd", {}, block(textOf(value)))])
  )
}

const asked = ["question", "reference"]

/** What the environment asked, and the answer that it expects, where it logged them. */
export const question = (logs: Entry.Logs): ReadonlyArray<HTMLElement> => {
  const shown = Object.entries(logs).filter(([name]) => asked.includes(name))
  return shown.length === 0 ? [] : [panel("Problem", all(Object.fromEntries(shown)))]
}

/** What a member said: its response, or everything else that was logged. */
export const answer = (logs: Entry.Logs): HTMLElement => {
  const { response } = logs
  if (typeof response === "string") return block(response)
  return all(Object.fromEntries(Object.entries(logs).filter(([name]) => !asked.includes(name))))
}
