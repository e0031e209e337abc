/** Where a reinforcement learning run goes on. */
import * as Schema from "effect/Schema"

export const Cursor = Schema.Struct({
  iteration: Schema.Int,
  /** Index of the next batch; ahead of the iteration where one took several batches. */
  batch: Schema.Int,
  /** What the credit remembers of earlier iterations; see `Credit.assign`. */
  credit: Schema.Json
})
export interface Cursor extends Schema.Schema.Type<typeof Cursor> {}

export const start: Cursor = { iteration: 0, batch: 0, credit: null }
