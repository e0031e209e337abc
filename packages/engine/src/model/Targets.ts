/** The tokens whose log-probabilities are needed at each row. Sequences that share a row may have different targets. */

/** One sequence's targets `[tokens, candidates]`, and the row of each of its tokens; -1 for tokens that are not read. */
export interface Wanted {
  readonly rows: Int32Array
  readonly tokens: Int32Array
  readonly candidates: number
}

/** Row r has the tokens at `starts[r]` to `starts[r + 1]` (exclusive). */
export interface Targets {
  readonly starts: Int32Array
  readonly tokens: Int32Array
  /** For each sequence, the index in `tokens` of each target; -1 for targets that are not read. */
  readonly placesS: ReadonlyArray<Int32Array>
}

/** The index at which each row's targets start. */
const startsOf = (wanted: ReadonlyArray<Wanted>, rowCount: number): Int32Array => {
  const starts = new Int32Array(rowCount + 1)
  for (const { candidates, rows } of wanted) {
    for (const row of rows) if (row >= 0) starts[row + 1] = (starts[row + 1] ?? 0) + candidates
  }
  for (let row = 0; row < rowCount; row++) starts[row + 1] = (starts[row + 1] ?? 0) + (starts[row] ?? 0)
  return starts
}

/** Collects the targets of each row, in the order of the sequences. */
export const make = (wanted: ReadonlyArray<Wanted>, rowCount: number): Targets => {
  const starts = startsOf(wanted, rowCount)
  const next = starts.slice()
  const tokens = new Int32Array(starts[rowCount] ?? 0)
  const placesS = wanted.map((sequence) => {
    const places = new Int32Array(sequence.tokens.length).fill(-1)
    sequence.rows.forEach((row, t) => {
      if (row < 0) return
      const place = next[row] ?? 0
      next[row] = place + sequence.candidates
      for (let k = 0; k < sequence.candidates; k++) {
        tokens[place + k] = sequence.tokens[t * sequence.candidates + k] ?? 0
        places[t * sequence.candidates + k] = place + k
      }
    })
    return places
  })
  return { starts, tokens, placesS }
}

/** The targets of the rows from `start` to `end`, numbered relative to `start`. */
export const slice = ({ starts, tokens }: Omit<Targets, "placesS">, start: number, end: number) => {
  const [first = 0] = starts.subarray(start)
  const own = starts.subarray(start, end + 1).map((place) => place - first)
  return { starts: own, tokens: tokens.subarray(first, first + (own.at(-1) ?? 0)), first }
}
