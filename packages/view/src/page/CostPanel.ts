/** The cost of the run so far, its forecast, and its caps. */
import * as Quantity from "@effect-rl/core/report/Quantity"
import type * as Story from "@effect-rl/core/story/Story"
import * as Spending from "../story/Spending.ts"
import { cell, type Child, h, numberCell, panel, row, table } from "./Dom.ts"

const kinds = [["prefilled", "prompt tokens"], ["sampled", "sampled tokens"], ["trained", "trained tokens"]] as const

const capNames = {
  max_tokens_total: "tokens",
  max_dollars: "dollars",
  max_minutes: "minutes",
  max_judge_calls: "calls of judges"
}

const verdict = (spending: Spending.Spending, hasEnded: boolean) => {
  const { remaining, tokens: { expected } } = spending
  if (hasEnded) return "The run has ended."
  if (expected === undefined) return "A forecast needs one finished iteration and a known length."
  const time = remaining === undefined ? "" : ` and ${Quantity.duration(remaining)} more`
  const forecast = `At this pace the run takes ${Quantity.count(expected)} tokens in all${time}.`
  const stops = Spending.stopping(spending).map(({ cap, limit }) =>
    ` Its cap of ${Quantity.count(limit)} ${capNames[cap]} will stop it before.`
  )
  return forecast + stops.join("")
}

type Row = readonly [what: string, amount: string, dollars: string]

const tokenRows = (story: Story.Story<null>, { dollars, tokens }: Spending.Spending): ReadonlyArray<Row> => {
  const paid = Spending.dollarsOfKinds(story)
  const isCapped = tokens.limit !== undefined || dollars.limit !== undefined
  return [
    ...kinds.map(([kind, name]): Row => [
      name,
      Quantity.count(story.spent[kind]),
      paid === undefined ? "" : Quantity.dollars(paid[kind])
    ]),
    ["all tokens", Quantity.count(tokens.spent), Quantity.dollars(dollars.spent)],
    ...(story.end === undefined && tokens.expected !== undefined
      ? [["forecast", Quantity.count(tokens.expected), Quantity.dollars(dollars.expected)] as const]
      : []),
    ...(isCapped ? [["cap", Quantity.count(tokens.limit), Quantity.dollars(dollars.limit)] as const] : [])
  ]
}

const ofMinutes = (minutes: number) => Quantity.duration(60_000 * minutes)

/** Judge calls and minutes: used so far, forecast and limit. */
const otherRows = ({ judgeCalls, minutes }: Spending.Spending, hasEnded: boolean): ReadonlyArray<Row> =>
  ([["calls of judges", judgeCalls, Quantity.count], ["time", minutes, ofMinutes]] as const).flatMap(
    ([name, { expected, limit, spent = 0 }, show]) => {
      if (spent === 0 && limit === undefined) return []
      const parts = [
        show(spent),
        ...(hasEnded || expected === undefined ? [] : [`about ${show(expected)} in all`]),
        ...(limit === undefined ? [] : [`cap ${show(limit)}`])
      ]
      return [[name, parts.join(", "), ""] as const]
    }
  )

const purposeNames: Readonly<Record<Spending.Purpose["name"], string>> = {
  training: "rollouts of training",
  judges: "judges, other players, repeated attempts",
  evaluation: "evaluation",
  updates: "updates",
  other: "other"
}

/** The purposes of a story, recomputed only after a new record. */
const made = new WeakMap<
  Story.Story<null>,
  { readonly records: number; readonly purposes: ReadonlyArray<Spending.Purpose> }
>()

const purposesOf = (story: Story.Story<null>) => {
  const before = made.get(story)
  const { records: { length: records } } = story
  if (before?.records === records) return before.purposes
  const purposes = Spending.purposes(story)
  made.set(story, { records, purposes })
  return purposes
}

/** Prompt, sampled and trained tokens of each purpose. */
const purposeTable = (story: Story.Story<null>, hasPrices: boolean): Child => {
  const purposes = purposesOf(story)
  return purposes.length === 0 ? undefined : table(
    ["for", ...kinds.map(([, name]) => name), ...(hasPrices ? ["dollars"] : [])],
    purposes.map(({ dollars, name, ...tokens }) =>
      row(
        cell(purposeNames[name]),
        ...kinds.map(([kind]) => numberCell(tokens[kind] === 0 ? "" : Quantity.count(tokens[kind]))),
        hasPrices ? numberCell(dollars === undefined ? "" : Quantity.dollars(dollars)) : undefined
      )
    ),
    "cost by purpose"
  )
}

export const panelOf = (story: Story.Story<null>): Child => {
  const spending = Spending.make(story)
  const hasEnded = story.end !== undefined
  const rows = [...tokenRows(story, spending), ...otherRows(spending, hasEnded)]
  const hasPrices = spending.dollars.spent !== undefined
  return panel(
    "Cost",
    table(
      ["what", "amount", ...(hasPrices ? ["dollars"] : [])],
      rows.map(([what, amount, dollars]) =>
        row(cell(what), numberCell(amount), hasPrices ? numberCell(dollars) : undefined)
      ),
      "cost"
    ),
    h("p", { class: "verdict" }, verdict(spending, hasEnded)),
    purposeTable(story, hasPrices),
    hasPrices ? undefined : h("p", { class: "facts" }, "This run was given no prices: train --prices records dollars.")
  )
}
