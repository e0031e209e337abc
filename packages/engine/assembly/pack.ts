// The packed form of a matrix [K, N] for `gemm`: panels of eight columns, [N/8][K][8].

/** Packs `factor`·B for row-major B [K, N] into K rows of panels that have `panelRows` rows. */
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

/** Packs `factor`·Bᵀ for row-major B [N, K]. */
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
