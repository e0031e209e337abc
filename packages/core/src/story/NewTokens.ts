/**
 * The tokens that a turn's prompt adds to the turn which it continues.
 *
 * @example
 * const turns = [{ prompt: [1, 2], tokens: [3] }, { prompt: [1, 2, 3, 4], tokens: [5] }]
 * const added = [1, 2, 3, 4].slice(NewTokens.from(turns, 1)) // [4]
 */
import * as Branch from "../env/Branch.ts"

/** A turn's tokens; a prompt has null where an image lies. */
export interface Turn {
  readonly prompt: ReadonlyArray<number | null>
  readonly tokens: ArrayLike<number>
  /** The turn that it continues, where that is not the one before. */
  readonly branch?: Branch.Branch | null | undefined
}

/** Index of the first token of a turn's prompt that is not in the turn which it continues; 0 where it continues none. */
export const from = (turns: ReadonlyArray<Turn>, index: number): number => {
  const turn = turns[index]
  const before = turns[Branch.previous(index, turn?.branch ?? undefined)]
  if (turn === undefined || before === undefined) return 0
  const { length } = before.prompt
  const isContinued = before.prompt.every((token, at) => token === turn.prompt[at])
    && Array.from(before.tokens).every((token, at) => token === turn.prompt[length + at])
  return isContinued ? length + before.tokens.length : 0
}
