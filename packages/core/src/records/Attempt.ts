/**
 * One attempt at playing a member or grading a group: where in the run it happens, and the seed for everything random in it.
 *
 * @example
 * const order = ({ seed }: Attempt.Attempt) => Seed.permutation(52, seed)
 */
import type { MemberKey } from "./Key.ts"
import * as Seed from "./Seed.ts"

/** The place of an attempt in a run, and its seed. */
export interface Attempt {
  readonly iteration: number
  /** 0 for the first attempt, one more for each retry. */
  readonly attempt: number
  /** Unique within a run, such as `7/capitals/m3/a0` for a member and `7/capitals/a0` for a group; the prefix of the keys of requests. */
  readonly key: string
  /** Derived from the run's seed and the key: equal keys have equal seeds, in every run with the same seed. */
  readonly seed: number
}

const make = (seed: number, iteration: number, attempt: number, key: string): Attempt => ({
  iteration,
  attempt,
  key,
  seed: Seed.derive(seed, "attempt", key)
})

/** An attempt at acquiring and playing one member. */
export const member = (seed: number, { attempt, group, iteration, member }: MemberKey): Attempt =>
  make(seed, iteration, attempt, `${iteration}/${group}/m${member}/a${attempt}`)

/** An attempt at grading a whole group. */
export const group = (seed: number, { attempt, group, iteration }: Omit<MemberKey, "member">): Attempt =>
  make(seed, iteration, attempt, `${iteration}/${group}/a${attempt}`)
