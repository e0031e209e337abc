/** A member's transcript: each turn's logged messages, or its exact tokens. */
import * as Statistics from "@effect-rl/core/records/Statistics"
import * as Quantity from "@effect-rl/core/report/Quantity"
import * as Story from "@effect-rl/core/story/Story"
import type * as Entry from "../story/Entry.ts"
import { cell, type Child, copy, dotted, empty, h, numberCell, panel, table } from "./Dom.ts"
import { tone } from "./GroupScreen.ts"
import * as LogTexts from "./LogTexts.ts"
import * as Messages from "./Messages.ts"
import * as Minimap from "./Minimap.ts"
import * as Replay from "./Replay.ts"
import type { Route } from "./Route.ts"
import { type Data, link, type Screen, waiting } from "./Screen.ts"
import * as Text from "./Text.ts"
import * as TokenStrip from "./TokenStrip.ts"
import * as TokenView from "./TokenView.ts"
import * as TurnLanes from "./TurnLanes.ts"

const metricTable = (metrics: Entry.TurnView["metrics"], label: string): Child => {
  const entries = Object.entries(metrics)
  return entries.length === 0 ? undefined : table(
    ["metric", "value"],
    entries.map(([name, value]) =>
      h(
        "tr",
        { key: name },
        cell(Text.foreign(name)),
        numberCell(typeof value === "boolean" ? (value ? "yes" : "no") : Text.short(value))
      )
    ),
    label
  )
}

const meanLogprob = ({ logprobs }: Entry.TurnView) => Statistics.mean(logprobs.map((logprob) => logprob ?? 0))

const branch = ({ branch }: Entry.TurnView): Child =>
  branch === null ? undefined : h(
    "p",
    { class: "branch" },
    `⑂ The prompt ${branch.after < 0 ? "begins from the start" : `continues after turn ${branch.after}`} (${
      Text.foreign(branch.reason)
    }).`
  )

const turnFacts = (turn: Entry.TurnView): ReadonlyArray<Child> =>
  dotted([
    h("span", { class: tone(turn.reward, 0) }, `reward ${Text.short(turn.reward)}`),
    `ended by ${turn.stopReason}`,
    `mean log-probability ${Quantity.fixed(meanLogprob(turn))}`,
    Quantity.plural(turn.tokens.length, "token"),
    ...(turn.times === null
      ? []
      : [
        `policy ${Quantity.duration(turn.times.sampling)}`,
        `environment ${Quantity.duration(turn.times.environment)}`
      ]),
    ...(turn.credit.masked === null ? [] : [`not trained on: ${turn.credit.masked}`])
  ])

const turnPanel = (
  { isLive, route, transcript }: Data,
  member: Entry.MemberView,
  turn: Entry.TurnView,
  index: number
): Child =>
  panel(
    `Turn ${index}`,
    branch(turn),
    turn.departure === null ? undefined : h(
      "p",
      { class: "branch" },
      `The prompt, rendered again from these messages, differs at ${Text.foreign(turn.departure)}.`
    ),
    h("p", { class: "facts" }, ...turnFacts(turn)),
    ...(route.tokens === true
      ? [
        TokenView.draw({
          turn,
          index,
          scale: transcript === undefined ? 0 : TokenStrip.scaleOf(transcript),
          route,
          isLive,
          difference: transcript === undefined ? undefined : Minimap.differenceOf(transcript, route.member ?? 0)
        }),
        TokenStrip.promptStrip(turn)
      ]
      : [Messages.ofTurn(member, turn), metricTable(turn.metrics, `metrics of turn ${index}`)])
  )

/** Maximum characters of the question in the sticky header. */
const mostAsked = 240

/** The member's question: the environment's question, or else the first user message. */
const asked = ({ messages, turns: [first] }: Entry.MemberView): string => {
  const logged = first?.logs["question"]
  if (typeof logged === "string" && logged !== "") return logged
  const message = messages.find(({ role }) => role === "user")
  return typeof message?.content === "string" ? message.content : ""
}

const problem = (member: Entry.MemberView): Child => {
  const question = asked(member)
  if (question === "") return undefined
  const shown = question.length > mostAsked ? `${question.slice(0, mostAsked)}…` : question
  return h("p", { class: "asked" }, Text.foreign(shown))
}

const weightsOf = ({ turns }: Entry.MemberView) => {
  const steps = turns.map(({ samplerStep }) => samplerStep)
  const [first, last] = [Math.min(...steps), Math.max(...steps)]
  if (steps.length === 0) return "nothing sampled"
  return `sampled with weights of optimizer step${first === last ? ` ${first}` : `s ${first} to ${last}`}`
}

const summary = (
  { transcript }: Data,
  member: Entry.MemberView,
  index: number,
  advantage: number | null | undefined
) => {
  const reward = transcript?.rewards[index]
  return h(
    "div",
    { class: "standing" },
    h(
      "p",
      { class: "summary" },
      ...dotted([
        h("strong", {}, Text.foreign(transcript?.key ?? "")),
        h("span", { class: tone(reward, 0.5) }, `reward ${Text.short(reward)}`),
        advantage === undefined
          ? "not trained on"
          : h("span", { class: tone(advantage, 0) }, `advantage ${Text.signed(advantage)}`),
        member.stopReason ?? "no stop reason",
        weightsOf(member)
      ])
    ),
    problem(member)
  )
}

const forms = (route: Route, { messages, tools }: Entry.MemberView): Child =>
  h(
    "nav",
    { class: "filters", "aria-label": "form" },
    link({ ...route, tokens: undefined, turn: undefined, token: undefined }, "messages", route.tokens !== true),
    link({ ...route, tokens: true }, "exact tokens (t)", route.tokens === true),
    ...(route.tokens === true ? [TokenStrip.chooser(route), TokenStrip.legend(route.colour)] : []),
    copy(() => JSON.stringify({ messages, ...(tools.length > 0 && { tools }) }), "copy as OpenAI's messages")
  )

/** A one-line summary of each turn, linked to the turn. */
const outline = (member: Entry.MemberView): Child =>
  member.turns.length < 2 ? undefined : h(
    "nav",
    { class: "filters outline", "aria-label": "turns" },
    ...member.turns.map((turn, index) =>
      h(
        "button",
        {
          type: "button",
          onClick: () =>
            document.querySelector(`section[aria-label="Turn ${index}"]`)?.scrollIntoView({ block: "start" })
        },
        `${turn.branch === null ? "" : "⑂ "}${index}: ${Text.foreign(Messages.gist(member, turn))}`
      )
    )
  )

/** The graders' logs, as evidence for the reward. */
const evidence = (member: Entry.MemberView): Child =>
  Object.keys(member.logs).length + Object.keys(member.metrics).length === 0 ? undefined : panel(
    "Grading",
    Object.keys(member.logs).length === 0 ? undefined : LogTexts.all(member.logs),
    metricTable(member.metrics, "what graders measured")
  )

export const render = (data: Data): Screen => {
  const { route, story, transcript } = data
  const index = route.member ?? 0
  const title = `Member ${index}`
  if (transcript === undefined || story === undefined) return waiting(title, "Reading the transcript …")
  const member = transcript.members[index]
  const group = Story.group(story, route.group ?? -1)
  const advantage = group === undefined ? undefined : Story.advantages(story, group)[index]
  const place = `${route.run} ${route.group} ${index}`
  return {
    title,
    body: member === null || member === undefined
      ? [empty("This member was dropped: the group's page says why.")]
      : [
        summary(data, member, index, advantage),
        forms(route, member),
        outline(member),
        ...member.turns.map((turn, at) => turnPanel(data, member, turn, at)),
        evidence(member),
        TurnLanes.panelOf(transcript, [index]),
        Replay.draw({ turns: member.turns, milliseconds: transcript.milliseconds }, place)
      ],
    choices: transcript.members.map((_, at) => ({
      select: { ...route, member: at, turn: undefined, token: undefined },
      open: { ...route, member: at }
    })),
    selected: index
  }
}
