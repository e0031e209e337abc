import {
  bytesQ4_0,
  bytesQ4_1,
  bytesQ4_K,
  bytesQ6_K,
  bytesQ8_0,
  codesQ4_K,
  codesQ6_K,
  halves,
  nibbles,
  scaledHigh,
  scaledLow,
  typeF16,
  typeF32,
  typeQ4_0,
  typeQ4_1,
  typeQ4_K,
  typeQ6_K,
  typeQ8_0
} from "./blocks"

// @ts-ignore: decorator
@inline
function half(place: usize): f32 {
  return f32x4.extract_lane(halves(i32x4.splat(load<u16>(place))), 0)
}

/** Writes sixteen codes times `scale` to two groups of eight values. */
// @ts-ignore: decorator
@inline
function scaled(codes: v128, scale: v128, out: usize, stride: usize): void {
  const low = i16x8.extend_low_i8x16_s(codes)
  const high = i16x8.extend_high_i8x16_s(codes)
  v128.store(out, scaledLow(low, scale))
  v128.store(out, scaledHigh(low, scale), 16)
  v128.store(out + stride, scaledLow(high, scale))
  v128.store(out + stride, scaledHigh(high, scale), 16)
}

/** `scaled` plus `offset`. */
// @ts-ignore: decorator
@inline
function shifted(codes: v128, scale: v128, offset: v128, out: usize, stride: usize): void {
  const low = i16x8.extend_low_i8x16_s(codes)
  const high = i16x8.extend_high_i8x16_s(codes)
  v128.store(out, f32x4.add(scaledLow(low, scale), offset))
  v128.store(out, f32x4.add(scaledHigh(low, scale), offset), 16)
  v128.store(out + stride, f32x4.add(scaledLow(high, scale), offset))
  v128.store(out + stride, f32x4.add(scaledHigh(high, scale), offset), 16)
}

// @ts-ignore: decorator
@inline
function blockF16(row: usize, out: usize, stride: usize): void {
  for (let i: usize = 0; i < 4; i++, row += 16, out += stride) {
    v128.store(out, halves(v128.load16x4_u(row)))
    v128.store(out, halves(v128.load16x4_u(row + 8)), 16)
  }
}

// @ts-ignore: decorator
@inline
function blockBf16(row: usize, out: usize, stride: usize): void {
  for (let i: usize = 0; i < 4; i++, row += 16, out += stride) {
    v128.store(out, i32x4.shl(v128.load16x4_u(row), 16))
    v128.store(out, i32x4.shl(v128.load16x4_u(row + 8), 16), 16)
  }
}

// @ts-ignore: decorator
@inline
function blockF32(row: usize, out: usize, stride: usize): void {
  for (let i: usize = 0; i < 4; i++, row += 32, out += stride) {
    v128.store(out, v128.load(row))
    v128.store(out, v128.load(row, 16), 16)
  }
}

// @ts-ignore: decorator
@inline
function blockQ4_0(block: usize, out: usize, stride: usize): void {
  const scale = f32x4.splat(half(block))
  const codes = v128.load(block, 2)
  const eight = i8x16.splat(8)
  scaled(i8x16.sub(v128.and(codes, i8x16.splat(15)), eight), scale, out, stride)
  scaled(i8x16.sub(nibbles(codes, 4), eight), scale, out + 2 * stride, stride)
}

// @ts-ignore: decorator
@inline
function blockQ4_1(block: usize, out: usize, stride: usize): void {
  const scale = f32x4.splat(half(block))
  const offset = f32x4.splat(half(block + 2))
  const codes = v128.load(block, 4)
  shifted(v128.and(codes, i8x16.splat(15)), scale, offset, out, stride)
  shifted(nibbles(codes, 4), scale, offset, out + 2 * stride, stride)
}

// @ts-ignore: decorator
@inline
function blockQ8_0(block: usize, out: usize, stride: usize): void {
  const scale = f32x4.splat(half(block))
  scaled(v128.load(block, 2), scale, out, stride)
  scaled(v128.load(block, 18), scale, out + 2 * stride, stride)
}

/** Dequantizes part `part` of a block. Scales and offsets have six bits each, packed into twelve bytes. */
// @ts-ignore: decorator
@inline
function blockQ4_K(block: usize, part: usize, out: usize, stride: usize): void {
  const scales = block + 4
  let scale: u32
  let offset: u32
  if (part < 4) {
    scale = load<u8>(scales + part) & 63
    offset = load<u8>(scales + part + 4) & 63
  } else {
    scale = (load<u8>(scales + part + 4) & 15) | ((load<u8>(scales + part - 4) >> 6) << 4)
    offset = (load<u8>(scales + part + 4) >> 4) | ((load<u8>(scales + part) >> 6) << 4)
  }
  const d = f32x4.splat(half(block) * <f32> scale)
  const m = f32x4.splat(-(half(block + 2) * <f32> offset))
  shifted(codesQ4_K(block, part, 0), d, m, out, stride)
  shifted(codesQ4_K(block, part, 16), d, m, out + 2 * stride, stride)
}

/** Dequantizes part `part` of a block. Every sixteen values share a scale. */
// @ts-ignore: decorator
@inline
function blockQ6_K(block: usize, part: usize, out: usize, stride: usize): void {
  const scales = block + 192 + (part << 1)
  const d = half(block + 208)
  scaled(codesQ6_K(block, part, 0), f32x4.splat(d * <f32> load<i8>(scales)), out, stride)
  scaled(codesQ6_K(block, part, 16), f32x4.splat(d * <f32> load<i8>(scales, 1)), out + 2 * stride, stride)
}

/** The 32 values of a row starting at 32·index; groups of eight values are `stride` bytes apart. */
// @ts-ignore: decorator
@inline
export function block32(type: i32, row: usize, index: usize, out: usize, stride: usize): void {
  if (type == typeQ4_1) blockQ4_1(row + index * bytesQ4_1, out, stride)
  else if (type == typeQ8_0) blockQ8_0(row + index * bytesQ8_0, out, stride)
  else if (type == typeQ4_0) blockQ4_0(row + index * bytesQ4_0, out, stride)
  else if (type == typeQ4_K) blockQ4_K(row + (index >> 3) * bytesQ4_K, index & 7, out, stride)
  else if (type == typeQ6_K) blockQ6_K(row + (index >> 3) * bytesQ6_K, index & 7, out, stride)
  else if (type == typeF16) blockF16(row + (index << 6), out, stride)
  else if (type == typeF32) blockF32(row + (index << 7), out, stride)
  else blockBf16(row + (index << 6), out, stride)
}

/** Converts `count` values of one type to f32: any number for F32, F16 and BF16, whole blocks for the other types. */
// @ts-ignore: decorator
@inline
export function dequantize(target: usize, source: usize, type: i32, count: i32): void {
  const blocks = count >> 5
  for (let i = 0; i < blocks; i++) block32(type, source, <usize> i, target + (<usize> i << 7), 32)
  for (let i: usize = <usize> blocks << 5; i < <usize> count; i++) {
    const value: f32 = type == typeF32
      ? f32.load(source + (i << 2))
      : type == typeF16
      ? half(source + (i << 1))
      : reinterpret<f32>(<u32> load<u16>(source + (i << 1)) << 16)
    f32.store(target + (i << 2), value)
  }
}

/** Row r of `target` = row ids[r] of a matrix with rows of `size` values, `rowBytes` bytes each. */
export function gatherStored(
  target: usize,
  source: usize,
  type: i32,
  rowBytes: i32,
  ids: usize,
  rows: i32,
  size: i32
): void {
  for (let r = 0; r < rows; r++) {
    dequantize(target, source + <usize> i32.load(ids + (<usize> r << 2)) * rowBytes, type, size)
    target += <usize> size << 2
  }
}
