// The stored weight types with GGML's type numbers, and how to decode quantized values. Products of codes and scales are rounded
// individually and never fused, so decoded values are bit-identical to those of other readers of these files.

export const typeF32: i32 = 0
export const typeF16: i32 = 1
export const typeQ4_0: i32 = 2
export const typeQ4_1: i32 = 3
export const typeQ8_0: i32 = 8
export const typeQ4_K: i32 = 12
export const typeQ6_K: i32 = 14

// Blocks of Q4_0, Q4_1 and Q8_0 hold 32 values; blocks of Q4_K and Q6_K hold 256 values in eight parts.

export const bytesQ4_0: usize = 18
export const bytesQ4_1: usize = 20
export const bytesQ8_0: usize = 34
export const bytesQ4_K: usize = 144
export const bytesQ6_K: usize = 210

/** Converts four halves, each in the low bits of a lane, to f32. */
// @ts-ignore: decorator
@inline
export function halves(half: v128): v128 {
  const sign = i32x4.shl(v128.and(half, i32x4.splat(0x8000)), 16)
  const magnitude = v128.and(half, i32x4.splat(0x7fff))
  // Multiplying by 2^112 to rebias the exponent is exact for normal and subnormal halves.
  const finite = f32x4.mul(i32x4.shl(magnitude, 13), i32x4.splat(0x77800000))
  const special = v128.or(i32x4.splat(0x7f800000), i32x4.shl(v128.and(magnitude, i32x4.splat(0x3ff)), 13))
  const isSpecial = i32x4.ge_s(magnitude, i32x4.splat(0x7c00))
  return v128.or(sign, v128.bitselect(special, finite, isSpecial))
}

/** Four bits of each byte, starting at bit `shift`. Shifts use 16-bit lanes, for which processors have an instruction. */
// @ts-ignore: decorator
@inline
export function nibbles(bytes: v128, shift: i32): v128 {
  return v128.and(i16x8.shr_u(bytes, shift), i8x16.splat(15))
}

/** Sixteen codes of part `part` of a Q4_K block, starting at column 0 or 16. */
// @ts-ignore: decorator
@inline
export function codesQ4_K(block: usize, part: usize, column: usize): v128 {
  return nibbles(v128.load(block + ((part >> 1) << 5) + column, 16), <i32> (part & 1) << 2)
}

/** Sixteen codes of part `part` of a Q6_K block, starting at column 0 or 16. Each has four low bits and two high bits. */
// @ts-ignore: decorator
@inline
export function codesQ6_K(block: usize, part: usize, column: usize): v128 {
  const quarter = part & 3
  const low = v128.load(block + ((part >> 2) << 6) + ((quarter & 1) << 5) + column)
  const high = v128.load(block + ((part >> 2) << 5) + column, 128)
  const top = v128.and(i16x8.shr_u(high, <i32> quarter << 1), i8x16.splat(3))
  const bits = v128.or(nibbles(low, <i32> (quarter >> 1) << 2), i16x8.shl(top, 4))
  return i8x16.sub(bits, i8x16.splat(32))
}

/** The first four of eight codes times `scale`. */
// @ts-ignore: decorator
@inline
export function scaledLow(codes: v128, scale: v128): v128 {
  return f32x4.mul(f32x4.convert_i32x4_s(i32x4.extend_low_i16x8_s(codes)), scale)
}

/** The last four of eight codes times `scale`. */
// @ts-ignore: decorator
@inline
export function scaledHigh(codes: v128, scale: v128): v128 {
  return f32x4.mul(f32x4.convert_i32x4_s(i32x4.extend_high_i16x8_s(codes)), scale)
}
