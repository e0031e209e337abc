/** The log of events in a simulation. */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Seed from "../../records/Seed.ts"

/** An event. `lane` names what it belongs to, such as a member of a group. Order is deterministic within a lane, but not between lanes. */
export interface Event {
  readonly lane: string
  readonly what: string
  readonly millis: number
}

/** Logs events of a simulation. */
export class EventLog extends Context.Service<EventLog, {
  readonly write: (lane: string, what: string) => Effect.Effect<void>
  /** Logs when the effect starts and how it ends; in between, it is pending. */
  readonly during: (lane: string, what: string) => <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
}>()("@effect-rl/core/testing/EventLog") {}

/** How an effect ended: `done`, `interrupted` or `failed`. */
const ending = (exit: Exit.Exit<unknown, unknown>) => {
  if (Exit.isSuccess(exit)) return "done"
  return exit.cause.reasons.some(({ _tag }) => _tag === "Interrupt") ? "interrupted" : "failed"
}

/** Makes a log, with the lists of its events and of its pending events. */
export const make = () => {
  const events: Array<Event> = []
  const pending = new Set<Event>()
  const write = (lane: string, what: string) =>
    Effect.map(Clock.currentTimeMillis, (millis) => {
      const event = { lane, what, millis }
      events.push(event)
      return event
    })
  const log = EventLog.of({
    write: (lane, what) => Effect.asVoid(write(lane, what)),
    during: (lane, what) => (self) =>
      Effect.acquireUseRelease(
        Effect.tap(write(lane, what), (event) => Effect.sync(() => pending.add(event))),
        () => self,
        (event, exit) =>
          Effect.andThen(Effect.sync(() => pending.delete(event)), write(lane, `${what}: ${ending(exit)}`))
      )
  })
  return { log, events, pending }
}

/** An event as one line. */
export const describe = ({ lane, millis, what }: Event) => `${String(millis).padStart(8)} ms  ${lane}  ${what}`

/** The events of each lane in order, by lane name; times and the order between lanes are left out. */
export const lanes = (events: ReadonlyArray<Event>): ReadonlyMap<string, ReadonlyArray<string>> => {
  const byLane = new Map<string, Array<string>>()
  for (const { lane, what } of events) {
    const lines = byLane.get(lane) ?? []
    byLane.set(lane, lines)
    lines.push(what)
  }
  return new Map(Array.from(byLane).toSorted(([left], [right]) => left < right ? -1 : 1))
}

const hex = (value: number) => value.toString(16).padStart(8, "0")

/** A hash that is equal for logs with equal lanes; times and the order between lanes do not matter. */
export const hash = (events: ReadonlyArray<Event>): string => {
  const text = JSON.stringify([...lanes(events)])
  return hex(Seed.derive(0, text)) + hex(Seed.derive(1, text))
}
