/** Dollars of the tokens that a run uses, by model, and which of its models have no price. */
import type * as Metering from "../../backend/Metering.ts"
import * as Spent from "../../records/Spent.ts"
import * as Prices from "./Prices.ts"

export interface Pricing {
  /** The cost of tokens of a model, given by its name or by the path of one of its checkpoints; without dollars where they have no price. */
  readonly cost: (path: string, tokens: Metering.Tokens) => Spent.Spent
  /** The cost of an unknown number of tokens, whose dollars are unknown as well. */
  readonly unknown: (model: string) => Spent.Spent
  /** Prices a checkpoint like a model: workers refer to the weights that are trained by the paths of checkpoints. */
  readonly know: (path: string, model: string) => void
  /** A warning for each model that was used without a price; no warnings where there are no prices at all. */
  readonly warnings: () => ReadonlyArray<string>
}

const unpricedWarning = (model: string) =>
  `"${model}" has no price for what it is asked: dollars are unknown from here on`

export const make = (prices: Prices.Prices): Pricing => {
  const unpriced = new Set<string>()
  const modelsByPath = new Map<string, string>()
  return {
    cost: (path, { cached = 0, judgeCalls = 0, prefilled, sampled, trained }) => {
      const cost = { prefilled, sampled, trained, cached, judgeCalls, seconds: 0 }
      const model = modelsByPath.get(path) ?? path
      const dollars = Prices.cost(prices[model], cost)
      if (dollars === undefined) unpriced.add(model)
      return dollars === undefined ? cost : { ...cost, dollars }
    },
    unknown: (model) => {
      unpriced.add(model)
      const { dollars: _, ...cost } = Spent.zero
      return cost
    },
    know: (path, model) => void modelsByPath.set(path, model),
    warnings: () => Object.keys(prices).length === 0 ? [] : Array.from(unpriced, unpricedWarning)
  }
}
