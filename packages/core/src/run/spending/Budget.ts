/**
 * What a run has spent, may spend and is expected to spend: tokens, dollars, time and judge calls. A request is sent only if the spending
 * so far plus the worst case of all pending requests stays within every limit; only costs that are reported afterwards, with `count`, can
 * exceed a limit. A resumed run continues from its recorded spending.
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
  /**
   * The cost of a model's tokens, without dollars if the tokens have no price. `path` is the model's name or the path of one of its
   * checkpoints.
   */
  readonly cost: (path: string, tokens: Metering.Tokens) => Spent.Spent
  /** The cost of an unknown number of tokens; its dollars are unknown too. */
  readonly unknown: (model: string) => Spent.Spent
  /** Prices a checkpoint like a model, because workers refer to the trained weights by checkpoint paths. */
  readonly know: (path: string, model: string) => void
  /** A warning for each model that was used without a price; empty if there are no prices at all. */
  readonly warnings: () => ReadonlyArray<string>
}

const unpricedWarning = (model: string) =>
  `"${model}" has no price for some of its tokens: dollars are unknown from here on`

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

/** The error that ends a run with a dollar limit when its dollars become unknown, because prices are never guessed. */
const unknownDollars = (limit: number) =>
  new InvalidOption({
    field: "maxDollars",
    found: String(limit),
    expected: "to be left out, or prices for every model that the run uses"
  })

/**
 * Makes an allowance, which sends a request once its worst case fits into every limit. A request waits if it only fits after pending
 * requests release their reservations. A request that might exceed a limit never continues, because the run then ends.
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
    /** The total spending so far, abandoned iterations included. */
    spent: Effect.map(
      Clock.currentTimeMillis,
      (now) => Spent.add(spent, { ...Spent.zero, seconds: (now - openedAt) / 1000 })
    ),
    exhausted: Deferred.await(exhausted),
    reached: Effect.sync(() => reached),
    /** Sends a request once its worst case fits; `paid` returns its actual cost. */
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
    /** Pays a cost if it fits; otherwise returns false, and the limit counts as exhausted. */
    take: (cost: Spent.Spent) =>
      Effect.uninterruptibleMask((restore) =>
        Effect.tap(reserve(cost, restore), (fits) => fits ? settle(cost, cost) : Effect.void)
      ),
    /** Pays a cost that has already been incurred, even if it exceeds a limit. */
    charge: (cost: Spent.Spent) =>
      Effect.flatMap(pay(cost), () => {
        if (isUnknown(cost)) return Effect.asVoid(refuse)
        const exceeded = Caps.exceeded(Caps.amounts(spent), limits)
        return exceeded === undefined ? Effect.void : Effect.asVoid(exhaust(exceeded))
      })
  }
})

export interface Budget extends Metering.Metering {
  /** The total spending so far, abandoned iterations included. */
  readonly spent: Effect.Effect<Spent.Spent>
  /** Pays for tokens to train on. Returns false if they do not fit; the budget is then exhausted. */
  readonly train: (tokens: number) => Effect.Effect<boolean>
  /** Meters a training client's forward passes; their tokens count as prefilled. */
  readonly meterForward: (forward: TrainingClient["forward"]) => TrainingClient["forward"]
  /** Completes with the limit that a request might have exceeded or that the time has reached. Fails if dollars are limited but unknown. */
  readonly exhausted: Effect.Effect<Caps.Name, InvalidOption>
  /** The limit that the run has reached; undefined if none. */
  readonly reached: Effect.Effect<Caps.Name | undefined>
  /** New warnings about the spending; each is returned once. */
  readonly warnings: Effect.Effect<ReadonlyArray<string>>
}

export interface Options {
  readonly limits: Caps.Amounts
  readonly softShare: number
  readonly prices: Prices.Prices
  /** The name of the trained model. */
  readonly model: string
  readonly before: Spent.Spent
  /** Warnings that the run has already given. */
  readonly said: Iterable<string>
}

/** Whether the request is part of one that is already counted. */
const IsCounted = Context.Reference("@effect-rl/core/run/Budget/IsCounted", { defaultValue: () => false })

/**
 * A budget whose limits apply to the run's total spending. A prompt counts once per request. A failed request counts no tokens; an
 * interrupted request counts its worst case, because its token count is unknown. Dollars follow the prices, and are unknown from the first
 * request without a price.
 */
export const make = Effect.fnUntraced(function*({ before, limits, model, prices, said, softShare }: Options) {
  const allowance = yield* makeAllowance(limits, before)
  const pricing = makePricing(prices)
  const told = new Set(said)

  /** Counts a request's tokens once, even if it passes through several metered clients. */
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

/** The number of iterations or evaluations since the run was opened, and their total cost. */
export interface Done {
  readonly count: number
  readonly spent: Spent.Spent
}

/** No iterations or evaluations, at no cost. */
export const nothing: Done = { count: 0, spent: Spent.zero }

/** Adds one iteration or evaluation with its cost. */
export const once = ({ count, spent }: Done, cost: Spent.Spent): Done => ({
  count: count + 1,
  spent: Spent.add(spent, cost)
})

const next = ({ count, spent }: Done, times: number) => count === 0 ? Spent.zero : Spent.times(spent, times / count)

/** The iterations and evaluations that a run has left. */
export interface Left {
  readonly iterations: number
  /** Evaluations, counted once per evaluator. */
  readonly evaluations: number
}

/**
 * The expected total spending: `spent`, plus the mean cost of an iteration or an evaluation for each one left. Before the first iteration
 * or evaluation, its mean cost counts as 0.
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

/** The number of evaluations left after `done` iterations, counted once per evaluator: those between iterations, and the final one. */
export const evaluationsAfter = (done: number, { evalEvery, evaluators, iterations }: Plan): number => {
  if (evalEvery === 0) return 0
  return evaluators * (Math.ceil(iterations / evalEvery) - Math.ceil(done / evalEvery) + 1)
}

/** The total spending in the records, abandoned iterations included. */
export const spentBefore = (records: ReadonlyArray<RunRecord.RunRecord>): Spent.Spent =>
  records.reduce((spent: Spent.Spent, record) => "spent" in record ? record.spent ?? spent : spent, Spent.zero)

/** Fails if dollars are limited but the run's dollars are not known from the first token on; prices are never guessed. */
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
  /** The name of the trained model. */
  readonly model: string
  /** The run's earlier records. */
  readonly records: ReadonlyArray<RunRecord.RunRecord>
}

/** The budget of a run, with the spending and the warnings from its records. */
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

/** The price table, as part of a run's recorded settings; empty without prices. */
export const recordedPrices: Effect.Effect<JsonObject> = Effect.map(
  Prices.Prices,
  (prices) => Object.keys(prices).length === 0 ? {} : { prices }
)
