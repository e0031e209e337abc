/** The members of a group side by side. */
import type * as Entry from "../story/Entry.ts"
import { h, panel } from "./Dom.ts"
import { groupOf } from "./IterationScreen.ts"
import * as LogTexts from "./LogTexts.ts"
import type { Route } from "./Route.ts"
import { type Choice, choosable, type Data, type Screen } from "./Screen.ts"
import * as Text from "./Text.ts"

const choiceOf = (route: Route, member: number): Choice => ({
  select: { ...route, member },
  open: { ...route, at: "member", member }
})

/** How a reward or an advantage is coloured. */
export const tone = (value: number | null | undefined, middle: number) =>
  value === null || value === undefined || value === middle ? "" : value > middle ? "good" : "bad"

const facts = (member: Entry.MemberView, advantage: number | null | undefined) => {
  const sampled = member.turns.reduce((sum, { tokens }) => sum + tokens.length, 0)
  return [
    advantage === undefined
      ? undefined
      : h("span", { class: tone(advantage, 0) }, `advantage ${Text.short(advantage)}`),
    Text.plural(member.turns.length, "turn"),
    Text.plural(sampled, "token"),
    member.stopReason ?? undefined
  ].filter((fact) => fact !== undefined)
}

const card = (member: Entry.MemberView | null, index: number, data: Data, advantage: number | null | undefined) => {
  const { route, transcript } = data
  const reward = transcript?.rewards[index]
  const heading = h(
    "h3",
    {},
    `Member ${index}`,
    h("span", { class: `reward ${tone(reward, 0.5)}` }, member === null ? "dropped" : `reward ${Text.short(reward)}`)
  )
  if (member === null) {
    return h("article", { class: "member" }, heading, h("p", { class: "empty" }, "This member failed."))
  }
  const last = member.turns.at(-1)
  const content = h(
    "article",
    { class: "member" },
    heading,
    h("p", { class: "facts" }, ...facts(member, advantage).flatMap((fact, at) => at === 0 ? [fact] : [" · ", fact])),
    LogTexts.answer(last?.logs ?? {})
  )
  return choosable(content, choiceOf(route, index), index === route.member)
}

const lost = ({ lost }: Entry.GroupView) =>
  lost.length === 0 ? [] : [
    panel(
      "Failures",
      h(
        "ul",
        {},
        ...lost.map(({ failure, message }) => h("li", { class: "failure" }, `${failure}: ${Text.foreign(message)}`))
      )
    )
  ]

/** The question is shown once, above the members. */
const question = (view: Entry.GroupView) => {
  const turn = view.members.find((member) => member !== null)?.turns[0]
  return LogTexts.question(turn?.logs ?? {})
}

export const render = (data: Data): Screen => {
  const { route, transcript } = data
  const { advantages, group } = groupOf(data)
  const title = `Group ${group?.key ?? route.group}`
  if (transcript === undefined) {
    return { title, body: [h("p", { class: "empty" }, "Reading the transcripts …")], choices: [], selected: -1 }
  }
  return {
    title,
    body: [
      ...question(transcript),
      h(
        "div",
        { class: "members" },
        ...transcript.members.map((member, index) => card(member, index, data, advantages[index]))
      ),
      ...lost(transcript)
    ],
    choices: transcript.members.map((_, index) => choiceOf(route, index)),
    selected: route.member ?? -1
  }
}
