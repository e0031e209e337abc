// @ts-ignore: decorator
@inline
export function horizontalSum(v: v128): f32 {
  return (f32x4.extract_lane(v, 0) + f32x4.extract_lane(v, 1)) + (f32x4.extract_lane(v, 2) + f32x4.extract_lane(v, 3))
}

// @ts-ignore: decorator
@inline
export function horizontalMax(v: v128): f32 {
  return max(
    max(f32x4.extract_lane(v, 0), f32x4.extract_lane(v, 1)),
    max(f32x4.extract_lane(v, 2), f32x4.extract_lane(v, 3))
  )
}

/** Cephes expf on four lanes, relative error below 1e-7; the argument is clamped to [-87, 88], so no lane is ever 0. */
// @ts-ignore: decorator
@inline
export function exp4(argument: v128): v128 {
  const x = f32x4.max(f32x4.min(argument, f32x4.splat(88.0)), f32x4.splat(-87.0))
  const n = f32x4.nearest(f32x4.mul(x, f32x4.splat(1.44269504088896341)))
  let r = f32x4.relaxed_madd(n, f32x4.splat(-0.693359375), x)
  r = f32x4.relaxed_madd(n, f32x4.splat(2.12194440e-4), r)
  let p = f32x4.splat(1.9875691500e-4)
  p = f32x4.relaxed_madd(p, r, f32x4.splat(1.3981999507e-3))
  p = f32x4.relaxed_madd(p, r, f32x4.splat(8.3334519073e-3))
  p = f32x4.relaxed_madd(p, r, f32x4.splat(4.1665795894e-2))
  p = f32x4.relaxed_madd(p, r, f32x4.splat(1.6666665459e-1))
  p = f32x4.relaxed_madd(p, r, f32x4.splat(5.0000001201e-1))
  p = f32x4.add(f32x4.relaxed_madd(p, f32x4.mul(r, r), r), f32x4.splat(1.0))
  return f32x4.mul(p, i32x4.shl(i32x4.add(i32x4.trunc_sat_f32x4_s(n), i32x4.splat(127)), 23))
}

// @ts-ignore: decorator
@inline
export function sigmoid4(x: v128): v128 {
  const one = f32x4.splat(1.0)
  return f32x4.div(one, f32x4.add(one, exp4(f32x4.neg(x))))
}

/** Rounds the bits of an f32 to the nearest bf16, ties to even. */
// @ts-ignore: decorator
@inline
export function toBf16(bits: u32): u32 {
  return (bits + 0x7fff + ((bits >> 16) & 1)) >> 16
}
