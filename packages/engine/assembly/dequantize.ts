// Weights as files store them, type by type in the numbers of GGML, and their values in f32. Products are rounded one by one,
// never fused, so that the values have the bits that other readers of these files compute.

export const typeF32: i32 = 0
export const typeF16: i32 = 1
export const typeQ4_0: i32 = 2
export const typeQ4_1: i32 = 3
export const typeQ8_0: i32 = 8
export const typeQ4_K: i32 = 12
export const typeQ6_K: i32 = 14

/** Four halves, each in the low bits of a lane, as f32. */
// @ts-ignore: decorator
@inline
export function halves(half: v128): v128 {
  const sign = i32x4.shl(v128.and(half, i32x4.splat(0x8000)), 16)
  const magnitude = v128.and(half, i32x4.splat(0x7fff))
  // Moving the exponent by 2^112 as a float product is exact for normal and subnormal halves alike.
  const finite = f32x4.mul(i32x4.shl(magnitude, 13), i32x4.splat(0x77800000))
  const special = v128.or(i32x4.splat(0x7f800000), i32x4.shl(v128.and(magnitude, i32x4.splat(0x3ff)), 13))
  const isSpecial = i32x4.ge_s(magnitude, i32x4.splat(0x7c00))
  return v128.or(sign, v128.bitselect(special, finite, isSpecial))
}

// @ts-ignore: decorator
@inline
function half(place: usize): f32 {
  return f32x4.extract_lane(halves(i32x4.splat(load<u16>(place))), 0)
}

/** Sixteen signed bytes times `scale`, to two groups of eight values. */
// @ts-ignore: decorator
@inline
function scaled(codes: v128, scale: v128, out: usize, stride: usize): void {
  const low = i16x8.extend_low_i8x16_s(codes)
  const high = i16x8.extend_high_i8x16_s(codes)
  v128.store(out, f32x4.mul(f32x4.convert_i32x4_s(i32x4.extend_low_i16x8_s(low)), scale))
  v128.store(out, f32x4.mul(f32x4.convert_i32x4_s(i32x4.extend_high_i16x8_s(low)), scale), 16)
  v128.store(out + stride, f32x4.mul(f32x4.convert_i32x4_s(i32x4.extend_low_i16x8_s(high)), scale))
  v128.store(out + stride, f32x4.mul(f32x4.convert_i32x4_s(i32x4.extend_high_i16x8_s(high)), scale), 16)
}

/** `scaled` plus `offset`. */
// @ts-ignore: decorator
@inline
function shifted(codes: v128, scale: v128, offset: v128, out: usize, stride: usize): void {
  const low = i16x8.extend_low_i8x16_s(codes)
  const high = i16x8.extend_high_i8x16_s(codes)
  const a = f32x4.mul(f32x4.convert_i32x4_s(i32x4.extend_low_i16x8_s(low)), scale)
  const b = f32x4.mul(f32x4.convert_i32x4_s(i32x4.extend_high_i16x8_s(low)), scale)
  const c = f32x4.mul(f32x4.convert_i32x4_s(i32x4.extend_low_i16x8_s(high)), scale)
  const d = f32x4.mul(f32x4.convert_i32x4_s(i32x4.extend_high_i16x8_s(high)), scale)
  v128.store(out, f32x4.add(a, offset))
  v128.store(out, f32x4.add(b, offset), 16)
  v128.store(out + stride, f32x4.add(c, offset))
  v128.store(out + stride, f32x4.add(d, offset), 16)
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
  scaled(i8x16.sub(v128.and(i16x8.shr_u(codes, 4), i8x16.splat(15)), eight), scale, out + 2 * stride, stride)
}

// @ts-ignore: decorator
@inline
function blockQ4_1(block: usize, out: usize, stride: usize): void {
  const scale = f32x4.splat(half(block))
  const offset = f32x4.splat(half(block + 2))
  const codes = v128.load(block, 4)
  shifted(v128.and(codes, i8x16.splat(15)), scale, offset, out, stride)
  shifted(v128.and(i16x8.shr_u(codes, 4), i8x16.splat(15)), scale, offset, out + 2 * stride, stride)
}

// @ts-ignore: decorator
@inline
function blockQ8_0(block: usize, out: usize, stride: usize): void {
  const scale = f32x4.splat(half(block))
  scaled(v128.load(block, 2), scale, out, stride)
  scaled(v128.load(block, 18), scale, out + 2 * stride, stride)
}

/** Part `part` of eight of a block of 256: scales and offsets have six bits each, spread over twelve bytes. */
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
  const place = block + 16 + ((part >> 1) << 5)
  const shift = <i32> (part & 1) << 2
  const mask = i8x16.splat(15)
  shifted(v128.and(i16x8.shr_u(v128.load(place), shift), mask), d, m, out, stride)
  shifted(v128.and(i16x8.shr_u(v128.load(place, 16), shift), mask), d, m, out + 2 * stride, stride)
}

/** Part `part` of eight of a block of 256: four low bits and two high ones, and a scale for every sixteen values. */
// @ts-ignore: decorator
@inline
function blockQ6_K(block: usize, part: usize, out: usize, stride: usize): void {
  const quarter = part & 3
  const low = block + ((part >> 2) << 6) + ((quarter & 1) << 5)
  const high = block + 128 + ((part >> 2) << 5)
  const scales = block + 192 + (part << 1)
  const d = half(block + 208)
  for (let i: usize = 0; i < 2; i++) {
    const bits = v128.and(i16x8.shr_u(v128.load(low + (i << 4)), <i32> (quarter >> 1) << 2), i8x16.splat(15))
    const top = v128.and(i16x8.shr_u(v128.load(high + (i << 4)), <i32> quarter << 1), i8x16.splat(3))
    const codes = i8x16.sub(v128.or(bits, i16x8.shl(top, 4)), i8x16.splat(32))
    scaled(codes, f32x4.splat(d * <f32> load<i8>(scales + i)), out + 2 * i * stride, stride)
  }
}

/** Values 32·index and following of a row, the four groups of eight each `stride` bytes after the one before. */
// @ts-ignore: decorator
@inline
export function block32(type: i32, row: usize, index: usize, out: usize, stride: usize): void {
  if (type == typeQ4_1) blockQ4_1(row + index * 20, out, stride)
  else if (type == typeQ8_0) blockQ8_0(row + index * 34, out, stride)
  else if (type == typeQ4_0) blockQ4_0(row + index * 18, out, stride)
  else if (type == typeQ4_K) blockQ4_K(row + (index >> 3) * 144, index & 7, out, stride)
  else if (type == typeQ6_K) blockQ6_K(row + (index >> 3) * 210, index & 7, out, stride)
  else if (type == typeF16) blockF16(row + (index << 6), out, stride)
  else if (type == typeF32) blockF32(row + (index << 7), out, stride)
  else blockBf16(row + (index << 6), out, stride)
}

/** `count` values of one type as f32: any number of F32, F16 and BF16, whole blocks of the others. */
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

/** Row r of `target` = row ids[r] of a matrix whose rows of `size` values take `rowBytes` each. */
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
