/** The part of a listing that was asked for. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as SearchParams from "./SearchParams.ts"

const Count = Schema.FiniteFromString.check(Schema.isInt(), Schema.isGreaterThanOrEqualTo(0))

const read = SearchParams.reading(
  Schema.Struct({ ...SearchParams.common, limit: Schema.optionalKey(Count), offset: Schema.optionalKey(Count) })
)

/** The items of the part, and its place in the whole list; `usual` is the limit of a request that gives none. */
export const of = Effect.fnUntraced(function*<A>(all: ReadonlyArray<A>, usual: number) {
  const { limit = usual, offset = 0 } = yield* read
  return {
    items: all.slice(offset, offset + limit),
    cursor: { offset, limit, total_count: all.length }
  }
})
