/**
 * The turns of an attempt that a datum holds, as records write them: in a row from the first one, unless turns of other branches come
 * between them.
 *
 * @example
 * TurnIndices.encode([2, 3, 4]) // { firstTurn: 2, turns: 3 }
 * TurnIndices.encode([0, 2]) // { firstTurn: 0, turns: 2, indices: [0, 2] }
 */
import * as Schema from "effect/Schema"

export const fields = {
  firstTurn: Schema.Int,
  /** How many there are. */
  turns: Schema.Int,
  /** All of them, where they are not in a row. */
  indices: Schema.optionalKey(Schema.Array(Schema.Int))
}

const TurnIndices = Schema.Struct(fields)
export type TurnIndices = typeof TurnIndices.Type

export const encode = (indices: ReadonlyArray<number>): TurnIndices => {
  const [firstTurn = 0] = indices
  const isRow = indices.every((turn, at) => turn === firstTurn + at)
  return { firstTurn, turns: indices.length, ...(isRow ? {} : { indices }) }
}

/** The indices that `encode` wrote. */
export const decode = ({ firstTurn, indices, turns }: TurnIndices): ReadonlyArray<number> =>
  indices ?? Array.from({ length: turns }, (_, at) => firstTurn + at)
