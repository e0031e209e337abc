/** Evaluation results as squares on a curve. Each square links to its evaluation. */
import * as Quantity from "@effect-rl/core/report/Quantity"
import type { Evaluation } from "@effect-rl/core/story/Story"
import { type Child, h } from "./Dom.ts"
import type * as Route from "./Route.ts"
import { go } from "./Screen.ts"
import * as Series from "./Series.ts"
import { svg } from "./Svg.ts"
import * as Text from "./Text.ts"

/** Number of evaluator colours. Further evaluators share the last colour. */
const evaluatorColours = 3

const colourOf = (evaluator: string, all: ReadonlyArray<string>) =>
  `evaluator-${Math.min(evaluatorColours - 1, all.indexOf(evaluator))}`

const interval = ({ high, low, value }: Series.Point) =>
  low === value && high === value ? "" : ` [${Quantity.fixed(low)}, ${Quantity.fixed(high)}]`

/** One text per point: the evaluator's name, the value, and the interval unless it is a single value. */
export const reading = (evaluation: Evaluation<null>, points: ReadonlyArray<Series.Point>): ReadonlyArray<string> =>
  points.map((point) => `${Text.foreign(evaluation.evaluator)} ${Quantity.fixed(point.value)}${interval(point)}`)

/** Draws a square with its interval for each point of the evaluation; `all` lists the evaluators, in the order of their colours. */
export const draw = (
  evaluation: Evaluation<null>,
  points: ReadonlyArray<Series.Point>,
  { x, y }: Series.Scales,
  route: Route.Route,
  all: ReadonlyArray<string>
) =>
  points.map((point) =>
    svg(
      "g",
      {
        key: `${evaluation.evaluator} ${point.iteration}`,
        class: `evaluation ${colourOf(evaluation.evaluator, all)}`,
        onClick: (event) => {
          event.stopPropagation()
          go({ ...route, at: "iteration", iteration: point.iteration, evaluator: evaluation.evaluator })
        }
      },
      svg("line", { x1: x(point.iteration), x2: x(point.iteration), y1: y(point.low), y2: y(point.high) }),
      svg("rect", { x: x(point.iteration) - 4, y: y(point.value) - 4, width: 8, height: 8 }),
      svg(
        "title",
        {},
        `${Text.measured(evaluation.evaluator, point.iteration)}: ${Quantity.fixed(point.value)}${interval(point)}`
      )
    )
  )

/** Lines between consecutive results of an evaluator. */
export const lines = (
  measured: ReadonlyArray<Evaluation<null>>,
  pointsOf: (evaluation: Evaluation<null>) => ReadonlyArray<Series.Point>,
  scales: Series.Scales,
  options: Series.Options,
  all: ReadonlyArray<string>
) =>
  all.map((name) => {
    const points = measured.filter(({ evaluator }) => evaluator === name).flatMap(pointsOf)
    return svg("polyline", {
      key: `line ${name}`,
      class: `evaluations ${colourOf(name, all)}`,
      points: Series.line(Series.inside(points, options), scales)
    })
  })

/** An evaluator's legend. */
export const key = (evaluator: string, text: string, all: ReadonlyArray<string>): Child =>
  h("span", { class: `key key-evaluation ${colourOf(evaluator, all)}` }, text)
