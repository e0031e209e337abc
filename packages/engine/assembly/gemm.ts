import {
  tile1,
  tile2,
  tile4,
  tile6,
  transposed1,
  transposed2,
  transposed4,
  transposed6
} from "./tiles.gen"

// Every tile accumulates one row over k in the same order whatever its height, so a row's product does not depend on
// the rows beside it. Rows go in blocks that stay in the cache while the panels of B pass by.

const rowBlock: i32 = 96
const depthBlock: i32 = 64

/** Rows `start` to `end` of eight columns of C = or += A·B, with those columns of B as one panel. */
// @ts-ignore: decorator
@inline
export function multiplyPanel(
  c: usize,
  rc: usize,
  a: usize,
  ra: usize,
  panel: usize,
  start: i32,
  end: i32,
  K: i32,
  accumulate: i32
): void {
  let m = start
  let cp = c + <usize> m * rc
  let ap = a + <usize> m * ra
  for (; m + 6 <= end; m += 6) {
    tile6(cp, rc, ap, ra, panel, K, accumulate)
    cp += 6 * rc
    ap += 6 * ra
  }
  if (m + 4 <= end) {
    tile4(cp, rc, ap, ra, panel, K, accumulate)
    cp += 4 * rc
    ap += 4 * ra
    m += 4
  }
  if (m + 2 <= end) {
    tile2(cp, rc, ap, ra, panel, K, accumulate)
    cp += 2 * rc
    ap += 2 * ra
    m += 2
  }
  if (m < end) tile1(cp, rc, ap, ra, panel, K, accumulate)
}

/** C [M, N] = or += A [M, K]·B with B packed; `lda` and `ldc` are row lengths in floats. N % 8 = 0. */
export function gemm(c: usize, a: usize, b: usize, M: i32, N: i32, K: i32, lda: i32, ldc: i32, accumulate: i32): void {
  const ra = <usize> lda << 2
  const rc = <usize> ldc << 2
  const panel = <usize> K << 5
  for (let start = 0; start < M; start += rowBlock) {
    const end = min(M, start + rowBlock)
    let bp = b
    for (let n = 0; n < N; n += 8, bp += panel) {
      multiplyPanel(c + (<usize> n << 2), rc, a, ra, bp, start, end, K, accumulate)
    }
  }
}

/** C [K, N] += Aᵀ·B of row-major A [M, K] and B [M, N]: the gradient of a weight. N % 8 = 0. */
export function gemmTransposed(
  c: usize,
  a: usize,
  b: usize,
  M: i32,
  N: i32,
  K: i32,
  lda: i32,
  ldb: i32,
  ldc: i32
): void {
  const ra = <usize> lda << 2
  const rb = <usize> ldb << 2
  const rc = <usize> ldc << 2
  for (let start = 0; start < M; start += depthBlock) {
    const depth = min(M - start, depthBlock)
    for (let n = 0; n < N; n += 8) {
      const bp = b + <usize> start * rb + (<usize> n << 2)
      let ap = a + <usize> start * ra
      let cp = c + (<usize> n << 2)
      let k = 0
      for (; k + 6 <= K; k += 6) {
        transposed6(cp, rc, ap, ra, bp, rb, depth)
        cp += 6 * rc
        ap += 24
      }
      if (k + 4 <= K) {
        transposed4(cp, rc, ap, ra, bp, rb, depth)
        cp += 4 * rc
        ap += 16
        k += 4
      }
      if (k + 2 <= K) {
        transposed2(cp, rc, ap, ra, bp, rb, depth)
        cp += 2 * rc
        ap += 8
        k += 2
      }
      if (k < K) transposed1(cp, rc, ap, ra, bp, rb, depth)
    }
  }
}
