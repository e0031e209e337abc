import { toBf16 } from "./vector"

// Packed form of a matrix [K, N] for `gemm`: panels of eight columns, [N/8][K][8]. In bf16 a 32-bit lane holds column j
// in its low half and column j + 4 in its high half, so that one shift and one mask widen eight columns.

/** Packs `factor`·B from row-major B [K, N] into panels `panelRows` rows high, of which these are K. */
export function packRows(target: usize, source: usize, K: i32, N: i32, panelRows: i32, factor: f32): void {
  const k4 = f32x4.splat(factor)
  for (let n = 0; n < N; n += 8) {
    let to = target + <usize> (n >> 3) * (<usize> panelRows << 5)
    let from = source + (<usize> n << 2)
    for (let k = 0; k < K; k++) {
      v128.store(to, f32x4.mul(v128.load(from), k4))
      v128.store(to, f32x4.mul(v128.load(from, 16), k4), 16)
      to += 32
      from += <usize> N << 2
    }
  }
}

/** Packs `factor`·Bᵀ from row-major B [N, K]. */
export function packColumns(target: usize, source: usize, K: i32, N: i32, factor: f32): void {
  for (let n = 0; n < N; n += 8) {
    for (let k = 0; k < K; k++) {
      for (let j = 0; j < 8; j++) {
        f32.store(target, f32.load(source + ((<usize> (n + j) * K + k) << 2)) * factor)
        target += 4
      }
    }
  }
}

/** `packRows` to bf16. */
export function packRowsBf16(target: usize, source: usize, K: i32, N: i32, panelRows: i32): void {
  for (let n = 0; n < N; n += 8) {
    let to = target + <usize> (n >> 3) * (<usize> panelRows << 4)
    let from = source + (<usize> n << 2)
    for (let k = 0; k < K; k++) {
      for (let j: usize = 0; j < 16; j += 4) {
        store<u32>(to + j, toBf16(load<u32>(from + j)) | (toBf16(load<u32>(from + j, 16)) << 16))
      }
      to += 16
      from += <usize> N << 2
    }
  }
}

/** `packColumns` to bf16. */
export function packColumnsBf16(target: usize, source: usize, K: i32, N: i32): void {
  for (let n = 0; n < N; n += 8) {
    for (let k = 0; k < K; k++) {
      for (let j = 0; j < 4; j++) {
        const low = source + ((<usize> (n + j) * K + k) << 2)
        store<u32>(target, toBf16(load<u32>(low)) | (toBf16(load<u32>(low + (<usize> K << 4))) << 16))
        target += 4
      }
    }
  }
}

export function widenBf16(target: usize, source: usize, count: i32): void {
  for (let i: usize = 0; i < <usize> count; i++) store<u32>(target + (i << 2), <u32> load<u16>(source + (i << 1)) << 16)
}

export function narrowBf16(target: usize, source: usize, count: i32): void {
  for (let i: usize = 0; i < <usize> count; i++) {
    store<u16>(target + (i << 1), <u16> toBf16(load<u32>(source + (i << 2))))
  }
}

export function widenF16(target: usize, source: usize, count: i32): void {
  for (let i: usize = 0; i < <usize> count; i++) {
    const half = <u32> load<u16>(source + (i << 1))
    const sign = (half & 0x8000) << 16
    const magnitude = half & 0x7fff
    // Moving the exponent by 2^112 as a float product is exact for normal and subnormal halves alike.
    const finite = reinterpret<u32>(reinterpret<f32>(magnitude << 13) * reinterpret<f32>(<u32> 0x77800000))
    const bits = magnitude >= 0x7c00 ? 0x7f800000 | ((magnitude & 0x3ff) << 13) : finite
    store<u32>(target + (i << 2), sign | bits)
  }
}
