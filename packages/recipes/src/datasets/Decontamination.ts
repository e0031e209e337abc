/** Removes training rows that repeat held-out rows. */

/** The text in lower case with white space collapsed, for comparison. */
export const normal = (text: string): string => text.toLowerCase().replace(/\s+/g, " ").trim()

/**
 * The rows whose text differs from that of every held-out row, ignoring case and white space.
 *
 * @example
 * const clean = Decontamination.without(["What is 2 + 2?", "What is 2 + 3?"], ["what is 2 + 2?"], (question) => question)
 */
export const without = <A>(
  rows: ReadonlyArray<A>,
  heldOut: ReadonlyArray<string>,
  textOf: (row: A) => string
): ReadonlyArray<A> => {
  const texts = new Set(heldOut.map(normal))
  return rows.filter((row) => !texts.has(normal(textOf(row))))
}

/** Held-out texts with at least this many words are also found within other texts. */
const fewestWords = 5

/** The number of consecutive words by which long texts are found, as in GPT-3's decontamination. */
const mostWords = 13

const runs = (words: ReadonlyArray<string>, length: number) =>
  Array.from({ length: Math.max(0, words.length - length + 1) }, (_, at) => words.slice(at, at + length).join(" "))

/**
 * Whether a text repeats a held-out text, ignoring case and white space: it equals the held-out text, shares 13
 * consecutive words with it, or contains it whole if it has 5 to 12 words.
 *
 * @example
 * const isHeldOut = Decontamination.repeating(["What is the capital of Peru?"])
 * isHeldOut("Answer briefly. What is the capital of Peru?") // true
 */
export const repeating = (heldOut: ReadonlyArray<string>): (text: string) => boolean => {
  const texts = new Set(heldOut.map(normal))
  const found = new Map<number, Set<string>>()
  for (const words of Array.from(texts, (text) => text.split(" "))) {
    if (words.length < fewestWords) continue
    const length = Math.min(words.length, mostWords)
    const known = found.get(length) ?? new Set()
    found.set(length, known)
    for (const run of runs(words, length)) known.add(run)
  }
  return (text) => {
    const own = normal(text)
    if (texts.has(own)) return true
    const words = own.split(" ")
    return Array.from(found).some(([length, known]) => runs(words, length).some((run) => known.has(run)))
  }
}
