/** Batches of groups to roll out. */
import * as Effect from "effect/Effect"
import type * as Env from "../env/Env.ts"
import type { EnvGroupBuilder } from "../env/EnvGroupBuilder.ts"
import * as Seed from "../record/Seed.ts"

/**
 * `length` batches; `batch(i, seed)` is a pure function of both, as resuming calls it again. The fingerprint names the data
 * and their order, and is compared on resume.
 *
 * @see tinker-cookbook `RLDataset`
 */
export interface RLDataset<out E = never, out R = never> {
  readonly length: number
  readonly fingerprint: string
  readonly batch: (index: number, seed: number) => Effect.Effect<ReadonlyArray<EnvGroupBuilder<E, R>>, E, R>
}

export interface FromArrayOptions<A, B> {
  readonly batchSize: number
  readonly group: (row: A, index: number) => B
  /** In how many passes the rows are gone through; default 1. */
  readonly epochs?: number
  /** Each pass in an order of its own, derived from the run's seed; default false. */
  readonly shuffle?: boolean
}
