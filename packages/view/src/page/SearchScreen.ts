/** The hits of a text search in a run's transcripts. */
import * as Quantity from "@effect-rl/core/report/Quantity"
import type { Hit } from "../story/Entry.ts"
import * as Hits from "../story/Hits.ts"
import { cell, type Child, empty, h, panel, table } from "./Dom.ts"
import type { Route } from "./Route.ts"
import { type Choice, choosable, type Data, go, link, type Screen } from "./Screen.ts"
import * as Text from "./Text.ts"

const choiceOf = (route: Route, { evaluator, iteration, member, sequence }: Hit): Choice => ({
  select: { ...route, group: sequence, member },
  open: { at: "member", run: route.run, evaluator: evaluator ?? undefined, iteration, group: sequence, member }
})

const row = (hit: Hit, route: Route) => {
  const { after, before, evaluator, iteration, key, match, member, name, turn } = hit
  const choice = choiceOf(route, hit)
  const place = evaluator === null ? Text.iteration(iteration) : Text.measured(evaluator, iteration)
  return choosable(
    "tr",
    choice,
    route.group === hit.sequence && route.member === member,
    cell(Text.foreign(place)),
    cell(link(choice.open, `${Text.foreign(key)}, member ${member}, turn ${turn}`)),
    cell(Text.foreign(name)),
    h("td", { class: "hit" }, Text.foreign(before), h("mark", {}, Text.foreign(match)), Text.foreign(after))
  )
}

const state = ({ found: { end, hits }, route }: Data) => {
  if (route.text === undefined) {
    return "Prompts and answers are searched, and everything that environments logged."
  }
  if (end === undefined) return `Searching … ${Quantity.plural(hits.length, "hit")} so far.`
  const unread = end.reason === null ? "" : ` ${Quantity.plural(end.unread, "group")} cannot be read: ${end.reason}.`
  const searched = `${Quantity.plural(hits.length, "hit")} in ${Quantity.plural(end.groups, "group")}.${unread}`
  if (!end.isCut) return searched
  return hits.length < Hits.most
    ? `${searched} There may be more: this page does not have the transcripts of all groups.`
    : `${searched} There may be more: the search stops after ${Hits.most} hits.`
}

const field = (route: Route): Child =>
  h(
    "form",
    {
      role: "search",
      onSubmit: (event) => {
        event.preventDefault()
        const text = event.target instanceof HTMLFormElement ? new FormData(event.target).get("text") : null
        go({ at: "search", run: route.run, text: typeof text === "string" && text !== "" ? text : undefined })
      }
    },
    h("input", {
      type: "search",
      name: "text",
      class: "search",
      "aria-label": "text to search for",
      placeholder: "text in prompts, answers and logs",
      key: route.text ?? "",
      defaultValue: route.text ?? ""
    }),
    " ",
    h("button", { type: "submit" }, "search")
  )

export const render = (data: Data): Screen => {
  const { found: { end, hits }, route } = data
  return {
    title: route.text === undefined ? "Search" : `Search for “${Text.foreign(route.text)}”`,
    body: [
      panel("Search", field(route), h("p", { class: "verdict", role: "status" }, state(data))),
      hits.length === 0
        ? end === undefined ? undefined : empty("Nothing was found.")
        : panel(
          "Found",
          table(["where", "group and member", "text", "hit"], hits.map((hit) => row(hit, route)), "hits")
        )
    ],
    choices: hits.map((hit) => choiceOf(route, hit)),
    selected: hits.findIndex(({ member, sequence }) => sequence === route.group && member === route.member)
  }
}
