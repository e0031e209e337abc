/** What a run has spent, and how much it may spend: tokens, dollars, time and calls of judges. */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Metering from "../../backend/Metering.ts"
import type { TrainingClient } from "../../backend/TrainingClient.ts"
import * as Spent from "../../records/Spent.ts"
import * as Usage from "../../records/Usage.ts"
import type { InvalidOption } from "../../settings/InvalidOption.ts"
import * as Allowance from "./Allowance.ts"
import * as Caps from "./Caps.ts"
import type * as Prices from "./Prices.ts"
import * as Pricing from "./Pricing.ts"

export interface Budget extends Metering.Metering {
  /** Everything paid for so far, in abandoned iterations too. */
  readonly spent: Effect.Effect<Spent.Spent>
  /** Counts tokens to be trained on, unless they do not fit: then the budget is exhausted and false returned. */
  readonly train: (tokens: number) => Effect.Effect<boolean>
  /** Meters the forward passes of a training client, whose tokens count as prefilled. */
  readonly meterForward: (forward: TrainingClient["forward"]) => TrainingClient["forward"]
  /** Completes with the limit that a request might have exceeded, or that time has reached; fails where dollars are limited and unknown. */
  readonly exhausted: Effect.Effect<Caps.Name, InvalidOption>
  /** The limit that the run has reached. */
  readonly reached: Effect.Effect<Caps.Name | undefined>
  /** What a person should know of the spending so far; each warning once. */
  readonly warnings: Effect.Effect<ReadonlyArray<string>>
}

export interface Options {
  readonly limits: Caps.Amounts
  readonly softShare: number
  readonly prices: Prices.Prices
  /** The model that is trained. */
  readonly model: string
  readonly before: Spent.Spent
  /** Warnings that the run has given before. */
  readonly said: Iterable<string>
}

/** Whether a request is part of one that is counted already. */
const IsCounted = Context.Reference("@effect-rl/core/run/Budget/IsCounted", { defaultValue: () => false })

/**
 * A budget whose limits hold for everything paid for in total. Each prompt counts once per request. The tokens of an interrupted request
 * are unknown, and counted as its worst case. Dollars are those of the model's prices, and unknown from the first request without one.
 */
export const make = Effect.fnUntraced(function*({ before, limits, model, prices, said, softShare }: Options) {
  const allowance = yield* Allowance.make(limits, before)
  const pricing = Pricing.make(prices)
  const told = new Set(said)

  /** Counts a request for tokens once, however many metered clients it passes. */
  const tokens = <A, E, R>(request: Effect.Effect<A, E, R>, worst: Spent.Spent, used: (answer: A) => Spent.Spent) =>
    Effect.flatMap(IsCounted, (isCounted) =>
      isCounted
        ? request
        : allowance.send(Effect.provideService(request, IsCounted, true), worst, (exit) => {
          if (Exit.isSuccess(exit)) return used(exit.value)
          return Cause.hasInterrupts(exit.cause) ? worst : Spent.zero
        }))

  const prefilled = (path: string, count: number) => pricing.cost(path, { ...Usage.zero, prefilled: count })

  const budget: Budget = {
    spent: allowance.spent,
    exhausted: allowance.exhausted,
    reached: allowance.reached,
    train: (count) => Effect.suspend(() => allowance.take(pricing.cost(model, { ...Usage.zero, trained: count }))),
    meter: (client, name = client.modelPath) => {
      pricing.know(client.modelPath, name)
      return {
        ...client,
        sample: (request) =>
          tokens(
            client.sample(request),
            pricing.cost(name, Metering.asked(request)),
            (answer) => pricing.cost(name, Metering.asked(request, answer))
          ),
        computeLogprobs: (prompt) => {
          const cost = prefilled(name, prompt.length)
          return tokens(client.computeLogprobs(prompt), cost, () => cost)
        }
      }
    },
    meterForward: (forward) => (data, loss) => {
      const cost = prefilled(model, data.reduce((sum, { modelInput }) => sum + modelInput.length, 0))
      return tokens(forward(data, loss), cost, () => cost)
    },
    asks: true,
    judge: (verdict) => {
      const cost = { ...Spent.zero, judgeCalls: 1 }
      return allowance.send(verdict, cost, () => cost)
    },
    count: (name, used) =>
      Effect.suspend(() => allowance.charge(used === undefined ? pricing.unknown(name) : pricing.cost(name, used))),
    warnings: Effect.map(allowance.spent, (spent) => {
      const all = [...Caps.warnings(spent, limits, softShare), ...pricing.warnings()]
      const fresh = all.filter((warning) => !told.has(warning))
      for (const warning of fresh) told.add(warning)
      return fresh
    })
  }
  return budget
})
