/**
 * Keys of attempts and turns. Everything has its key before it happens; seeds, records and span names derive from it.
 *
 * @example
 * Key.toString({ iteration: 3, group: "sum 17", member: 0, attempt: 0, turn: 1 })
 */

/** One attempt of one member of one group in one iteration. */
export interface MemberKey {
  readonly iteration: number
  readonly group: string
  readonly member: number
  readonly attempt: number
}

/** One turn of that attempt. */
export interface TurnKey extends MemberKey {
  readonly turn: number
}

/** A readable path such as `7/gsm8k/12/m3/a0/t1`. */
export const toString = (key: TurnKey) => `${key.iteration}/${key.group}/m${key.member}/a${key.attempt}/t${key.turn}`
