/**
 * The tokens that a turn's prompt adds to the turn before it.
 *
 * @example
 * const added = [1, 2, 3, 4].slice(NewTokens.from([1, 2, 3, 4], { prompt: [1, 2], tokens: [3] })) // [4]
 */

/** A turn's tokens; a prompt has null where an image lies. */
interface Turn {
  readonly prompt: ReadonlyArray<number | null>
  readonly tokens: ArrayLike<number>
}

/** Index of the first token of the prompt after the prompt and response of the turn before; 0 without one or after a fork. */
export const from = (prompt: Turn["prompt"], before: Turn | undefined): number => {
  if (before === undefined) return 0
  const { prompt: shown, tokens } = before
  const isContinued = shown.every((token, at) => token === prompt[at])
    && Array.from(tokens).every((token, at) => token === prompt[shown.length + at])
  return isContinued ? shown.length + tokens.length : 0
}
