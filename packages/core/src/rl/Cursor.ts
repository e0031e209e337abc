/** Where a reinforcement learning run goes on. */
import * as Schema from "effect/Schema"

export const Cursor = Schema.Struct({
  /** Index of the next batch. */
  batch: Schema.Int,
  /** What the credit remembers of earlier iterations; see `Credit.assign`. */
  credit: Schema.Json
})
export interface Cursor extends Schema.Schema.Type<typeof Cursor> {}

export const start: Cursor = { batch: 0, credit: null }
