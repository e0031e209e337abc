/** The transcript of a member: what each turn logged, and its tokens with their log-probabilities. */
import type * as Entry from "../story/Entry.ts"
import { h, panel, table } from "./Dom.ts"
import { tone } from "./GroupScreen.ts"
import { groupOf } from "./IterationScreen.ts"
import * as LogTexts from "./LogTexts.ts"
import type { Data, Screen } from "./Screen.ts"
import * as Text from "./Text.ts"

/** Five shades, from tokens that were certain to surprising ones. */
const shade = (logprob: number | null | undefined) =>
  logprob === null || logprob === undefined ? 0 : Math.min(4, Math.floor(-logprob))

/** Beyond so many tokens a turn shows its first ones. */
const mostTokens = 4000

const tokenStrip = ({ logprobs, tokens }: Entry.TurnView) =>
  h(
    "p",
    { class: "tokens" },
    ...tokens.slice(0, mostTokens).map((token, at) =>
      h(
        "span",
        { class: `token shade-${shade(logprobs[at])}`, title: `log-probability ${Text.fixed(logprobs[at])}` },
        String(token)
      )
    ),
    tokens.length > mostTokens ? h("span", {}, `and ${tokens.length - mostTokens} more`) : undefined
  )

const promptStrip = ({ prompt }: Entry.TurnView) =>
  h(
    "details",
    {},
    h("summary", {}, `Prompt, ${Text.plural(prompt.length, "token")}`),
    h(
      "p",
      { class: "tokens" },
      ...prompt.slice(-mostTokens).map((token) =>
        h("span", { class: "token" }, token === null ? "image" : String(token))
      )
    )
  )

const metricTable = ({ metrics }: Entry.TurnView) => {
  const entries = Object.entries(metrics)
  return entries.length === 0 ? undefined : table(
    ["metric", "value"],
    entries.map(([name, value]) =>
      h(
        "tr",
        {},
        h("td", {}, Text.foreign(name)),
        h("td", { class: "number" }, typeof value === "boolean" ? (value ? "yes" : "no") : Text.short(value))
      )
    ),
    "metrics"
  )
}

const meanLogprob = ({ logprobs }: Entry.TurnView) =>
  logprobs.reduce((sum: number, logprob) => sum + (logprob ?? 0), 0) / logprobs.length

const turnPanel = (turn: Entry.TurnView, index: number) =>
  panel(
    `Turn ${index}`,
    h(
      "p",
      { class: "facts" },
      [
        `reward ${Text.short(turn.reward)}`,
        `ended by ${turn.stopReason}`,
        `mean log-probability ${Text.fixed(meanLogprob(turn))}`,
        ...(turn.trainable ? [] : ["not trained on"]),
        ...(turn.fork === null ? [] : [`prompt does not continue the last turn: ${turn.fork}`])
      ].join(" · ")
    ),
    LogTexts.all(turn.logs),
    metricTable(turn),
    h("h3", {}, `Sampled, ${Text.plural(turn.tokens.length, "token")}`),
    tokenStrip(turn),
    promptStrip(turn)
  )

const legend = h(
  "p",
  { class: "facts" },
  "token colour by −log-probability: ",
  ...["below 1", "1 to 2", "2 to 3", "3 to 4", "4 and more"].map((text, at) =>
    h("span", { class: `token shade-${at}` }, text)
  )
)

const summary = (data: Data, member: Entry.MemberView, index: number) => {
  const reward = data.transcript?.rewards[index]
  const advantage = groupOf(data).advantages[index]
  return h(
    "p",
    { class: "summary" },
    h("span", { class: tone(reward, 0.5) }, `reward ${Text.short(reward)}`),
    advantage === undefined ? " · not trained on" : " · ",
    advantage === undefined
      ? undefined
      : h("span", { class: tone(advantage, 0) }, `advantage ${Text.short(advantage)}`),
    ` · ${member.stopReason ?? "no stop reason"} · sampled with weights of optimizer step ${
      data.transcript?.samplerStep ?? "–"
    }`
  )
}

export const render = (data: Data): Screen => {
  const { route, transcript } = data
  const index = route.member ?? 0
  const member = transcript?.members[index]
  const choices = (transcript?.members ?? []).map((_, at) => ({ select: { ...route, member: at }, open: route }))
  const title = `Member ${index}`
  if (transcript === undefined) {
    return { title, body: [h("p", { class: "empty" }, "Reading the transcript …")], choices, selected: index }
  }
  if (member === null || member === undefined) {
    return { title, body: [h("p", { class: "empty" }, "This member was dropped.")], choices, selected: index }
  }
  return {
    title,
    body: [
      summary(data, member, index),
      ...(Object.keys(member.logs).length === 0 ? [] : [panel("Episode", LogTexts.all(member.logs))]),
      ...member.turns.map(turnPanel),
      legend
    ],
    choices,
    selected: index
  }
}
