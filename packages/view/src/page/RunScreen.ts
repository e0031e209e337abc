/** One run: whether it learns, whether it is healthy, what it costs, and what it is doing now. */
import { counts } from "../story/GroupVerdict.ts"
import * as Story from "../story/Story.ts"
import { h, panel, table } from "./Dom.ts"
import * as Health from "./Health.ts"
import * as RewardChart from "./RewardChart.ts"
import type { Route } from "./Route.ts"
import { type Choice, choosable, type Data, type Screen } from "./Screen.ts"
import * as SignalChart from "./SignalChart.ts"
import * as Text from "./Text.ts"

const tile = (label: string, value: string, more = "") =>
  h("div", { class: "tile" }, h("dt", {}, label), h("dd", {}, value), h("dd", { class: "more" }, more))

const rewardTile = (story: Story.Story) => {
  const reward = Story.lastUpdated(story)?.reward
  return tile("last reward", Text.fixed(reward?.mean), `± ${Text.fixed(reward?.standardError)}`)
}

const heldOutTile = (story: Story.Story) => {
  const [first] = Story.evaluators(story)
  const last = Story.evaluations(story).findLast(({ evaluated, evaluator }) =>
    evaluated !== undefined && evaluator === first
  )
  if (last?.evaluated === undefined) return tile("held out", "–", "not evaluated yet")
  const { reward, score } = last.evaluated
  const value = score === undefined ? Text.fixed(reward?.mean) : Text.percent(score.value)
  const more = score === undefined ? "" : `${Text.percent(score.low)} to ${Text.percent(score.high)}, `
  return tile("held out", value, `${more}${last.evaluator} before iteration ${last.iteration}`)
}

const tokensTile = (story: Story.Story) => {
  const { prefilled, sampled, trained } = story.spent
  const parts = `${Text.count(prefilled)} prompt, ${Text.count(sampled)} sampled, ${Text.count(trained)} trained`
  return tile("tokens spent", Text.count(Story.tokens(story)), parts)
}

const tiles = ({ now, story }: Data) => {
  const { iterations = null } = story.opened ?? {}
  const done = Story.done(story)
  return h(
    "dl",
    { class: "tiles" },
    tile("state", Text.foreign(Story.state(story, now)), story.last === undefined ? "" : Text.dateTime(story.last.at)),
    tile(
      "iterations",
      iterations === null ? String(done) : `${done} / ${iterations}`,
      story.saved === undefined ? "nothing saved yet" : `last checkpoint: ${Text.foreign(story.saved.name)}`
    ),
    rewardTile(story),
    heldOutTile(story),
    tokensTile(story)
  )
}

const choiceOf = (route: Route, iteration: number): Choice => ({
  select: { ...route, iteration },
  open: { ...route, at: "iteration", iteration }
})

const share = (number: number, total: number) => total === 0 ? "–" : Text.percent(number / total)

const row = ({ groups, index, updated }: Story.Iteration, route: Route) => {
  const found = counts(groups)
  const reward = updated?.reward
  return choosable(
    h(
      "tr",
      {},
      h("td", { class: "number" }, String(index)),
      h("td", { class: "number" }, Text.fixed(reward?.mean)),
      h("td", { class: "number" }, Text.fixed(reward?.standardError)),
      h("td", { class: "number" }, String(groups.length)),
      h("td", { class: "number" }, share(found.informative, groups.length)),
      h("td", { class: "number" }, share(found.good, groups.length)),
      h("td", { class: "number" }, share(found.bad, groups.length)),
      h("td", { class: "number" }, Text.count(updated?.metrics["tokens/sampled"])),
      h("td", { class: "number" }, updated === undefined ? "–" : String(updated.updates.length))
    ),
    choiceOf(route, index),
    index === route.iteration
  )
}

const headings = [
  "iteration",
  "reward",
  "± SE",
  "groups",
  "informative",
  "all good",
  "all bad",
  "tokens sampled",
  "updates"
]

/** Rows before and after the selected one that are shown. */
const around = 20

const iterationTable = (all: ReadonlyArray<Story.Iteration>, selected: number, route: Route) => {
  const middle = selected < 0 ? all.length - 1 : selected
  const from = Math.max(0, Math.min(middle - around, all.length - 2 * around))
  const shown = all.slice(from, from + 2 * around)
  return panel(
    shown.length === all.length ? "Iterations" : `Iterations, ${shown.length} of ${all.length}`,
    all.length === 0
      ? h("p", { class: "empty" }, "Sampling has not begun.")
      : table(headings, shown.map((iteration) => row(iteration, route)), "iterations")
  )
}

const evaluationTable = (story: Story.Story, route: Route) => {
  const rows = Story.evaluations(story).map(({ evaluated, evaluator, groups, iteration }) => {
    const open: Route = { ...route, at: "iteration", iteration, evaluator }
    const { reward, score } = evaluated ?? {}
    return choosable(
      h(
        "tr",
        {},
        h("td", {}, Text.foreign(evaluator)),
        h("td", { class: "number" }, String(iteration)),
        h("td", { class: "number" }, score === undefined ? "–" : Text.percent(score.value)),
        h(
          "td",
          { class: "number" },
          score === undefined ? "–" : `${Text.percent(score.low)} to ${Text.percent(score.high)}`
        ),
        h("td", { class: "number" }, Text.fixed(reward?.mean)),
        h("td", { class: "number" }, String(groups.length))
      ),
      { select: open, open },
      false
    )
  })
  if (rows.length === 0) return undefined
  return panel(
    "Evaluations",
    table(["evaluator", "before iteration", "correct", "95 % interval", "reward", "groups"], rows, "evaluations")
  )
}

const mostNotices = 50

const notices = ({ notices }: Story.Story) =>
  panel(
    "Warnings and events",
    notices.length === 0 ? h("p", { class: "empty" }, "None.") : h(
      "ul",
      { class: "notices" },
      ...notices.slice(-mostNotices).toReversed().map(({ at, kind, text }) =>
        h("li", { class: kind }, h("time", {}, Text.time(at)), ` ${Text.foreign(text)}`)
      )
    )
  )

const failures = ({ failures }: Story.Story) =>
  panel(
    "Failures by reason",
    failures.size === 0
      ? h("p", { class: "empty" }, "No member failed.")
      : table(
        ["reason", "members"],
        [...failures].toSorted(([, left], [, right]) => right - left).map(([reason, number]) =>
          h("tr", {}, h("td", {}, Text.foreign(reason)), h("td", { class: "number" }, String(number)))
        ),
        "failures by reason"
      )
  )

export const render = (data: Data): Screen => {
  const { route, story } = data
  const all = Story.iterations(story)
  const selected = all.findIndex(({ index }) => index === route.iteration)
  const evaluations = evaluationTable(story, route)
  return {
    title: route.run ?? "",
    body: [
      tiles(data),
      h(
        "div",
        { class: "columns" },
        panel("Reward", RewardChart.draw(story, route)),
        panel("Signal of groups", SignalChart.draw(story, route))
      ),
      iterationTable(all, selected, route),
      ...(evaluations === undefined ? [] : [evaluations]),
      h("div", { class: "columns" }, notices(story), failures(story)),
      Health.panelOf(story)
    ],
    choices: all.map(({ index }) => choiceOf(route, index)),
    selected
  }
}
