/** A run's plan as text. */
import { Usage } from "@effect-rl/core/backend"
import type { Caps } from "@effect-rl/core/program"
import { CreditText, type Json, Quantity } from "@effect-rl/core/records"
import type { Engine } from "@effect-rl/engine"
import * as MemoryText from "../terminal/MemoryText.ts"
import * as Plan from "./Plan.ts"

export interface Options {
  readonly recipe: string
  readonly model: string
  readonly backend: string
  readonly folder: string
  readonly isStarted: boolean
  readonly maxTokens: number
  /** Maximum turns per episode. With two or more, the planned use is not an upper bound. */
  readonly turns: number
  /** The credit's identity; undefined for tasks that are not trained on rewards. */
  readonly credit: Json.JsonObject | undefined
  readonly limits: Caps.Amounts
  /** The model's share of the engine's memory; undefined for other backends. */
  readonly memory: Engine.ModelPlan | undefined
}

const flag = (name: Caps.Name) => `--${name.replaceAll("_", "-")}`

/** The dollars of the trained weights, and a note on excluded costs. */
const dollarLines = (plan: Plan.Plan, bound: string) => {
  const { others, own: { dollars } } = plan.total
  const unpriced = Usage.total(others)
  if (dollars === undefined) return ["  dollars are unknown: --prices gives the prices of the model's tokens"]
  const rest = unpriced === 0 ? "" : `, without what other weights read and write (${Quantity.count(unpriced)} tokens)`
  return [`  ${bound} ${Quantity.dollars(dollars)}${rest}`]
}

const limitLines = (plan: Plan.Plan, limits: Caps.Amounts) => [
  ...Plan.exceeded(plan, limits).map((name) => `  ${flag(name)} ${limits[name]} may end it early`),
  ...(Number.isFinite(limits.max_minutes) ? [`  ${flag("max_minutes")} ${limits.max_minutes} ends it then`] : [])
]

/** Describes the further batches that replace groups without a signal. */
const furtherLines = ({ batches, groups }: Plan.Plan) => {
  const most = batches * groups
  return batches === 1
    ? []
    : [
      `  counts further batches: an iteration samples up to ${most} problems, until enough groups have different rewards`
    ]
}

export const lines = (plan: Plan.Plan, options: Options): ReadonlyArray<string> => {
  const { backend, credit, folder, isStarted, limits, maxTokens, memory, model, recipe, turns } = options
  const { evaluation, evaluations, groups, iteration, iterations } = plan
  const { judgeCalls = 0, prefilled, sampled, trained } = Plan.all(plan)
  const bound = turns > 1 ? "about" : "at most"
  return [
    `plan: ${recipe} with ${model}, backend ${backend}`,
    `  ${Quantity.plural(iterations, "iteration")} of ${
      iteration.responses === 0
        ? `${groups} examples`
        : `${groups} problems, ${iteration.responses} responses each, at most ${maxTokens} tokens long`
    }`,
    ...(credit === undefined ? [] : [`  credit ${CreditText.parts(credit).join(", ")}`]),
    evaluations === 0
      ? "  no evaluation"
      : `  ${evaluations} evaluations${evaluation.responses === 0 ? "" : ` of ${evaluation.responses} responses each`}`,
    `  ${bound} ${Quantity.count(prefilled + sampled + trained)} tokens: ${Quantity.count(prefilled)} prefilled, ` +
    `${Quantity.count(sampled)} sampled, ${Quantity.count(trained)} trained`,
    ...(judgeCalls === 0 ? [] : [`  ${bound} ${Quantity.count(judgeCalls)} calls of judges`]),
    ...furtherLines(plan),
    ...(turns > 1 ? [`  and more where episodes take longer than a silent player's, up to ${turns} turns`] : []),
    ...dollarLines(plan, bound),
    ...limitLines(plan, limits),
    ...(memory === undefined ? [] : [`  ${MemoryText.line(memory)}`]),
    `  kept in ${folder}${isStarted ? ", where a run was started before: it would be resumed" : ""}`
  ]
}
