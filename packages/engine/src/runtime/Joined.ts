/** Arrays one after the other in a single array: to post an array to a thread takes longer than to post its numbers. */

/** Several arrays of numbers. */
export interface Joined<A> {
  readonly values: A
  /** Where each array begins in `values`, and at last where the last one ends. */
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

/** The arrays by their place, as views of the joined one. */
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

/** All arrays, as views of the joined one. */
export const parts = <A extends { readonly subarray: (start: number, end: number) => A }>(
  joined: Joined<A>
): ReadonlyArray<A> => {
  const at = part(joined)
  return Array.from({ length: joined.starts.length - 1 }, (_, index) => at(index))
}
