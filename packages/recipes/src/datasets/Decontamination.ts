/** Removes training rows that repeat held-out rows. */

/** The text in lower case with white space collapsed, for comparison. */
export const normal = (text: string): string => text.toLowerCase().replace(/\s+/g, " ").trim()

/**
 * The rows whose text differs from that of every held-out row, ignoring case and white space.
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
