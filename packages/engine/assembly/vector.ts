// @ts-ignore: decorator
@inline
export function horizontalSum(v: v128): f32 {
  return (f32x4.extract_lane(v, 0) + f32x4.extract_lane(v, 1)) + (f32x4.extract_lane(v, 2) + f32x4.extract_lane(v, 3))
}

/** `horizontalSum` of each of four vectors, in the lanes of one vector. */
// @ts-ignore: decorator
@inline
export function sumOfEach(a: v128, b: v128, c: v128, d: v128): v128 {
  const abLow = v128.shuffle<i32>(a, b, 0, 4, 1, 5)
  const abHigh = v128.shuffle<i32>(a, b, 2, 6, 3, 7)
  const cdLow = v128.shuffle<i32>(c, d, 0, 4, 1, 5)
  const cdHigh = v128.shuffle<i32>(c, d, 2, 6, 3, 7)
  return f32x4.add(
    f32x4.add(v128.shuffle<i64>(abLow, cdLow, 0, 2), v128.shuffle<i64>(abLow, cdLow, 1, 3)),
    f32x4.add(v128.shuffle<i64>(abHigh, cdHigh, 0, 2), v128.shuffle<i64>(abHigh, cdHigh, 1, 3))
  )
}

// @ts-ignore: decorator
@inline
export function horizontalMax(v: v128): f32 {
  return max(
    max(f32x4.extract_lane(v, 0), f32x4.extract_lane(v, 1)),
    max(f32x4.extract_lane(v, 2), f32x4.extract_lane(v, 3))
  )
}

// @ts-ignore: decorator
@inline
export function dot(a: usize, b: usize, bytes: usize): f32 {
  let even = f32x4.splat(0)
  let odd = f32x4.splat(0)
  for (let i: usize = 0; i < bytes; i += 32) {
    even = f32x4.relaxed_madd(v128.load(a + i), v128.load(b + i), even)
    odd = f32x4.relaxed_madd(v128.load(a + i, 16), v128.load(b + i, 16), odd)
  }
  return horizontalSum(f32x4.add(even, odd))
}

/** The dot products of one vector with four vectors that are `stride` bytes apart, each bit-identical to `dot`. */
// @ts-ignore: decorator
@inline
export function dots(a: usize, b: usize, stride: usize, bytes: usize): v128 {
  const b1 = b + stride
  const b2 = b1 + stride
  const b3 = b2 + stride
  let even0 = f32x4.splat(0)
  let even1 = f32x4.splat(0)
  let even2 = f32x4.splat(0)
  let even3 = f32x4.splat(0)
  let odd0 = f32x4.splat(0)
  let odd1 = f32x4.splat(0)
  let odd2 = f32x4.splat(0)
  let odd3 = f32x4.splat(0)
  for (let i: usize = 0; i < bytes; i += 32) {
    const even = v128.load(a + i)
    const odd = v128.load(a + i, 16)
    even0 = f32x4.relaxed_madd(even, v128.load(b + i), even0)
    even1 = f32x4.relaxed_madd(even, v128.load(b1 + i), even1)
    even2 = f32x4.relaxed_madd(even, v128.load(b2 + i), even2)
    even3 = f32x4.relaxed_madd(even, v128.load(b3 + i), even3)
    odd0 = f32x4.relaxed_madd(odd, v128.load(b + i, 16), odd0)
    odd1 = f32x4.relaxed_madd(odd, v128.load(b1 + i, 16), odd1)
    odd2 = f32x4.relaxed_madd(odd, v128.load(b2 + i, 16), odd2)
    odd3 = f32x4.relaxed_madd(odd, v128.load(b3 + i, 16), odd3)
  }
  return sumOfEach(f32x4.add(even0, odd0), f32x4.add(even1, odd1), f32x4.add(even2, odd2), f32x4.add(even3, odd3))
}
