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
  typeQ4_0,
  typeQ4_1,
  typeQ4_K,
  typeQ6_K,
  typeQ8_0
} from "./blocks"
import { block32 } from "./dequantize"

// Converts eight stored rows to a panel [K, 8] of f32. The codes of quantized rows are transposed as bytes, sixteen columns at a time, and
// their scales are in the lanes of two vectors, one lane per row. The values are bit-identical to those of `block32`.

/** One number of each of four rows, in the lanes of a vector. */
// @ts-ignore: decorator
@inline
function bytesOfRows(place: usize, rowBytes: usize): v128 {
  let v = i32x4.splat(load<u8>(place))
  v = i32x4.replace_lane(v, 1, load<u8>(place + rowBytes))
  v = i32x4.replace_lane(v, 2, load<u8>(place + 2 * rowBytes))
  return i32x4.replace_lane(v, 3, load<u8>(place + 3 * rowBytes))
}

// @ts-ignore: decorator
@inline
function signedBytesOfRows(place: usize, rowBytes: usize): v128 {
  return i32x4.shr_s(i32x4.shl(bytesOfRows(place, rowBytes), 24), 24)
}

// @ts-ignore: decorator
@inline
function halvesOfRows(place: usize, rowBytes: usize): v128 {
  let v = i32x4.splat(load<u16>(place))
  v = i32x4.replace_lane(v, 1, load<u16>(place + rowBytes))
  v = i32x4.replace_lane(v, 2, load<u16>(place + 2 * rowBytes))
  v = i32x4.replace_lane(v, 3, load<u16>(place + 3 * rowBytes))
  return halves(v)
}

/** The address of the block of a row that contains the sixteen columns of `group`. */
// @ts-ignore: decorator
@inline
function blockOf(type: i32, group: usize): usize {
  if (type == typeQ4_0) return (group >> 1) * bytesQ4_0
  if (type == typeQ4_1) return (group >> 1) * bytesQ4_1
  if (type == typeQ8_0) return (group >> 1) * bytesQ8_0
  if (type == typeQ4_K) return (group >> 4) * bytesQ4_K
  return (group >> 4) * bytesQ6_K
}

/** The part of a Q4_K or Q6_K block that contains the columns of `group`. */
// @ts-ignore: decorator
@inline
function partOf(group: usize): usize {
  return (group & 15) >> 1
}

/** The sixteen codes of a row. */
// @ts-ignore: decorator
@inline
function codes(type: i32, block: usize, group: usize): v128 {
  const shift = <i32> (group & 1) << 2
  const column = (group & 1) << 4
  if (type == typeQ4_0) return i8x16.sub(nibbles(v128.load(block, 2), shift), i8x16.splat(8))
  if (type == typeQ4_1) return nibbles(v128.load(block, 4), shift)
  if (type == typeQ8_0) return v128.load(block + column, 2)
  if (type == typeQ4_K) return codesQ4_K(block, partOf(group), column)
  return codesQ6_K(block, partOf(group), column)
}

/** The scales of four rows, one per lane. */
// @ts-ignore: decorator
@inline
function scales(type: i32, block: usize, rowBytes: usize, group: usize): v128 {
  if (type == typeQ4_K) {
    const own = sixBits(block + 4, rowBytes, partOf(group), 0)
    return f32x4.mul(halvesOfRows(block, rowBytes), f32x4.convert_i32x4_s(own))
  }
  if (type == typeQ6_K) {
    const own = signedBytesOfRows(block + 192 + (group & 15), rowBytes)
    return f32x4.mul(halvesOfRows(block + 208, rowBytes), f32x4.convert_i32x4_s(own))
  }
  return halvesOfRows(block, rowBytes)
}

/** The offsets that are added to the rows of Q4_1 and Q4_K. */
// @ts-ignore: decorator
@inline
function offsets(type: i32, block: usize, rowBytes: usize, group: usize): v128 {
  if (type == typeQ4_1) return halvesOfRows(block + 2, rowBytes)
  const least = f32x4.convert_i32x4_s(sixBits(block + 4, rowBytes, partOf(group), 4))
  return f32x4.neg(f32x4.mul(halvesOfRows(block + 2, rowBytes), least))
}

/** The six-bit scale of part `part` of a Q4_K block if `first` is 0, or its offset if `first` is 4. */
// @ts-ignore: decorator
@inline
function sixBits(place: usize, rowBytes: usize, part: usize, first: usize): v128 {
  if (part < 4) return v128.and(bytesOfRows(place + part + first, rowBytes), i32x4.splat(63))
  const shared = bytesOfRows(place + part + 4, rowBytes)
  const low = first == 0 ? v128.and(shared, i32x4.splat(15)) : i32x4.shr_u(shared, 4)
  return v128.or(low, i32x4.shl(i32x4.shr_u(bytesOfRows(place + part - 4 + first, rowBytes), 6), 4))
}

/** Writes two columns of a panel from sixteen bytes: the codes of eight rows in the first column, then in the second. */
// @ts-ignore: decorator
@inline
function columns(pair: v128, type: i32, s0: v128, s1: v128, o0: v128, o1: v128, panel: usize): void {
  const first = i16x8.extend_low_i8x16_s(pair)
  const second = i16x8.extend_high_i8x16_s(pair)
  let a = scaledLow(first, s0)
  let b = scaledHigh(first, s1)
  let c = scaledLow(second, s0)
  let d = scaledHigh(second, s1)
  if (type == typeQ4_1 || type == typeQ4_K) {
    a = f32x4.add(a, o0)
    b = f32x4.add(b, o1)
    c = f32x4.add(c, o0)
    d = f32x4.add(d, o1)
  }
  v128.store(panel, a)
  v128.store(panel, b, 16)
  v128.store(panel, c, 32)
  v128.store(panel, d, 48)
}

// @ts-ignore: decorator
@inline
function zipLow(a: v128, b: v128): v128 {
  return v128.shuffle<i8>(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
}

// @ts-ignore: decorator
@inline
function zipHigh(a: v128, b: v128): v128 {
  return v128.shuffle<i8>(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
}

/** Writes four columns from the codes of the even rows and of the odd rows. */
// @ts-ignore: decorator
@inline
function fourColumns(even: v128, odd: v128, type: i32, s0: v128, s1: v128, o0: v128, o1: v128, panel: usize): void {
  columns(zipLow(even, odd), type, s0, s1, o0, o1, panel)
  columns(zipHigh(even, odd), type, s0, s1, o0, o1, panel + 64)
}

/** `type` is a constant at each call, so only the code for that type is compiled. */
// @ts-ignore: decorator
@inline
function quantised(type: i32, panel: usize, rows: usize, rowBytes: usize, K: i32): void {
  const zero = f32x4.splat(0)
  for (let group: usize = 0; group < <usize> (K >> 4); group++, panel += 512) {
    const block = rows + blockOf(type, group)
    const below = block + 4 * rowBytes
    const s0 = scales(type, block, rowBytes, group)
    const s1 = scales(type, below, rowBytes, group)
    const hasOffset = type == typeQ4_1 || type == typeQ4_K
    const o0 = hasOffset ? offsets(type, block, rowBytes, group) : zero
    const o1 = hasOffset ? offsets(type, below, rowBytes, group) : zero
    const r0 = codes(type, block, group)
    const r1 = codes(type, block + rowBytes, group)
    const r2 = codes(type, block + 2 * rowBytes, group)
    const r3 = codes(type, block + 3 * rowBytes, group)
    const r4 = codes(type, below, group)
    const r5 = codes(type, below + rowBytes, group)
    const r6 = codes(type, below + 2 * rowBytes, group)
    const r7 = codes(type, below + 3 * rowBytes, group)
    const a0 = zipLow(r0, r4)
    const a1 = zipLow(r1, r5)
    const a2 = zipLow(r2, r6)
    const a3 = zipLow(r3, r7)
    fourColumns(zipLow(a0, a2), zipLow(a1, a3), type, s0, s1, o0, o1, panel)
    fourColumns(zipHigh(a0, a2), zipHigh(a1, a3), type, s0, s1, o0, o1, panel + 128)
    const b0 = zipHigh(r0, r4)
    const b1 = zipHigh(r1, r5)
    const b2 = zipHigh(r2, r6)
    const b3 = zipHigh(r3, r7)
    fourColumns(zipLow(b0, b2), zipLow(b1, b3), type, s0, s1, o0, o1, panel + 256)
    fourColumns(zipHigh(b0, b2), zipHigh(b1, b3), type, s0, s1, o0, o1, panel + 384)
  }
}

/** Writes columns 4i to 4i + 3 of `source` [8 rows of 32] as rows of a panel. */
// @ts-ignore: decorator
@inline
function transpose4(source: usize, target: usize): void {
  const a = v128.load(source)
  const b = v128.load(source, 128)
  const c = v128.load(source, 256)
  const d = v128.load(source, 384)
  const abLow = v128.shuffle<i32>(a, b, 0, 4, 1, 5)
  const cdLow = v128.shuffle<i32>(c, d, 0, 4, 1, 5)
  const abHigh = v128.shuffle<i32>(a, b, 2, 6, 3, 7)
  const cdHigh = v128.shuffle<i32>(c, d, 2, 6, 3, 7)
  v128.store(target, v128.shuffle<i64>(abLow, cdLow, 0, 2))
  v128.store(target, v128.shuffle<i64>(abLow, cdLow, 1, 3), 32)
  v128.store(target, v128.shuffle<i64>(abHigh, cdHigh, 0, 2), 64)
  v128.store(target, v128.shuffle<i64>(abHigh, cdHigh, 1, 3), 96)
}

/** Converts rows of F32, F16 and BF16 through a buffer of eight rows by 32 values. */
// @ts-ignore: decorator
@inline
function floats(type: i32, panel: usize, rows: usize, rowBytes: usize, K: i32, piece: usize): void {
  for (let block = 0; block < K >> 5; block++) {
    for (let j: usize = 0; j < 8; j++) block32(type, rows + j * rowBytes, <usize> block, piece + (j << 7), 32)
    for (let i: usize = 0; i < 8; i++, panel += 128) {
      transpose4(piece + (i << 4), panel)
      transpose4(piece + (i << 4) + 512, panel + 16)
    }
  }
}

/** Converts eight rows of K values, K % 32 = 0, to a panel; `piece` has space for 256 floats. */
// @ts-ignore: decorator
@inline
export function panelOfRows(panel: usize, rows: usize, type: i32, rowBytes: usize, K: i32, piece: usize): void {
  if (type == typeQ4_1) quantised(typeQ4_1, panel, rows, rowBytes, K)
  else if (type == typeQ8_0) quantised(typeQ8_0, panel, rows, rowBytes, K)
  else if (type == typeQ4_0) quantised(typeQ4_0, panel, rows, rowBytes, K)
  else if (type == typeQ4_K) quantised(typeQ4_K, panel, rows, rowBytes, K)
  else if (type == typeQ6_K) quantised(typeQ6_K, panel, rows, rowBytes, K)
  else floats(type, panel, rows, rowBytes, K, piece)
}
