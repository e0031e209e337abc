/** Sizes that a caller gives. */

/** Throws where `value` is not a positive whole number. */
export const check = (field: string, value: number): void => {
  if (!Number.isSafeInteger(value) || value < 1) {
    throw new RangeError(`${field} is ${value}, expected a whole number of at least 1`)
  }
}
