/** The members of a group side by side. */
import * as Quantity from "@effect-rl/core/report/Quantity"
import * as LogNames from "@effect-rl/core/story/LogNames"
import * as Story from "@effect-rl/core/story/Story"
import type * as Entry from "../story/Entry.ts"
import { type Child, dotted, empty, h, panel } from "./Dom.ts"
import * as GroupFilter from "./GroupFilter.ts"
import * as LogTexts from "./LogTexts.ts"
import * as Messages from "./Messages.ts"
import type { Route } from "./Route.ts"
import { type Choice, choosable, type Data, link, type Screen, waiting } from "./Screen.ts"
import * as Text from "./Text.ts"
import * as TokenStrip from "./TokenStrip.ts"
import * as TurnLanes from "./TurnLanes.ts"

const choiceOf = (route: Route, member: number): Choice => ({
  select: { ...route, member },
  open: { ...route, at: "member", member, turn: undefined, token: undefined }
})

/** The colour class of a reward or an advantage, relative to `middle`. */
export const tone = (value: number | null | undefined, middle: number) =>
  value === null || value === undefined || value === middle ? "" : value > middle ? "good" : "bad"

const facts = (member: Entry.MemberView, advantage: number | null | undefined): ReadonlyArray<Child> => {
  const sampled = member.turns.reduce((sum, { tokens }) => sum + tokens.length, 0)
  return dotted([
    ...(advantage === undefined
      ? []
      : [h("span", { class: tone(advantage, 0) }, `advantage ${Text.signed(advantage)}`)]),
    Quantity.plural(member.turns.length, "turn"),
    Quantity.plural(sampled, "token"),
    ...(member.stopReason === null ? [] : [member.stopReason])
  ])
}

/** Where a member's last turn first differs from the selected member's, or from the first member's. */
const departure = (view: Entry.GroupView, member: Entry.MemberView, { member: selected }: Route) => {
  const others = selected === undefined ? view.members.find((other) => other !== null) : view.members[selected]
  const [theirs, ours] = [others?.turns.at(-1)?.tokens ?? [], member.turns.at(-1)?.tokens ?? []]
  const at = ours.findIndex((token, index) => token !== theirs[index])
  return others === member || at < 0 ? {} : { departsAt: at }
}

const said = (view: Entry.GroupView, member: Entry.MemberView, route: Route, index: number): Child => {
  const last = member.turns.at(-1)
  return route.tokens === true && last !== undefined
    ? TokenStrip.draw(last, {
      route: { ...route, at: "member", member: index },
      index: member.turns.length - 1,
      scale: TokenStrip.scaleOf(view),
      isBoxed: true,
      ...departure(view, member, route)
    })
    : Messages.answer(member)
}

const card = (data: Data, member: Entry.MemberView | null, index: number, advantage: number | null | undefined) => {
  const { route, transcript } = data
  const reward = transcript?.rewards[index]
  const choice = choiceOf(route, index)
  return choosable(
    "article",
    choice,
    index === route.member,
    h(
      "h3",
      {},
      link(choice.open, `Member ${index}`),
      h("span", { class: `reward ${tone(reward, 0.5)}` }, member === null ? "dropped" : `reward ${Text.short(reward)}`)
    ),
    ...(member === null
      ? [empty("This member failed.")]
      : [
        h("p", { class: "facts" }, ...facts(member, advantage)),
        transcript === undefined ? undefined : said(transcript, member, route, index)
      ])
  )
}

const lost = ({ lost }: Entry.GroupView): Child =>
  lost.length === 0 ? undefined : panel(
    "Failures",
    h(
      "ul",
      {},
      ...lost.map(({ failure, message }) =>
        h("li", { class: "failure" }, `${Text.foreign(failure)}: ${Text.foreign(message)}`)
      )
    )
  )

/** Why the update left the group out. */
const leftOut = (story: Story.Story<null>, group: Entry.Group | undefined): Child => {
  const credit = group === undefined ? undefined : Story.credit(story, group)
  if (credit?.reason === undefined) return undefined
  const reason = Text.foreign(credit.reason)
  return credit.verdict === "quarantined"
    ? panel("Quarantined", h("p", { class: "bad" }, reason))
    : h("p", { class: "facts" }, `Left out of the update (${GroupFilter.trainings[credit.verdict]}): ${reason}.`)
}

/** The question, shown once above all members. */
const question = (view: Entry.GroupView): ReadonlyArray<Child> => {
  const member = view.members.find((member) => member !== null)
  const { [LogNames.reference]: reference } = member?.turns[0]?.logs ?? {}
  const asked = Messages.question(member ?? undefined)
  if (asked === "") return []
  const answer = typeof reference === "string"
    ? [h("dt", {}, "reference"), h("dd", {}, LogTexts.block(reference))]
    : []
  return [
    panel("Problem", h("dl", { class: "logs" }, h("dt", {}, "question"), h("dd", {}, LogTexts.asked(asked)), ...answer))
  ]
}

const toggle = (route: Route): Child =>
  h(
    "nav",
    { class: "filters", "aria-label": "form" },
    link({ ...route, tokens: undefined }, "texts", route.tokens !== true),
    link({ ...route, tokens: true }, "exact tokens (t)", route.tokens === true),
    ...(route.tokens === true
      ? [TokenStrip.chooser(route), h("span", { class: "facts" }, "▌ departs from the selected member here")]
      : [])
  )

export const render = (data: Data): Screen => {
  const { route, story, transcript } = data
  const group = story === undefined ? undefined : Story.group(story, route.group ?? -1)
  const title = `Group ${Text.foreign(group?.key ?? String(route.group))}`
  if (story === undefined || transcript === undefined) return waiting(title, "Reading the transcripts …")
  const advantages = group === undefined ? [] : Story.advantages(story, group)
  return {
    title,
    body: [
      ...question(transcript),
      leftOut(story, group),
      toggle(route),
      transcript.members.length === 0 ? empty("This group was skipped: none of its members finished.") : h(
        "div",
        { class: "members" },
        ...transcript.members.map((member, index) => card(data, member, index, advantages[index]))
      ),
      TurnLanes.panelOf(transcript, transcript.members.map((_, index) => index)),
      lost(transcript)
    ],
    choices: transcript.members.map((_, index) => choiceOf(route, index)),
    selected: route.member ?? -1
  }
}
