/** A plan in words. */
import * as Quantity from "../terminal/Quantity.ts"
import * as Plan from "./Plan.ts"

export interface Options {
  readonly recipe: string
  readonly model: string
  readonly backend: string
  readonly folder: string
  readonly isStarted: boolean
  readonly maxTokens: number
  /** Most turns of an episode: from two on, what a plan counts is no bound. */
  readonly turns: number
  /** Dollars for a million tokens. */
  readonly price: number | undefined
  readonly maxTokensTotal: number | undefined
}

export const lines = (plan: Plan.Plan, options: Options): ReadonlyArray<string> => {
  const { backend, folder, isStarted, maxTokens, maxTokensTotal, model, price, recipe, turns } = options
  const { evaluation, evaluations, groups, iteration, iterations, prefilled, sampled, trained } = plan
  const total = Plan.totalTokens(plan)
  const bound = turns > 1 ? "about" : "at most"
  return [
    `plan: ${recipe} with ${model}, backend ${backend}`,
    `  ${Quantity.iterations(iterations)} of ${
      iteration.responses === 0
        ? `${groups} examples`
        : `${groups} problems, ${iteration.responses} responses each, at most ${maxTokens} tokens long`
    }`,
    evaluations === 0 ? "  no evaluation" : `  ${evaluations} evaluations of ${evaluation.responses} responses each`,
    `  ${bound} ${Quantity.count(total)} tokens: ${Quantity.count(prefilled)} prefilled, ` +
    `${Quantity.count(sampled)} sampled, ${Quantity.count(trained)} trained`,
    ...(turns > 1 ? [`  and more where episodes take longer than a silent player's, up to ${turns} turns`] : []),
    ...(price === undefined
      ? []
      : [`  ${bound} ${Quantity.dollars(Plan.cost(plan, price))} at ${Quantity.dollars(price)} per million tokens`]),
    ...(maxTokensTotal === undefined || maxTokensTotal >= total
      ? []
      : [`  --max-tokens-total ${maxTokensTotal} may end it early`]),
    `  kept in ${folder}${isStarted ? ", where a run was started before: it would be resumed" : ""}`
  ]
}
