/**
 * Keys of groups, attempts and turns. A key is known before its rollout starts: seeds, records and span names derive from it, and readers
 * use it to join records.
 *
 * @example
 * Key.toString({ iteration: 3, group: "sum 17", member: 0, attempt: 0, turn: 1 })
 * Key.ofGroup({ iteration: 7, key: "gsm8k/12" }) // "7/gsm8k/12"
 * Key.ofGroup({ iteration: 7, key: "gsm8k/12", evaluator: "held_out" }) // "7@held_out/gsm8k/12"
 * const order = ({ seed }: Key.Attempt) => Seed.permutation(52, seed)
 */
import * as Schema from "effect/Schema"
import * as Seed from "./Seed.ts"

/** Identifies a group that was rolled out for training or, if `evaluator` is set, for an evaluation. */
export interface GroupId {
  readonly evaluator?: string | undefined
  /** The dataset batch of the group; in an evaluation, the number of iterations that the measured weights were trained for. */
  readonly iteration: number
  readonly key: string
}

const named = (evaluator: string) => `@${evaluator.replaceAll("%", "%25").replaceAll("/", "%2F")}`

/** The id as a text, different for different ids. */
export const ofGroup = ({ evaluator, iteration, key }: GroupId): string =>
  `${iteration}${evaluator === undefined ? "" : named(evaluator)}/${key}`

/** The group as shown to people; training iterations count from 1. */
export const describeGroup = ({ evaluator, iteration, key }: GroupId): string =>
  evaluator === undefined
    ? `${key} of iteration ${iteration + 1}`
    : `${key} of ${evaluator} after ${iteration} iteration${iteration === 1 ? "" : "s"}`

/** One attempt of one member of one group in one iteration. */
export interface MemberKey {
  readonly iteration: number
  readonly group: string
  readonly member: number
  readonly attempt: number
}

/** One attempt to play a member or to grade a group: its place in the run, and the seed for all its randomness. */
export interface Attempt {
  readonly iteration: number
  /** The number of earlier attempts: 0 for the first attempt. */
  readonly attempt: number
  /** Unique within a run, such as `7/capitals/m3/a0` for a member and `7/capitals/a0` for a group. Request keys start with it. */
  readonly key: string
  /** Derived from the run's seed and the key, so it is the same in every run with that seed. */
  readonly seed: number
}

const attempt = (seed: number, iteration: number, attempt: number, key: string): Attempt => ({
  iteration,
  attempt,
  key,
  seed: Seed.derive(seed, "attempt", key)
})

/** The attempt to acquire and play one member. */
export const memberAttempt = (seed: number, { attempt: index, group, iteration, member }: MemberKey): Attempt =>
  attempt(seed, iteration, index, `${iteration}/${group}/m${member}/a${index}`)

/** The attempt to grade a whole group. */
export const groupAttempt = (
  seed: number,
  { attempt: index, group, iteration }: Omit<MemberKey, "member">
): Attempt => attempt(seed, iteration, index, `${iteration}/${group}/a${index}`)

/** One turn of an attempt. */
export interface TurnKey extends MemberKey {
  readonly turn: number
}

/** A readable path such as `7/gsm8k/12/m3/a0/t1`. */
export const toString = (key: TurnKey) => `${key.iteration}/${key.group}/m${key.member}/a${key.attempt}/t${key.turn}`

/**
 * Schema fields for the turns of an attempt from which a datum was built. The turns are consecutive, unless turns of other branches lie
 * between them.
 */
export const turnFields = {
  firstTurn: Schema.Int,
  /** The number of turns. */
  turns: Schema.Int,
  /** All turn indices, if they are not consecutive. */
  indices: Schema.optionalKey(Schema.Array(Schema.Int))
}

const Turns = Schema.Struct(turnFields)
export type Turns = typeof Turns.Type

/** Encodes turn indices for records: `[2, 3, 4]` becomes `{ firstTurn: 2, turns: 3 }`. Without indices, `firstTurn` is 0. */
export const encodeTurns = (indices: ReadonlyArray<number>): Turns => {
  const [firstTurn = 0] = indices
  const isRow = indices.every((turn, at) => turn === firstTurn + at)
  return { firstTurn, turns: indices.length, ...(isRow ? {} : { indices }) }
}

/** Returns the turn indices that `encodeTurns` encoded. */
export const decodeTurns = ({ firstTurn, indices, turns }: Turns): ReadonlyArray<number> =>
  indices ?? Array.from({ length: turns }, (_, at) => firstTurn + at)
