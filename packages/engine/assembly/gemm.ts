import { tiles1, tiles2, transposedTiles1, transposedTiles2 } from "./tiles.gen"

// Every tile sums a row over k in the same order, whatever the tile's size, so a row's product does not depend on adjacent rows and
// columns.

/** Rows of A that stay in the cache while the panels of B are processed. */
const rowBlock: i32 = 96
/** The depth over which products are summed in registers before they are added to C. */
const depthBlock: i32 = 64

/** Panels per tile: two if V8 combines 128-bit vectors into 256-bit ones, which hold twice as much. */
// @ts-ignore: decorator
@external("env", "panelsPerTile")
export declare const panelsPerTile: i32

/** Rows `start` to `end` of C = or += A·B for `count` consecutive panels of B. */
// @ts-ignore: decorator
@inline
function multiplyBlock(
  c: usize,
  rc: usize,
  a: usize,
  ra: usize,
  panels: usize,
  count: i32,
  start: i32,
  end: i32,
  K: i32,
  accumulate: i32
): void {
  const panel = <usize> K << 5
  let b = panels
  let cp = c
  let j = 0
  if (panelsPerTile == 2) {
    for (; j + 2 <= count; j += 2, b += 2 * panel, cp += 64) tiles2(cp, rc, a, ra, b, start, end, K, accumulate)
  }
  for (; j < count; j++, b += panel, cp += 32) tiles1(cp, rc, a, ra, b, start, end, K, accumulate)
}

/** M rows of C = or += A·B for `count` panels of B; `rc` and `ra` are row lengths in bytes. */
// @ts-ignore: decorator
@inline
export function multiplyPanels(
  c: usize,
  rc: usize,
  a: usize,
  ra: usize,
  panels: usize,
  count: i32,
  M: i32,
  K: i32,
  accumulate: i32
): void {
  for (let start = 0; start < M; start += rowBlock) {
    multiplyBlock(c, rc, a, ra, panels, count, start, min(M, start + rowBlock), K, accumulate)
  }
}

/** C [M, N] = or += A [M, K]·B with B packed; `lda` and `ldc` are row lengths in floats. N % 8 = 0. */
export function gemm(c: usize, a: usize, b: usize, M: i32, N: i32, K: i32, lda: i32, ldc: i32, accumulate: i32): void {
  multiplyPanels(c, <usize> ldc << 2, a, <usize> lda << 2, b, N >> 3, M, K, accumulate)
}

/** C [K, N] += Aᵀ·B for row-major A [M, K] and B [M, N], as for a weight's gradient. N % 8 = 0. */
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
    const ap = a + <usize> start * ra
    let bp = b + <usize> start * rb
    let cp = c
    let n = 0
    if (panelsPerTile == 2) {
      for (; n + 16 <= N; n += 16, bp += 64, cp += 64) transposedTiles2(cp, rc, ap, ra, bp, rb, depth, K)
    }
    for (; n < N; n += 8, bp += 32, cp += 32) transposedTiles1(cp, rc, ap, ra, bp, rb, depth, K)
  }
}
