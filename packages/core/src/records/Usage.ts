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

/** The sum of two usages. */
export const add = (left: Usage, right: Usage): Usage => ({
  prefilled: left.prefilled + right.prefilled,
  sampled: left.sampled + right.sampled,
  trained: left.trained + right.trained
})

/** The total number of tokens. */
export const total = ({ prefilled, sampled, trained }: Usage): number => prefilled + sampled + trained

/** Adds up the tokens of the current work. */
export interface Tally {
  readonly add: (used: Usage) => void
}

/** The tally of the current fiber's work; by default, tokens are not added up. */
export const Tally = Context.Reference<Tally>("@effect-rl/core/records/Tally", {
  defaultValue: () => ({ add: () => undefined })
})

/** Adds tokens to the current tally. */
export const count = (used: Usage): Effect.Effect<void> => Effect.map(Tally, (tally) => tally.add(used))

/** A tally for work that is done in pieces; `take` returns the tokens since its last call. */
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

/** Runs an effect and returns its tokens, which are not added to the outer tally. */
export const measure = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<readonly [A, Usage], E, R> =>
  Effect.suspend(() => {
    const own = tally()
    return Effect.map(Effect.provideService(effect, Tally, own), (value) => [value, own.take()] as const)
  })
