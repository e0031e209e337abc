/**
 * The exponential's constants, stored in the first bytes of the memory, which are never allocated. V8 would rebuild a constant vector for
 * each use in four to seven instructions; a load is one instruction.
 */
const constants = memory.data<f32>([
  // 0 and 1: the largest and smallest argument.
  88.0,
  -87.0,
  // 2 and 3: log₂e, and 1.5·2²³, which removes the fraction of a number that is added to it.
  1.44269504088896341,
  12582912.0,
  // 4 and 5: −ln 2 in two parts.
  -0.693359375,
  2.12194440e-4,
  // 6 to 11: the polynomial's coefficients, from the highest power to the second.
  1.9875691500e-4,
  1.3981999507e-3,
  8.3334519073e-3,
  4.1665795894e-2,
  1.6666665459e-1,
  5.0000001201e-1,
  // 12.
  1.0
])

// @ts-ignore: decorator
@inline
function constant(index: usize): v128 {
  return v128.load32_splat(constants + (index << 2))
}

/** Lanes of 1. */
// @ts-ignore: decorator
@inline
export function ones(): v128 {
  return constant(12)
}

/** x·log₂e + 1.5·2²³; the addition rounds x·log₂e to a whole number n. */
// @ts-ignore: decorator
@inline
function rounded(x: v128, log2e: v128, rounder: v128): v128 {
  return f32x4.add(f32x4.mul(x, log2e), rounder)
}

/** p·2ⁿ from the low bits of n + 1.5·2²³. The shift drops all other bits; the bits of 1 add the exponent bias, 127. */
// @ts-ignore: decorator
@inline
function scaled(p: v128, rounded: v128, one: v128): v128 {
  return f32x4.mul(p, i32x4.add(i32x4.shl(rounded, 23), one))
}

/** Cephes expf on four lanes, with relative error below 1e-7. The argument is clamped to [-87, 88], so no lane is 0. */
// @ts-ignore: decorator
@inline
export function exp4(argument: v128): v128 {
  const x = f32x4.pmax(f32x4.pmin(argument, constant(0)), constant(1))
  const sum = rounded(x, constant(2), constant(3))
  const n = f32x4.sub(sum, constant(3))
  const r = f32x4.relaxed_madd(n, constant(5), f32x4.relaxed_madd(n, constant(4), x))
  let p = constant(6)
  p = f32x4.relaxed_madd(p, r, constant(7))
  p = f32x4.relaxed_madd(p, r, constant(8))
  p = f32x4.relaxed_madd(p, r, constant(9))
  p = f32x4.relaxed_madd(p, r, constant(10))
  p = f32x4.relaxed_madd(p, r, constant(11))
  p = f32x4.add(f32x4.relaxed_madd(p, f32x4.mul(r, r), r), ones())
  return scaled(p, sum, ones())
}

/** Stores `exp4` of two vectors with interleaved steps: V8 combines vectors into one of 256 bits if they share constants. */
// @ts-ignore: decorator
@inline
export function storeExp8(target: usize, low: v128, high: v128): void {
  const most = constant(0)
  const least = constant(1)
  const x0 = f32x4.pmax(f32x4.pmin(low, most), least)
  const x1 = f32x4.pmax(f32x4.pmin(high, most), least)
  const log2e = constant(2)
  const rounder = constant(3)
  const sum0 = rounded(x0, log2e, rounder)
  const sum1 = rounded(x1, log2e, rounder)
  const n0 = f32x4.sub(sum0, rounder)
  const n1 = f32x4.sub(sum1, rounder)
  let c = constant(4)
  let r0 = f32x4.relaxed_madd(n0, c, x0)
  let r1 = f32x4.relaxed_madd(n1, c, x1)
  c = constant(5)
  r0 = f32x4.relaxed_madd(n0, c, r0)
  r1 = f32x4.relaxed_madd(n1, c, r1)
  const first = constant(6)
  c = constant(7)
  let p0 = f32x4.relaxed_madd(first, r0, c)
  let p1 = f32x4.relaxed_madd(first, r1, c)
  c = constant(8)
  p0 = f32x4.relaxed_madd(p0, r0, c)
  p1 = f32x4.relaxed_madd(p1, r1, c)
  c = constant(9)
  p0 = f32x4.relaxed_madd(p0, r0, c)
  p1 = f32x4.relaxed_madd(p1, r1, c)
  c = constant(10)
  p0 = f32x4.relaxed_madd(p0, r0, c)
  p1 = f32x4.relaxed_madd(p1, r1, c)
  c = constant(11)
  p0 = f32x4.relaxed_madd(p0, r0, c)
  p1 = f32x4.relaxed_madd(p1, r1, c)
  const one = ones()
  p0 = f32x4.add(f32x4.relaxed_madd(p0, f32x4.mul(r0, r0), r0), one)
  p1 = f32x4.add(f32x4.relaxed_madd(p1, f32x4.mul(r1, r1), r1), one)
  v128.store(target, scaled(p0, sum0, one))
  v128.store(target, scaled(p1, sum1, one), 16)
}

/** exp(x − shift) in place for `bytes` bytes of floats, rounded up to whole vectors. */
// @ts-ignore: decorator
@inline
export function storeExp(place: usize, bytes: usize, shift: v128): void {
  const end = place + bytes
  for (; place + 16 < end; place += 32) {
    const x0 = v128.load(place)
    const x1 = v128.load(place, 16)
    storeExp8(place, f32x4.sub(x0, shift), f32x4.sub(x1, shift))
  }
  if (place < end) v128.store(place, exp4(f32x4.sub(v128.load(place), shift)))
}
