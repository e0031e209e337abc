/**
 * Suggests the known name closest to a mistyped one.
 *
 * @example
 * const message = Suggestion.describe("qwen3_instuct", Renderers.names)
 */

/** The edit distance: the number of insertions, deletions and replacements that turn one text into the other. */
const distance = (left: string, right: string): number => {
  let row = Array.from({ length: right.length + 1 }, (_, column) => column)
  for (let i = 0; i < left.length; i++) {
    const next = [i + 1]
    for (let j = 0; j < right.length; j++) {
      const replaced = (row[j] ?? 0) + Number(left[i] !== right[j])
      next.push(Math.min(replaced, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1))
    }
    row = next
  }
  return row[right.length] ?? 0
}

/** The known name with the smallest edit distance, ignoring case; undefined if every distance is more than half the known name's length. */
export const nearest = (name: string, known: ReadonlyArray<string>): string | undefined => {
  const wanted = name.toLowerCase()
  const ranked = known
    .map((candidate) => ({ candidate, edits: distance(wanted, candidate.toLowerCase()) }))
    .filter(({ candidate, edits }) => edits <= candidate.length / 2)
    .toSorted((left, right) => left.edits - right.edits)
  return ranked[0]?.candidate
}

/** The suggestion as text, such as `did you mean "x"? Choose from: x, y`; only the choices if no name is close. */
export const describe = (name: string, known: ReadonlyArray<string>): string => {
  const close = nearest(name, known)
  const names = known.join(", ")
  return close === undefined ? `choose from: ${names}` : `did you mean "${close}"? Choose from: ${names}`
}
