/** The curve of the reward, or of a metric, by iteration. */
import * as Diagnosis from "@effect-rl/core/report/Diagnosis"
import * as Signs from "@effect-rl/core/rl/metrics/Health"
import type { Story } from "@effect-rl/core/story/Story"
import type { Findings } from "../story/Entry.ts"
import { type Child, h, panel } from "./Dom.ts"
import * as EventMarks from "./EventMarks.ts"
import * as MetricChart from "./MetricChart.ts"
import * as PlotControls from "./PlotControls.ts"
import * as RewardChart from "./RewardChart.ts"
import type { Route } from "./Route.ts"
import { go } from "./Screen.ts"
import * as Text from "./Text.ts"

const chooser = (story: Story<null>, route: Route): Child => {
  const names = MetricChart.names(story)
  return names.length === 0 ? undefined : h(
    "label",
    {},
    "show ",
    h(
      "select",
      {
        onChange: ({ target }) => {
          const chosen = target instanceof HTMLSelectElement ? target.value : ""
          go({ ...route, metric: chosen === "" ? undefined : chosen })
        }
      },
      ...(stead(story) === undefined
        ? [h("option", { value: "", selected: route.metric === undefined }, "reward")]
        : []),
      ...names.map((name) => h("option", { value: name, selected: name === route.metric }, Text.foreign(name)))
    )
  )
}

/**
 * The metric that replaces the reward as the main curve: the loss, the margin, or the divergence from a teacher. Undefined if the run has
 * rewards.
 */
const stead = (story: Story<null>): string | undefined => {
  const measure = Diagnosis.training(story)
  return measure === undefined || measure.name === "reward" ? undefined : measure.name
}

export const panelOf = (story: Story<null>, route: Route, findings: Findings | undefined): Child => {
  const events = EventMarks.of(story, findings)
  const metric = route.metric ?? stead(story)
  const meaning = metric === undefined ? undefined : Signs.meaning(metric)
  return panel(
    metric === undefined ? "Reward" : Text.foreign(metric),
    metric === undefined ? RewardChart.draw(story, route, events) : MetricChart.draw(story, route, metric, events),
    meaning === undefined ? undefined : h("p", { class: "facts" }, `${Text.foreign(meaning)}.`),
    PlotControls.draw(route, chooser(story, { ...route, metric }))
  )
}
