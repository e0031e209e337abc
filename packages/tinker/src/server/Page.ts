/** The part of a listing that was asked for. */
import * as Effect from "effect/Effect"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as Schema from "effect/Schema"
import { invalid } from "./Refusal.ts"

const Count = Schema.FiniteFromString.check(Schema.isInt(), Schema.isGreaterThanOrEqualTo(0))

const Params = Schema.Struct({ limit: Schema.optionalKey(Count), offset: Schema.optionalKey(Count) })

/** Its items, and where in the whole list they lie; `usual` is the limit where none is given. */
export const of = Effect.fnUntraced(function*<A>(all: ReadonlyArray<A>, usual: number) {
  const { limit = usual, offset = 0 } = yield* Effect.mapError(
    HttpServerRequest.schemaSearchParams(Params),
    ({ message }) => invalid(message)
  )
  return {
    items: all.slice(offset, offset + limit),
    cursor: { offset, limit, total_count: all.length }
  }
})
