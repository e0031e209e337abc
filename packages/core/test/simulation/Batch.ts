/** One simulated batch that a runner rolls out, and the resources that it leaves behind. */
import { type InvalidOption, Rollout, type TinkerError } from "@effect-rl/core"
import { AdaptiveLimiter } from "@effect-rl/core/backend"
import type { GroupResult, RolloutError } from "@effect-rl/core/program"
import { type EventLog, LeakAudit, Simulation } from "@effect-rl/core/testing"
import { Effect, Fiber, Logger, Stream } from "effect"
import type * as Faults from "./Faults.ts"
import * as Ledger from "./Ledger.ts"
import * as Scenario from "./Scenario.ts"

export type Failure = Faults.Broken | TinkerError.TinkerError | InvalidOption.InvalidOption | RolloutError.RolloutError

/** Rolls out groups. The results are in the builders' order. */
export type Runner = (
  builders: ReadonlyArray<Scenario.Builder>,
  policy: Scenario.SimulatedPolicy,
  options: Scenario.Scenario["options"] & { readonly concurrency: number }
) => Effect.Effect<ReadonlyArray<GroupResult.GroupResult>, Failure, EventLog.EventLog | LeakAudit.LeakAudit>

export const runner: Runner = (builders, policy, options) =>
  Stream.runCollect(Rollout.stream(builders, policy, options))

export interface Batch {
  readonly scenario: Scenario.Scenario
  readonly ledger: Ledger.Ledger
  /** The number of tasks after which the batch was interrupted; undefined if it was not. */
  readonly interruptAfter: number | undefined
  readonly held: Readonly<Record<string, number>>
  readonly simulation: Simulation.Simulation<ReadonlyArray<GroupResult.GroupResult>, Failure>
}

/** The log line written when the caller gives up. */
export const killed = "gives up"

const untilKilled = <A, E, R>(rolling: Effect.Effect<A, E, R>, killAt: number | undefined) =>
  killAt === undefined ? rolling : Effect.gen(function*() {
    const fiber = yield* Effect.forkChild(rolling)
    yield* Effect.raceFirst(Effect.ignoreCause(Fiber.await(fiber)), Effect.sleep(killAt))
    yield* Ledger.write("caller", killed)
    yield* Fiber.interrupt(fiber)
    return yield* Fiber.join(fiber)
  })

const countPermits = (limiter: AdaptiveLimiter.AdaptiveLimiter, ledger: Ledger.Ledger) =>
  Effect.map(limiter.state, ({ inUse, waiting }) => {
    ledger.permits = { inUse, waiting: Object.values(waiting).reduce((sum, count) => sum + count, 0) }
  })

export interface Options {
  /** The seed for the order of the fibers' turns. The scenario alone decides about failures. */
  readonly turns: number
  readonly concurrency?: number
  readonly interruptAfter?: number
}

export const run = Effect.fnUntraced(
  function*(scenario: Scenario.Scenario, runner: Runner, { concurrency, interruptAfter, turns }: Options) {
    const ledger = Ledger.make()
    const audit = yield* LeakAudit.LeakAudit.make
    const rollingWith = (policy: Scenario.SimulatedPolicy) =>
      Effect.suspend(() =>
        runner(Scenario.builders(scenario, ledger), policy, {
          ...scenario.options,
          concurrency: concurrency ?? scenario.concurrency
        })
      )
    const limited = Effect.scoped(Effect.gen(function*() {
      const limiter = yield* AdaptiveLimiter.make
      const policy = yield* Scenario.behind(limiter, Scenario.policy(scenario))
      return yield* Effect.ensuring(rollingWith(policy), countPermits(limiter, ledger))
    }))
    const rolling = scenario.limited ? limited : rollingWith(Scenario.policy(scenario))
    const simulation = yield* Simulation.run(
      turns,
      untilKilled(rolling, scenario.killAt).pipe(
        Effect.provideService(LeakAudit.LeakAudit, audit),
        Effect.provide(Logger.layer([]))
      ),
      { deadline: scenario.deadline, ...(interruptAfter !== undefined && { interruptAfter }) }
    )
    const held = LeakAudit.live(yield* audit.counts)
    return { scenario, ledger, interruptAfter, held, simulation } satisfies Batch
  }
)
