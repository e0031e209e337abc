/** One run: its learning curve, health, cost and current activity. */
import * as Diagnosis from "@effect-rl/core/report/Diagnosis"
import * as Quantity from "@effect-rl/core/report/Quantity"
import * as Story from "@effect-rl/core/story/Story"
import * as AuditPanel from "./AuditPanel.ts"
import * as CheckpointPanel from "./CheckpointPanel.ts"
import * as CostPanel from "./CostPanel.ts"
import * as CurvePanel from "./CurvePanel.ts"
import { type Child, columns, empty, h, numberCell, panel, table } from "./Dom.ts"
import * as Events from "./Events.ts"
import * as GroupFilter from "./GroupFilter.ts"
import * as Health from "./Health.ts"
import * as LaunchPanel from "./LaunchPanel.ts"
import * as LogPanel from "./LogPanel.ts"
import * as MachinePanel from "./MachinePanel.ts"
import type { Route } from "./Route.ts"
import * as RunTiles from "./RunTiles.ts"
import { type Choice, choosable, type Data, link, type Screen, waiting } from "./Screen.ts"
import * as SignalChart from "./SignalChart.ts"
import * as StagesPanel from "./StagesPanel.ts"
import * as Text from "./Text.ts"
import * as TimelinePanel from "./TimelinePanel.ts"
import * as Verdict from "./Verdict.ts"

const choiceOf = (route: Route, iteration: number): Choice => ({
  select: { ...route, iteration },
  open: { ...route, at: "iteration", iteration }
})

const share = (number: number, total: number) => total === 0 ? "–" : Quantity.percent(number / total)

const row = (lead: string | undefined, { groups, index, tally, updated }: Story.Iteration<null>, route: Route) => {
  const reward = updated?.reward
  const choice = choiceOf(route, index)
  return choosable(
    "tr",
    choice,
    index === route.iteration,
    numberCell(link(choice.open, String(index + 1))),
    ...(lead === undefined ? [] : [numberCell(Text.short(updated?.metrics[lead]))]),
    numberCell(Quantity.fixed(reward?.mean)),
    numberCell(Quantity.fixed(reward?.standardError)),
    numberCell(String(groups.length)),
    numberCell(share(tally.informative, groups.length)),
    numberCell(share(tally.good, groups.length)),
    numberCell(share(tally.bad, groups.length)),
    numberCell(Quantity.count(updated?.metrics["tokens/sampled"])),
    numberCell(updated === undefined ? "–" : String(updated.updates.length))
  )
}

/** An iteration's row for a program without groups. */
const plainRow = (name: string, { index, updated }: Story.Iteration<null>, route: Route) => {
  const choice = choiceOf(route, index)
  return choosable(
    "tr",
    choice,
    index === route.iteration,
    numberCell(link(choice.open, String(index + 1))),
    numberCell(Text.short(updated?.metrics[name])),
    numberCell(Quantity.count(updated?.metrics["tokens/trained"])),
    numberCell(updated === undefined ? "–" : String(updated.updates.length))
  )
}

const headings = (lead: string | undefined) => [
  "iteration",
  ...(lead === undefined ? [] : [lead]),
  "reward",
  "± SE",
  "groups",
  "informative",
  "all good",
  "all bad",
  "tokens sampled",
  "updates"
]

/** Whether the program samples groups. Until its first iteration is done, any program may. */
const isGrouped = (story: Story.Story<null>) =>
  Diagnosis.training(story) === undefined || Story.iterations(story).some(({ groups }) => groups.length > 0)

/** The main training metric, if it is not the reward. */
const leadOf = (story: Story.Story<null>): string | undefined => {
  const name = Diagnosis.training(story)?.name
  return name === "reward" ? undefined : name
}

/** How many of the run's groups updates trained on, and how many they left out, by reason. */
const updateFacts = (story: Story.Story<null>): Child => {
  const counts = new Map<string, number>()
  for (const { verdict } of story.credits.values()) {
    const name = GroupFilter.trainings[verdict]
    counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  return counts.size === 0 ? undefined : h(
    "p",
    { class: "facts" },
    `In updates: ${[...counts].map(([name, count]) => `${count} ${name}`).join(", ")}.`
  )
}

/** Number of rows shown before and after the selected row. */
const around = 10

const iterationTable = (
  story: Story.Story<null>,
  all: ReadonlyArray<Story.Iteration<null>>,
  selected: number,
  route: Route
): Child => {
  const lead = leadOf(story)
  const middle = selected < 0 ? all.length - 1 : selected
  const from = Math.max(0, Math.min(middle - around, all.length - 2 * around))
  const shown = all.slice(from, from + 2 * around)
  return panel(
    shown.length === all.length ? "Iterations" : `Iterations, ${shown.length} of ${all.length}`,
    all.length === 0
      ? empty("Sampling has not begun.")
      : isGrouped(story)
      ? table(headings(lead), shown.map((iteration) => row(lead, iteration, route)), "iterations")
      : table(
        ["iteration", lead ?? "", "tokens trained", "updates"],
        shown.map((iteration) => plainRow(lead ?? "", iteration, route)),
        "iterations"
      )
  )
}

/** An evaluation's held-out loss or margin. */
const inNats = ({ evaluated }: Story.Evaluation<null>): Diagnosis.Reading | undefined => {
  const reading = evaluated === undefined ? undefined : Diagnosis.reading(evaluated)
  return reading?.unit === "nats" ? reading : undefined
}

const evaluationRow = (evaluation: Story.Evaluation<null>, metric: string | undefined, route: Route) => {
  const { evaluated, evaluator, groups, iteration } = evaluation
  const open: Route = { ...route, at: "iteration", iteration, evaluator }
  const { reward, score } = evaluated ?? {}
  return choosable(
    "tr",
    { select: open, open },
    false,
    h("td", {}, link(open, Text.foreign(evaluator))),
    numberCell(String(iteration)),
    ...(metric === undefined ? [] : [numberCell(Quantity.fixed(inNats(evaluation)?.value))]),
    numberCell(score === undefined ? "–" : Quantity.percent(score.value)),
    numberCell(
      score === undefined
        ? Text.rewardInterval(reward) || "–"
        : `${Quantity.percent(score.low)} to ${Quantity.percent(score.high)}`
    ),
    numberCell(Quantity.fixed(reward?.mean)),
    numberCell(String(groups.length))
  )
}

const mostEvaluations = 50

const evaluationTable = (story: Story.Story<null>, route: Route): Child => {
  const evaluators = Story.evaluators(story)
  const evaluations = Story.evaluations(story).filter(({ evaluator }) => evaluators.includes(evaluator))
  if (evaluations.length === 0) return undefined
  const metric = evaluations.map((evaluation) => inNats(evaluation)?.metric).find((metric) => metric !== undefined)
  return panel(
    "Evaluations",
    table(
      [
        "evaluator",
        "after iterations",
        ...(metric === undefined ? [] : [`${metric}, nats`]),
        "correct",
        "95 % interval",
        "reward",
        "groups"
      ],
      evaluations.slice(-mostEvaluations).map((evaluation) => evaluationRow(evaluation, metric, route)),
      "evaluations"
    )
  )
}

export const render = (data: Data): Screen => {
  const { route, story } = data
  const title = Text.foreign(route.run ?? "")
  if (story === undefined) return waiting(title, "Reading the records …")
  const all = Story.iterations(story)
  const selected = all.findIndex(({ index }) => index === route.iteration)
  return {
    title,
    body: [
      StagesPanel.panelOf(data.stages, route.run ?? ""),
      Verdict.draw(data, story),
      RunTiles.draw(data, story),
      CurvePanel.panelOf(story, route, data.findings),
      isGrouped(story)
        ? panel("Signal of groups", SignalChart.draw(story, route), updateFacts(story))
        : undefined,
      TimelinePanel.panelOf(story, route),
      MachinePanel.panelOf(story, TimelinePanel.wholeOf(story)),
      Events.noticePanel(story),
      iterationTable(story, all, selected, route),
      evaluationTable(story, route),
      LaunchPanel.panelOf(story),
      CheckpointPanel.panelOf(data, story),
      Health.panelOf(story, Verdict.of(data, story), route),
      columns(CostPanel.panelOf(story), Events.failurePanel(story, route)),
      AuditPanel.panelOf(data.findings, route),
      LogPanel.panelOf(data.log, story.end?._tag === "Failed" || (story.end === undefined && !data.isWritten))
    ],
    choices: all.map(({ index }) => choiceOf(route, index)),
    selected
  }
}
