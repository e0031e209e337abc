/** A run's warnings and events, and its failures by reason. */
import type * as Story from "@effect-rl/core/story/Story"
import { type Child, h, panel, table } from "./Dom.ts"
import type * as Route from "./Route.ts"
import { link } from "./Screen.ts"
import * as Text from "./Text.ts"

const mostNotices = 50

export const noticePanel = ({ notices }: Story.Story<null>): Child =>
  notices.length === 0 ? undefined : panel(
    "Warnings and events",
    h(
      "ul",
      { class: "notices", tabindex: 0, "aria-label": "warnings and events" },
      ...notices.slice(-mostNotices).toReversed().map(({ at, kind, text }) =>
        h("li", { class: kind }, h("time", {}, Text.dateTime(at)), ` ${Text.foreign(text)}`)
      )
    )
  )

const meaning = (reason: string) =>
  reason === "retried" ? "replaced by another attempt" : "member lost or attempt failed"

/** Nothing if no member failed. */
export const failurePanel = ({ failures, struck }: Story.Story<null>, route: Route.Route): Child =>
  failures.size === 0 ? undefined : panel(
    "Failures by reason",
    table(
      ["reason", "number", "meaning", "newest"],
      [...failures].toSorted(([, left], [, right]) => right - left).map(([reason, number]) => {
        const group = struck.get(reason)
        const { evaluator, iteration, sequence } = group ?? {}
        return h(
          "tr",
          { key: reason },
          h("td", {}, Text.foreign(reason)),
          h("td", { class: "number" }, String(number)),
          h("td", {}, meaning(reason)),
          h(
            "td",
            {},
            group === undefined
              ? ""
              : link({ ...route, at: "group", iteration, evaluator, group: sequence }, Text.foreign(group.key))
          )
        )
      }),
      "failures by reason"
    )
  )
