/** Tries a seed: once, again with another concurrency, and with an interruption after some task. */
import { Draw, EventLog } from "@effect-rl/core/testing"
import { Effect, Exit, Option } from "effect"
import * as Batch from "./Batch.ts"
import * as Rules from "./Rules.ts"
import * as Scenario from "./Scenario.ts"

/** Results as text without times and messages. If several members run out of time together, the message may name any of them. */
const spell = ({ simulation: { exit } }: Batch.Batch) =>
  Option.isSome(exit) && Exit.isSuccess(exit.value)
    ? JSON.stringify(exit.value.value, (name, value: unknown) => {
      if (name === "message" || name === "times" || name === "grading") return undefined
      return typeof value === "number" ? String(value) : value
    })
    : undefined

/**
 * Whether the order of events affects results: it decides who gets the last retry, which retries are needed, and who waits for a permit.
 */
const sharesRetries = ({ options: { onFailure } }: Scenario.Scenario) =>
  onFailure.maxRetries !== undefined || onFailure.minSuccessful !== undefined

const differs = (left: Batch.Batch, right: Batch.Batch): ReadonlyArray<string> => {
  const { killAt, limited } = left.scenario
  if (killAt !== undefined || limited || sharesRetries(left.scenario)) return []
  const [one, other] = [spell(left), spell(right)]
  if (one === undefined && other === undefined) return []
  return [
    ...(one === other ? [] : ["results do not depend on concurrency: they differ"]),
    ...(left.simulation.hash === right.simulation.hash ? [] : ["events do not depend on concurrency: they differ"])
  ]
}

export interface Verdict {
  readonly broken: ReadonlyArray<string>
  /** The batch that breaks a rule; otherwise the first one, also if two batches differ. */
  readonly batch: Batch.Batch
}

export const make = Effect.fnUntraced(function*(seed: number, runner: Batch.Runner = Batch.runner) {
  const scenario = Scenario.make(seed)
  const batch = yield* Batch.run(scenario, runner, { turns: seed })
  const first: Verdict = { broken: Rules.broken(batch), batch }
  if (first.broken.length > 0 || scenario.killAt !== undefined) return first
  const other = yield* Batch.run(scenario, runner, {
    turns: seed + 1_000_000_007,
    concurrency: scenario.sizes.length + 1 - scenario.concurrency
  })
  const interruptAfter = Draw.make(seed, "interrupt").integer(1, batch.simulation.tasks)
  const interrupted = yield* Batch.run(scenario, runner, { turns: seed, interruptAfter })
  const verdicts: ReadonlyArray<Verdict> = [
    { broken: Rules.broken(other), batch: other },
    { broken: Rules.broken(interrupted), batch: interrupted },
    { broken: differs(batch, other), batch }
  ]
  return verdicts.find(({ broken }) => broken.length > 0) ?? first
})

/** A report for a person who debugs a failing seed. */
export const describe = ({ batch: { interruptAfter, scenario, simulation }, broken }: Verdict) =>
  [
    `seed ${scenario.seed}: groups of ${scenario.sizes.join(", ")} (coupled: ${scenario.coupled.join(", ")}),`
    + ` concurrency ${scenario.concurrency}, ${scenario.severity * 100} % of calls go wrong`
    + (scenario.killAt === undefined ? "" : `, the caller gives up at ${scenario.killAt.toFixed(0)} ms`)
    + (interruptAfter === undefined ? "" : `, interrupted after ${interruptAfter} tasks`),
    `replay it alone, with its events: EFFECT_RL_SEED=${scenario.seed} npx vitest run packages/core/test/simulation`,
    ...broken.map((complaint) => `  ✗ ${complaint}`),
    ...Option.match(simulation.hang, {
      onNone: () => [],
      onSome: ({ pending }) => ["pending:", ...pending.map(EventLog.describe)]
    })
  ].join("\n")

export const events = ({ batch: { simulation } }: Verdict) => simulation.events.map(EventLog.describe).join("\n")
