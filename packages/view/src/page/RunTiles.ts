/** A summary of the run: activity, progress, reward, cost. */
import * as Diagnosis from "@effect-rl/core/report/Diagnosis"
import * as Quantity from "@effect-rl/core/report/Quantity"
import * as Story from "@effect-rl/core/story/Story"
import * as Spending from "../story/Spending.ts"
import * as Status from "../story/Status.ts"
import { h } from "./Dom.ts"
import type { Data } from "./Screen.ts"
import * as Text from "./Text.ts"
import * as Verdict from "./Verdict.ts"

const tile = (label: string, value: string, more = "") =>
  h("div", { class: "tile" }, h("dt", {}, label), h("dd", {}, value), h("dd", { class: "more" }, more))

/** The newest reward; for programs with another training measure, its loss, margin or divergence from a teacher. */
const rewardTile = (story: Story.Story<null>) => {
  const measure = Diagnosis.training(story)
  if (measure !== undefined && measure.name !== "reward") {
    const [first, last] = [measure.points[0], measure.points.at(-1)]
    return tile(`last ${measure.name}`, Text.short(last?.value), `${Text.short(first.value)} in iteration 1`)
  }
  const reward = Story.lastUpdated(story)?.reward
  const error = reward?.standardError
  return tile("last reward", Quantity.fixed(reward?.mean), error === undefined ? "" : `± ${Quantity.fixed(error)}`)
}

const heldOutTile = (story: Story.Story<null>, { numbers }: Diagnosis.Diagnosis) => {
  const [first] = Story.evaluators(story)
  const last = Story.evaluations(story).findLast(({ evaluated, evaluator }) =>
    evaluated !== undefined && evaluator === first
  )
  if (last?.evaluated === undefined) return tile("held out", "–", "not evaluated yet")
  const { reward, score } = last.evaluated
  const measured = score === undefined ? Quantity.fixed(reward?.mean) : Quantity.percent(score.value)
  const isElse = score === undefined && reward === undefined && numbers?.measure === last.evaluator
  const value = isElse ? numbers.after : measured
  const interval = score === undefined
    ? Text.rewardInterval(reward)
    : `${Quantity.percent(score.low)} to ${Quantity.percent(score.high)}`
  return tile(
    "held out",
    value,
    `${interval === "" ? "" : `${interval}, `}${Text.foreign(last.evaluator)} after ${
      Quantity.plural(last.iteration, "iteration")
    }`
  )
}

const amount = (tokens: number | undefined, dollars: number | undefined) =>
  `${Quantity.count(tokens)}${dollars === undefined ? "" : ` (${Quantity.dollars(dollars)})`}`

const costTile = (story: Story.Story<null>) => {
  const { dollars, tokens: { expected, limit, spent } } = Spending.make(story)
  const caps = [
    ...(limit === undefined ? [] : [`cap ${Quantity.count(limit)}`]),
    ...(dollars.limit === undefined ? [] : [`cap ${Quantity.dollars(dollars.limit)}`])
  ]
  const forecast = story.end !== undefined || expected === undefined
    ? ""
    : `about ${amount(expected, dollars.expected)} in all`
  const cap = caps.length === 0 ? "no cap" : caps.join(", ")
  return tile("tokens", amount(spent, dollars.spent), forecast === "" ? cap : `${forecast}, ${cap}`)
}

const progressTile = ({ isWritten }: Data, story: Story.Story<null>) => {
  const { iterations = null } = story.opened ?? {}
  const done = Story.done(story)
  const { remaining } = Spending.make(story)
  return tile(
    "iterations",
    iterations === null ? String(done) : `${done} / ${iterations}`,
    remaining === undefined || !isWritten
      ? story.saved === undefined
        ? story.end === undefined && isWritten ? "nothing saved yet" : "nothing was saved"
        : `last checkpoint: ${Text.foreign(story.saved.name)}`
      : `about ${Quantity.duration(remaining)} to go`
  )
}

/** The health signs that are out of range. Signs without a range are excluded. */
const signsTile = ({ signs }: Diagnosis.Diagnosis) => {
  const ranged = signs.filter(({ isHealthy }) => isHealthy !== undefined)
  const outside = ranged.filter(({ isHealthy }) => isHealthy === false)
  if (ranged.length === 0) return tile("signs of health", "–", "no metric here has a range")
  return outside.length === 0
    ? tile("signs of health", "✓ in range", `all ${ranged.length} that have a range`)
    : tile("signs of health", `${outside.length} of ${ranged.length}`, outside.map(({ sign }) => sign.title).join(", "))
}

export const draw = (data: Data, story: Story.Story<null>) => {
  const { isWritten, now } = data
  const diagnosis = Verdict.of(data, story)
  return h(
    "dl",
    { class: "tiles" },
    tile(
      "state",
      Text.foreign(Status.of(story, now, isWritten)),
      story.last === undefined ? "" : `last record ${Text.dateTime(story.last.at)}`
    ),
    progressTile(data, story),
    rewardTile(story),
    heldOutTile(story, diagnosis),
    costTile(story),
    signsTile(diagnosis)
  )
}
