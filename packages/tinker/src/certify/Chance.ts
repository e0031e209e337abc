/** Deterministic pseudo-random numbers, the same in every certificate. */

/** A number in [0, 1) that depends only on `stream` and `at`. */
export const share = (stream: number, at: number): number => {
  let bits = Math.imul(stream + 1, 0x9e3779b1) ^ Math.imul(at + 1, 0x85ebca6b)
  bits = Math.imul(bits ^ bits >>> 15, 0x2c1b3c6d)
  bits = Math.imul(bits ^ bits >>> 12, 0x297a2d39)
  return ((bits ^ bits >>> 15) >>> 0) / 2 ** 32
}

/** An integer from `least` to `most`, inclusive. */
export const whole = (stream: number, at: number, least: number, most: number): number =>
  least + Math.floor(share(stream, at) * (most - least + 1))

/** One of the given values, selected by stream and position. */
export const one = <A>(stream: number, at: number, [first, ...others]: readonly [A, ...ReadonlyArray<A>]): A =>
  [first, ...others][whole(stream, at, 0, others.length)] ?? first
