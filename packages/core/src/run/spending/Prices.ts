/**
 * Token prices by model. A Layer provides the table; there are no built-in prices.
 *
 * @example
 * Rl.run({ model, dataset }).pipe(Stream.provide(Prices.layer({
 *   "Qwen/Qwen3-8B": { prefill: 0.13, cached: 0.03, sample: 0.4, train: 0.4 }
 * })))
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import type { Spent } from "../../records/Spent.ts"
import { InvalidOption } from "../../settings/InvalidOption.ts"
import * as Setting from "../../settings/Setting.ts"

const dollars = (help: string) => Setting.number({ least: 0, unit: "dollars", help })

/**
 * Dollars per million tokens; a kind that is left out has no price. If only `cached` is left out, cached tokens cost as much as other
 * prefilled tokens.
 */
export const Price = Schema.Struct({
  prefill: dollars("A million prompt tokens, those of forward passes included"),
  cached: dollars("A million prompt tokens that the backend has in its cache; the prefill price unless given"),
  sample: dollars("A million sampled tokens"),
  train: dollars("A million tokens trained on")
})
export interface Price extends Schema.Schema.Type<typeof Price> {}

/** Prices by the name of a base model, or by the path of a checkpoint other than the trained weights. */
export type Prices = Readonly<Record<string, Price>>

export const Prices = Context.Reference<Prices>("@effect-rl/core/run/spending/Prices", { defaultValue: () => ({}) })

/** Provides a table of prices. */
export const layer = (prices: Prices): Layer.Layer<never> => Layer.succeed(Prices, prices)

/** Decodes a price table, for example from a file. Fails with the first invalid price. */
export const decode = Effect.fnUntraced(function*(
  given: unknown,
  field: string
): Effect.fn.Return<Prices, InvalidOption> {
  if (!Predicate.isObject(given) || Array.isArray(given)) {
    const expected = "an object of models, each with its prices, such as {\"sample\": 0.4}"
    return yield* new InvalidOption({ field, found: JSON.stringify(given), expected })
  }
  const prices = yield* Effect.forEach(
    Object.entries(given),
    ([model, price]) =>
      Effect.map(Setting.decode(Price, price, `${field}.${model}`), (price) => [model, price] as const)
  )
  return Object.fromEntries(prices)
})

type Tokens = Pick<Spent, "prefilled" | "sampled" | "trained" | "cached">

const perMillion = 1e-6

/** The cost of tokens in dollars; undefined if a kind that occurs among them has no price. */
export const cost = (price: Price | undefined, tokens: Tokens): number | undefined => {
  const { cached = 0, prefilled, sampled, trained } = tokens
  const parts: ReadonlyArray<readonly [count: number, each: number | undefined]> = [
    [prefilled - cached, price?.prefill],
    [cached, price?.cached ?? price?.prefill],
    [sampled, price?.sample],
    [trained, price?.train]
  ]
  let sum = 0
  for (const [count, each] of parts) {
    if (count === 0) continue
    if (each === undefined) return undefined
    sum += count * each * perMillion
  }
  return sum
}

/** Whether prefilling, sampling and training all have a price. */
export const isComplete = (price: Price | undefined): boolean =>
  cost(price, { prefilled: 1, sampled: 1, trained: 1 }) !== undefined
