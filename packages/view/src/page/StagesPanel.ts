/** The pipeline of a run: each stage with its training measure from the first iteration to the last. */
import * as Quantity from "@effect-rl/core/report/Quantity"
import type { RunLine, Stage } from "../story/Entry.ts"
import * as MethodName from "../story/MethodName.ts"
import { type Child, h, panel } from "./Dom.ts"
import { link } from "./Screen.ts"
import * as Sparkline from "./Sparkline.ts"
import * as Text from "./Text.ts"
import * as Verdict from "./Verdict.ts"

const nameOf = (run: string) => Text.foreign(MethodName.ofRun(run))

const curveOf = ({ curve, measure }: RunLine): ReadonlyArray<Child> => {
  const known = curve.filter((value) => value !== null)
  const show = measure === "reward" ? Quantity.fixed : Text.short
  return [
    h(
      "p",
      { class: "numbers" },
      h("span", { class: "facts" }, `${Text.foreign(measure)} `),
      ...(known.length > 1 ? [`${show(known[0])} → `] : []),
      h("strong", {}, show(known.at(-1)))
    ),
    Sparkline.draw(curve, `${measure} of each iteration of the stage`)
  ]
}

const stageOf = ({ line, standsOn }: Stage, index: number, open: string) => {
  const { done, held, iterations, recipe, run, verdict } = line
  return h(
    "li",
    { class: "stage", key: run, "aria-current": run === open ? "true" : undefined },
    h("h3", {}, `${index + 1}. `, link({ at: "run", run }, nameOf(run), run === open), " ", Verdict.badge(verdict)),
    h(
      "p",
      { class: "facts" },
      [
        Text.foreign(recipe),
        `${done}${iterations === null ? "" : ` of ${iterations}`} iterations`,
        ...(held === null ? [] : [`held out ${held.text}`]),
        ...(standsOn.length === 0 ? [] : [`from ${standsOn.map(nameOf).join(" and ")}`])
      ].join(" · ")
    ),
    ...curveOf(line)
  )
}

export const panelOf = (stages: ReadonlyArray<Stage> | undefined, open: string): Child =>
  stages === undefined || stages.length === 0 ? undefined : panel(
    `Pipeline of ${stages.length} stages`,
    h("ol", { class: "stages" }, ...stages.map((stage, index) => stageOf(stage, index, open)))
  )
