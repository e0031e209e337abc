/**
 * What a run has spent, may spend and is expected to spend: tokens, dollars, time and calls of judges. What was spent, together with the
 * worst case of the requests under way, stays below every limit; a resumed run goes on from the spending that it has recorded.
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Latch from "effect/Latch"
import * as Metering from "../../backend/Metering.ts"
import type { TrainingClient } from "../../backend/TrainingClient.ts"
import type { JsonObject } from "../../records/Json.ts"
import type * as RunRecord from "../../records/RunRecord.ts"
import * as Spent from "../../records/Spent.ts"
import * as Usage from "../../records/Usage.ts"
import { InvalidOption } from "../../settings/InvalidOption.ts"
import type { Resolved } from "../RunOptions.ts"
import * as Caps from "./Caps.ts"
import * as Prices from "./Prices.ts"

interface Pricing {
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

const makePricing = (prices: Prices.Prices): Pricing => {
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

type Restore = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

/** No price is invented: a run whose dollars are limited ends where they would be unknown. */
const unknownDollars = (limit: number) =>
  new InvalidOption({
    field: "maxDollars",
    found: String(limit),
    expected: "to be left out, or prices for every model that the run asks"
  })

/**
 * A request is sent once its worst case fits. It waits while only the reservations of requests under way are in its way. Where it might
 * exceed a limit it never continues, because the run then ends.
 */
const makeAllowance = Effect.fnUntraced(function*(limits: Caps.Amounts, before: Spent.Spent) {
  const exhausted = yield* Deferred.make<Caps.Name, InvalidOption>()
  const settled = yield* Latch.make(false)
  const openedAt = yield* Clock.currentTimeMillis
  let spent = before
  let reserved = Caps.none
  let underWay = 0
  let reached: Caps.Name | undefined

  const exhaust = (name: Caps.Name) =>
    Effect.suspend(() => {
      reached ??= name
      return Deferred.succeed(exhausted, name)
    })
  const refuse = Deferred.fail(exhausted, unknownDollars(limits.max_dollars))
  const isUnknown = ({ dollars }: Spent.Spent) => dollars === undefined && Number.isFinite(limits.max_dollars)
  const pay = (cost: Spent.Spent) =>
    Effect.suspend(() => {
      spent = Spent.add(spent, cost)
      return Usage.count(cost)
    })

  const reserve = (cost: Spent.Spent, restore: Restore): Effect.Effect<boolean> =>
    Effect.suspend(() => {
      if (isUnknown(cost)) return Effect.as(refuse, false)
      const amounts = Caps.amounts(cost)
      const paid = Caps.add(Caps.amounts(spent), amounts)
      const exceeded = Caps.exceeded(paid, limits)
      if (exceeded !== undefined) return Effect.as(exhaust(exceeded), false)
      if (underWay > 0 && Caps.exceeded(Caps.add(paid, reserved), limits) !== undefined) {
        return Effect.andThen(restore(settled.await), reserve(cost, restore))
      }
      underWay++
      reserved = Caps.add(reserved, amounts)
      return Effect.succeed(true)
    })
  const settle = (worst: Spent.Spent, cost: Spent.Spent) =>
    Effect.suspend(() => {
      underWay--
      reserved = underWay === 0 ? Caps.none : Caps.add(reserved, Caps.amounts(worst), -1)
      return Effect.andThen(pay(cost), settled.release)
    })

  const secondsLeft = 60 * limits.max_minutes - (before.seconds ?? 0)
  if (secondsLeft <= 0) yield* exhaust("max_minutes")
  else if (Number.isFinite(secondsLeft)) {
    yield* Effect.forkScoped(Effect.andThen(Effect.sleep(1000 * secondsLeft), exhaust("max_minutes")))
  }

  return {
    /** Everything paid for so far, in abandoned iterations too. */
    spent: Effect.map(
      Clock.currentTimeMillis,
      (now) => Spent.add(spent, { ...Spent.zero, seconds: (now - openedAt) / 1000 })
    ),
    exhausted: Deferred.await(exhausted),
    reached: Effect.sync(() => reached),
    /** Sends a request once its worst case fits; `paid` gives its actual cost. */
    send: <A, E, R>(
      request: Effect.Effect<A, E, R>,
      worst: Spent.Spent,
      paid: (exit: Exit.Exit<A, E>) => Spent.Spent
    ): Effect.Effect<A, E, R> =>
      Effect.uninterruptibleMask((restore) =>
        Effect.flatMap(reserve(worst, restore), (fits) =>
          fits
            ? Effect.onExit(restore(request), (exit) => settle(worst, paid(exit)))
            : restore(Effect.never))
      ),
    /** Pays a cost that fits; false where it does not, and the limit is then exhausted. */
    take: (cost: Spent.Spent) =>
      Effect.uninterruptibleMask((restore) =>
        Effect.tap(reserve(cost, restore), (fits) => fits ? settle(cost, cost) : Effect.void)
      ),
    /** Pays a cost that was incurred already, and may exceed a limit. */
    charge: (cost: Spent.Spent) =>
      Effect.flatMap(pay(cost), () => {
        if (isUnknown(cost)) return Effect.asVoid(refuse)
        const exceeded = Caps.exceeded(Caps.amounts(spent), limits)
        return exceeded === undefined ? Effect.void : Effect.asVoid(exhaust(exceeded))
      })
  }
})

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
  const allowance = yield* makeAllowance(limits, before)
  const pricing = makePricing(prices)
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

/** How often something was done since the run was opened, and the total cost. */
export interface Done {
  readonly count: number
  readonly spent: Spent.Spent
}

/** Something that was not done yet. */
export const nothing: Done = { count: 0, spent: Spent.zero }

/** Counts one more, at its cost. */
export const once = ({ count, spent }: Done, cost: Spent.Spent): Done => ({
  count: count + 1,
  spent: Spent.add(spent, cost)
})

const next = ({ count, spent }: Done, times: number) => count === 0 ? Spent.zero : Spent.times(spent, times / count)

/** How much of a run is left. */
export interface Left {
  readonly iterations: number
  /** Measurements of single evaluators. */
  readonly evaluations: number
}

/**
 * `spent`, plus the mean cost of an iteration for each iteration that is left, plus the mean cost of an evaluation for each evaluation that
 * is left. Without a first one to measure, the cost is taken as 0.
 */
export const total = (
  spent: Spent.Spent,
  { evaluations, iterations }: { readonly iterations: Done; readonly evaluations: Done },
  left: Left
): Spent.Spent => Spent.add(spent, Spent.add(next(iterations, left.iterations), next(evaluations, left.evaluations)))

/** The settings that decide how much of a run is left. */
export interface Plan {
  readonly iterations: number
  readonly evalEvery: number
  readonly evaluators: number
}

/** Evaluations left after `done` iterations, counted once per evaluator: those between iterations, and the final one. */
export const evaluationsAfter = (done: number, { evalEvery, evaluators, iterations }: Plan): number => {
  if (evalEvery === 0) return 0
  return evaluators * (Math.ceil(iterations / evalEvery) - Math.ceil(done / evalEvery) + 1)
}

/** Everything paid for so far, whether or not it still counts. */
export const spentBefore = (records: ReadonlyArray<RunRecord.RunRecord>): Spent.Spent =>
  records.reduce((spent: Spent.Spent, record) => "spent" in record ? record.spent ?? spent : spent, Spent.zero)

/** No price is invented: where dollars are limited, they must be known from the first token to the last. */
export const check = Effect.fnUntraced(function*(
  { maxDollars }: Resolved["run"],
  model: string,
  records: ReadonlyArray<RunRecord.RunRecord>
) {
  if (maxDollars === undefined) return
  const prices = yield* Prices.Prices
  const refuse = (expected: string) =>
    new InvalidOption({
      field: "run.maxDollars",
      found: String(maxDollars),
      expected: `to be left out, or ${expected}`
    })
  if (!Prices.isComplete(prices[model])) {
    return yield* refuse(`prices for what "${model}" prefills, samples and trains`)
  }
  if (spentBefore(records).dollars === undefined) {
    return yield* refuse("a run that had prices from its beginning: what this one has spent is unknown")
  }
})

interface Reopened {
  readonly settings: Resolved["run"]
  /** The model that is trained. */
  readonly model: string
  /** What the run has recorded before. */
  readonly records: ReadonlyArray<RunRecord.RunRecord>
}

/** The budget, with what was spent before and the warnings that were given. */
export const reopen = Effect.fnUntraced(function*({ model, records, settings }: Reopened) {
  return yield* make({
    limits: Caps.limits(settings),
    softShare: settings.softShare,
    prices: yield* Prices.Prices,
    model,
    before: spentBefore(records),
    said: records.flatMap((record) => record._tag === "Warning" ? [record.message] : [])
  })
})

/** The table of prices among the settings that a run records; nothing where there is none. */
export const recordedPrices: Effect.Effect<JsonObject> = Effect.map(
  Prices.Prices,
  (prices) => Object.keys(prices).length === 0 ? {} : { prices }
)
