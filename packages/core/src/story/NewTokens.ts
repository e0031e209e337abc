/**
 * The tokens that a turn's prompt adds to the turn that it continues.
 *
 * @example
 * const turns = [{ prompt: [1, 2], tokens: [3] }, { prompt: [1, 2, 3, 4], tokens: [5] }]
 * const added = [1, 2, 3, 4].slice(NewTokens.from(turns, 1)) // [4]
 */
import * as Branch from "../env/Branch.ts"

/** The tokens of a turn; a prompt has null for image positions. */
export interface Turn {
  readonly prompt: ReadonlyArray<number | null>
  readonly tokens: ArrayLike<number>
  /** The point from which the prompt continues; set if that is not the end of the previous turn. */
  readonly branch?: Branch.Branch | null | undefined
}

/**
 * Index of the first token of a turn's prompt that is not part of the turn that it continues. 0 if it continues no turn, or if the prompt
 * does not start with that turn's tokens.
 */
export const from = (turns: ReadonlyArray<Turn>, index: number): number => {
  const turn = turns[index]
  const before = turns[Branch.previous(index, turn?.branch ?? undefined)]
  if (turn === undefined || before === undefined) return 0
  const { length } = before.prompt
  const isContinued = before.prompt.every((token, at) => token === turn.prompt[at])
    && Array.from(before.tokens).every((token, at) => token === turn.prompt[length + at])
  return isContinued ? length + before.tokens.length : 0
}
