/** How many groups an iteration's update has, and how many may be on their way or waiting meanwhile. */
import * as Effect from "effect/Effect"
import * as DynamicSampling from "./DynamicSampling.ts"
import type * as Outstanding from "./Outstanding.ts"
import type * as Schedule from "./Schedule.ts"
import type * as Tickets from "./Tickets.ts"

export interface Options<E, R> {
  readonly dynamic: DynamicSampling.Resolved
  readonly rules: Schedule.Rules
  readonly tickets: Tickets.Tickets<E, R>
  readonly now: Outstanding.Tracker["now"]
}

export const make = <E, R>({ dynamic, now, rules, tickets }: Options<E, R>) => {
  const wholeOf = (batch: number) => DynamicSampling.groupsOf(dynamic, batch)

  const gathering = Effect.map(
    Effect.suspend(() => tickets.size(now().iteration)),
    (batch): DynamicSampling.Gathering => {
      const { ended, filtered, taken } = now()
      return { batch, filtered, there: ended.length + taken }
    }
  )

  return {
    /** Groups of a whole update of the iteration. */
    whole: Effect.map(gathering, ({ batch }) => wholeOf(batch)),
    /** Groups of the iteration's update as far as is known, those taken included. */
    size: Effect.gen(function*() {
      const places = DynamicSampling.places(dynamic, yield* gathering)
      const { ended, inFlight, taken } = now()
      return (yield* tickets.peek) === undefined ? Math.min(places, inFlight.size + ended.length + taken) : places
    }),
    /** Groups that may be on their way, waiting or taken. */
    room: Effect.gen(function*() {
      const { iteration } = now()
      let sum = 0
      for (let other = iteration; other < rules.horizon(iteration); other++) sum += wholeOf(yield* tickets.size(other))
      return sum - DynamicSampling.unreplaced(dynamic, yield* gathering)
    }),
    /** Groups of a later iteration's update. */
    later: (other: number) => other < rules.horizon(now().iteration) ? wholeOf(tickets.knownSize(other)) : 0
  }
}

export type UpdateSize<E, R> = ReturnType<typeof make<E, R>>
