/**
 * Tokens used: prefilled for prompts, sampled, and trained on.
 *
 * @example
 * const tokens = Usage.total(Usage.add(Usage.zero, { prefilled: 100, sampled: 64, trained: 0 }))
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

/** Counts of tokens. */
export const Usage = Schema.Struct({
  prefilled: Schema.Finite,
  sampled: Schema.Finite,
  trained: Schema.Finite
})
export interface Usage extends Schema.Schema.Type<typeof Usage> {}

/** No tokens. */
export const zero: Usage = { prefilled: 0, sampled: 0, trained: 0 }

/** The tokens of both. */
export const add = (left: Usage, right: Usage): Usage => ({
  prefilled: left.prefilled + right.prefilled,
  sampled: left.sampled + right.sampled,
  trained: left.trained + right.trained
})

/** Tokens of all kinds. */
export const total = ({ prefilled, sampled, trained }: Usage): number => prefilled + sampled + trained

/** Where the tokens of the work under way are added up. */
export interface Tally {
  readonly add: (used: Usage) => void
}

/** The tally of the work under way; outside of any, tokens are not added up. */
export const Tally = Context.Reference<Tally>("@effect-rl/core/records/Tally", {
  defaultValue: () => ({ add: () => undefined })
})

/** Counts tokens for the work under way. */
export const count = (used: Usage): Effect.Effect<void> => Effect.map(Tally, (tally) => tally.add(used))

/** A tally of work that comes in pieces, one after the other; `take` gives the tokens since it was called last. */
export const tally = () => {
  let sum = zero
  return {
    add: (used: Usage) => {
      sum = add(sum, used)
    },
    take: () => {
      const taken = sum
      sum = zero
      return taken
    }
  }
}

/** Runs an effect and gives the tokens that it took, which count nowhere else. */
export const measure = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<readonly [A, Usage], E, R> =>
  Effect.suspend(() => {
    const own = tally()
    return Effect.map(Effect.provideService(effect, Tally, own), (value) => [value, own.take()] as const)
  })
