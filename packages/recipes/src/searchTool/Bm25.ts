/** Keyword search: documents ranked by BM25. */

/** Documents with the word counts that ranking needs. */
export interface Index {
  readonly documents: ReadonlyArray<string>
  /** For each word, its count in each document that contains it. */
  readonly postings: ReadonlyMap<string, ReadonlyMap<number, number>>
  /** Words of each document. */
  readonly lengths: ReadonlyArray<number>
  readonly meanLength: number
}

/** BM25's k1: how much repetitions of a word count. */
const saturation = 1.2
/** BM25's b: how much the length of a document counts against it. */
const lengthWeight = 0.75

const wordsOf = (text: string) => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []

/**
 * Builds the index of documents.
 *
 * @example
 * const index = Bm25.make(["The lighthouse of Cape Marlin was built in 1871.", "The harbour of Cape Marlin has 34 berths."])
 * const [lighthouse] = Bm25.search(index, "lighthouse Marlin", 1)
 */
export const make = (documents: ReadonlyArray<string>): Index => {
  const postings = new Map<string, Map<number, number>>()
  const lengths = documents.map((document, at) => {
    const words = wordsOf(document)
    for (const word of words) {
      const counts = postings.get(word) ?? new Map<number, number>()
      postings.set(word, counts.set(at, (counts.get(at) ?? 0) + 1))
    }
    return words.length
  })
  const meanLength = lengths.reduce((sum, length) => sum + length, 0) / Math.max(1, lengths.length)
  return { documents, postings, lengths, meanLength }
}

/**
 * At most `most` documents that share a word with the query, the best first, and the earlier one first if two are equally good. Words count
 * by their inverse document frequency, as in Lucene. Case and punctuation do not count.
 */
export const search = (
  { documents, lengths, meanLength, postings }: Index,
  query: string,
  most: number
): ReadonlyArray<string> => {
  const scores = new Float64Array(documents.length)
  for (const word of new Set(wordsOf(query))) {
    const counts = postings.get(word) ?? new Map<number, number>()
    const rarity = Math.log1p((documents.length - counts.size + 0.5) / (counts.size + 0.5))
    for (const [at, count] of counts) {
      const length = 1 - lengthWeight + lengthWeight * (lengths[at] ?? 0) / meanLength
      scores[at] = (scores[at] ?? 0) + rarity * count * (saturation + 1) / (count + saturation * length)
    }
  }
  // Sorting all documents would take most of the time.
  const best: Array<number> = []
  const scoreOf = (at: number | undefined) => at === undefined ? 0 : scores[at] ?? 0
  for (const [at, score] of scores.entries()) {
    if (score === 0 || (best.length === most && score <= scoreOf(best.at(-1)))) continue
    const place = best.findIndex((other) => score > scoreOf(other))
    best.splice(place < 0 ? best.length : place, 0, at)
    if (best.length > most) best.pop()
  }
  return best.flatMap((at) => documents[at] ?? [])
}
