/** What really happened in a simulated batch, to hold results against. */
import { EventLog } from "@effect-rl/core/testing"
import { type Effect } from "effect"

/** A turn as its environment saw it. */
export interface Turn {
  readonly tokens: ReadonlyArray<number>
  readonly reward: number
}

/** One environment that was acquired; `life` counts those of a member from 0. */
export interface Life {
  readonly group: number
  readonly member: number
  readonly life: number
  readonly turns: Array<Turn>
}

export interface Ledger {
  readonly lives: Array<Life>
  /** What was acquired and never will be released, because releasing it hangs. */
  abandoned: number
  /** Permits in use, and requests that wait for one, when it was over. */
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
