/**
 * Keys of groups, attempts and turns. Everything has its key before it happens; seeds, records and span names derive from it, and readers
 * join what is recorded by it.
 *
 * @example
 * Key.toString({ iteration: 3, group: "sum 17", member: 0, attempt: 0, turn: 1 })
 * Key.ofGroup({ iteration: 7, key: "gsm8k/12" }) // "7/gsm8k/12"
 * Key.ofGroup({ iteration: 7, key: "gsm8k/12", evaluator: "held_out" }) // "7@held_out/gsm8k/12"
 * const order = ({ seed }: Key.Attempt) => Seed.permutation(52, seed)
 */
import * as Schema from "effect/Schema"
import * as Seed from "./Seed.ts"

/** A group that was rolled out for training or, where an evaluator is named, for its measurement. */
export interface GroupId {
  readonly evaluator?: string | undefined
  /** The dataset's batch to which it belongs; of an evaluation, the iterations behind the measured weights. */
  readonly iteration: number
  readonly key: string
}

const named = (evaluator: string) => `@${evaluator.replaceAll("%", "%25").replaceAll("/", "%2F")}`

/** The id as text, which differs for different groups. */
export const ofGroup = ({ evaluator, iteration, key }: GroupId): string =>
  `${iteration}${evaluator === undefined ? "" : named(evaluator)}/${key}`

/** The group for people, who count iterations from 1. */
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

/** One attempt at playing a member or grading a group: its place in a run, and the seed for everything random in it. */
export interface Attempt {
  readonly iteration: number
  /** 0 for the first attempt, one more for each retry. */
  readonly attempt: number
  /** Unique within a run, such as `7/capitals/m3/a0` for a member and `7/capitals/a0` for a group; the prefix of the keys of requests. */
  readonly key: string
  /** Derived from the run's seed and the key: equal keys have equal seeds, in every run with the same seed. */
  readonly seed: number
}

const attempt = (seed: number, iteration: number, attempt: number, key: string): Attempt => ({
  iteration,
  attempt,
  key,
  seed: Seed.derive(seed, "attempt", key)
})

/** An attempt at acquiring and playing one member. */
export const memberAttempt = (seed: number, { attempt: index, group, iteration, member }: MemberKey): Attempt =>
  attempt(seed, iteration, index, `${iteration}/${group}/m${member}/a${index}`)

/** An attempt at grading a whole group. */
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

/** The turns of an attempt that a datum holds: in a row from the first one, unless turns of other branches come between them. */
export const turnFields = {
  firstTurn: Schema.Int,
  /** How many there are. */
  turns: Schema.Int,
  /** All of them, where they are not in a row. */
  indices: Schema.optionalKey(Schema.Array(Schema.Int))
}

const Turns = Schema.Struct(turnFields)
export type Turns = typeof Turns.Type

/** The turns as records write them: `[2, 3, 4]` as `{ firstTurn: 2, turns: 3 }`. */
export const encodeTurns = (indices: ReadonlyArray<number>): Turns => {
  const [firstTurn = 0] = indices
  const isRow = indices.every((turn, at) => turn === firstTurn + at)
  return { firstTurn, turns: indices.length, ...(isRow ? {} : { indices }) }
}

/** The indices that `encodeTurns` wrote. */
export const decodeTurns = ({ firstTurn, indices, turns }: Turns): ReadonlyArray<number> =>
  indices ?? Array.from({ length: turns }, (_, at) => firstTurn + at)
