/** Finds markers in text that arrives in pieces. */

/** A marker found in a text, and its index. */
export interface Found {
  readonly index: number
  readonly marker: string
}

/** The first marker in the text, the longer of two at the same position; undefined if there is none. */
export const first = (text: string, markers: ReadonlyArray<string>): Found | undefined =>
  markers
    .map((marker) => ({ marker, index: text.indexOf(marker) }))
    .filter(({ index }) => index !== -1)
    .toSorted((left, right) => left.index - right.index || right.marker.length - left.marker.length)[0]

const endsWithBeginning = (text: string, marker: string): number => {
  for (let length = Math.min(text.length, marker.length - 1); length > 0; length--) {
    if (text.endsWith(marker.slice(0, length))) return length
  }
  return 0
}

/** The length of the text without an ending that may be the start of a marker. */
export const safeLength = (text: string, markers: ReadonlyArray<string>): number =>
  text.length - Math.max(0, ...markers.map((marker) => endsWithBeginning(text, marker)))
