/** What actually happened in a simulated batch, for comparison with its results. */
import { EventLog } from "@effect-rl/core/testing"
import { type Effect } from "effect"

/** A turn as its environment saw it. */
export interface Turn {
  readonly tokens: ReadonlyArray<number>
  readonly reward: number
}

/** One acquired environment. `life` counts a member's environments from 0. */
export interface Life {
  readonly group: number
  readonly member: number
  readonly life: number
  readonly turns: Array<Turn>
}

export interface Ledger {
  readonly lives: Array<Life>
  /** The number of resources that are never released because their release hangs. */
  abandoned: number
  /** Permits in use and requests waiting for a permit when the batch ended. */
  permits: { readonly inUse: number; readonly waiting: number }
}

export const make = (): Ledger => ({ lives: [], abandoned: 0, permits: { inUse: 0, waiting: 0 } })

export const begin = (ledger: Ledger, group: number, member: number): Life => {
  const life = ledger.lives.filter((other) => other.group === group && other.member === member).length
  const begun = { group, member, life, turns: [] }
  ledger.lives.push(begun)
  return begun
}

export const during = (lane: string, what: string) => <A, E, R>(self: Effect.Effect<A, E, R>) =>
  EventLog.EventLog.use((log) => log.during(lane, what)(self))

export const write = (lane: string, what: string) => EventLog.EventLog.use((log) => log.write(lane, what))
