/** The end of the run's log. */
import * as Quantity from "@effect-rl/core/report/Quantity"
import type { LogTail } from "../story/Entry.ts"
import { type Child, h, panel } from "./Dom.ts"
import * as Text from "./Text.ts"

const most = 200

/** The end of the log; collapsed unless the run ended badly. */
export const panelOf = (tail: LogTail | undefined, isOpen: boolean): Child => {
  if (tail === undefined || tail.lines.length === 0) return undefined
  const { isCut, lines } = tail
  const shown = lines.slice(-most)
  const of = isCut || shown.length < lines.length ? `its last ${Quantity.plural(shown.length, "line")}` : "all of it"
  return panel(
    "Log",
    h(
      "details",
      { open: isOpen },
      h("summary", {}, `run.log, ${of}`),
      h("pre", { class: "log", tabindex: 0, "aria-label": "log" }, Text.foreign(shown.join("\n")))
    )
  )
}
