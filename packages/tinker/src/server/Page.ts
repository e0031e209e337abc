/** The requested part of a list. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as SearchParams from "./SearchParams.ts"

const Count = Schema.FiniteFromString.check(Schema.isInt(), Schema.isGreaterThanOrEqualTo(0))

const read = SearchParams.reading(
  Schema.Struct({ ...SearchParams.common, limit: Schema.optionalKey(Count), offset: Schema.optionalKey(Count) })
)

/** The items of a page and its position in the whole list. `usual` is the default limit. */
export const of = Effect.fnUntraced(function*<A>(all: ReadonlyArray<A>, usual: number) {
  const { limit = usual, offset = 0 } = yield* read
  return {
    items: all.slice(offset, offset + limit),
    cursor: { offset, limit, total_count: all.length }
  }
})
