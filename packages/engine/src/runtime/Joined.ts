/** Joins arrays into a single array: posting many small arrays to a thread is slower than posting one. */

/** Several number arrays, joined into one. */
export interface Joined<A> {
  readonly values: A
  /** The start of each array in `values`, followed by the end of the last array. */
  readonly starts: Int32Array
}

interface Writable<A> {
  readonly length: number
  readonly set: (part: A, at: number) => void
}

const join = <A extends Writable<A>>(parts: ReadonlyArray<A>, make: (length: number) => A): Joined<A> => {
  const starts = new Int32Array(parts.length + 1)
  parts.forEach(({ length }, index) => {
    starts[index + 1] = (starts[index] ?? 0) + length
  })
  const values = make(starts[parts.length] ?? 0)
  parts.forEach((part, index) => values.set(part, starts[index] ?? 0))
  return { values, starts }
}

export const integers = (parts: ReadonlyArray<Int32Array>) => join(parts, (length) => new Int32Array(length))

export const floats = (parts: ReadonlyArray<Float32Array>) => join(parts, (length) => new Float32Array(length))

export const bytes = (parts: ReadonlyArray<Uint8Array>) => join(parts, (length) => new Uint8Array(length))

/** Returns a function that gives a view of the array at an index. The function throws `RangeError` for an index out of range. */
export const part = <A extends { readonly subarray: (start: number, end: number) => A }>(
  { starts, values }: Joined<A>
) =>
(index: number): A => {
  const [start, end] = [starts[index], starts[index + 1]]
  if (start === undefined || end === undefined) {
    throw new RangeError(`there are ${starts.length - 1} arrays and no array ${index}`)
  }
  return values.subarray(start, end)
}

/** Views of all arrays. */
export const parts = <A extends { readonly subarray: (start: number, end: number) => A }>(
  joined: Joined<A>
): ReadonlyArray<A> => {
  const at = part(joined)
  return Array.from({ length: joined.starts.length - 1 }, (_, index) => at(index))
}
