/** Training rows that do not repeat held-out ones. */

/** The same text whatever its white space and letter case. */
export const normal = (text: string): string => text.toLowerCase().replace(/\s+/g, " ").trim()

/**
 * The rows whose text is not the text of a held-out row.
 *
 * @example
 * const clean = Decontamination.without(["What is 2 + 2?", "What is 2 + 3?"], ["what is 2+2"], (question) => question)
 */
export const without = <A>(
  rows: ReadonlyArray<A>,
  heldOut: ReadonlyArray<string>,
  textOf: (row: A) => string
): ReadonlyArray<A> => {
  const texts = new Set(heldOut.map(normal))
  return rows.filter((row) => !texts.has(normal(textOf(row))))
}
