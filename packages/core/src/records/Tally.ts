/**
 * Tokens of one piece of work, such as a group or an iteration, counted apart from everything else that a run spends. The tokens of
 * an effect count for the innermost piece of work around it.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Usage from "./Usage.ts"

/** Where the tokens of the work under way are added up. */
export interface Tally {
  readonly add: (used: Usage.Usage) => void
}

/** The tally of the work under way; outside of any, tokens are not added up. */
export const Tally = Context.Reference<Tally>("@effect-rl/core/records/Tally", {
  defaultValue: () => ({ add: () => undefined })
})

/** Counts tokens for the work under way. */
export const add = (used: Usage.Usage): Effect.Effect<void> => Effect.map(Tally, (tally) => tally.add(used))

/** A tally of work that comes in pieces, one after the other; `take` gives the tokens since it was called last. */
export const make = () => {
  let sum = Usage.zero
  return {
    add: (used: Usage.Usage) => {
      sum = Usage.add(sum, used)
    },
    take: () => {
      const taken = sum
      sum = Usage.zero
      return taken
    }
  }
}

/** Runs an effect and gives the tokens that it took, which count nowhere else. */
export const measure = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<readonly [A, Usage.Usage], E, R> =>
  Effect.suspend(() => {
    const tally = make()
    return Effect.map(Effect.provideService(effect, Tally, tally), (value) => [value, tally.take()] as const)
  })
