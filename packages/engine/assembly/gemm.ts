import {
  tile1x1,
  tile1x2,
  tile2x1,
  tile2x2,
  tile4x1,
  tile4x2,
  tile6x1,
  tile6x2,
  transposed1x1,
  transposed1x2,
  transposed2x1,
  transposed2x2,
  transposed4x1,
  transposed4x2,
  transposed6x1,
  transposed6x2
} from "./tiles.gen"

// Every tile accumulates one row over k in the same order whatever its height and width, so a row's product does not
// depend on the rows and columns beside it. Rows go in blocks that stay in the cache while the panels of B pass by.

const rowBlock: i32 = 96
const depthBlock: i32 = 64

/** Panels that a tile covers: two where V8 joins 128-bit vectors to 256-bit ones, which have twice the room. */
// @ts-ignore: decorator
@external("env", "panelsPerTile")
export declare const panelsPerTile: i32

/** Rows `start` to `end` of eight columns of C for each panel = or += A·B. `panels` is a constant where this is called. */
// @ts-ignore: decorator
@inline
function multiplyTile(
  panels: i32,
  c: usize,
  rc: usize,
  a: usize,
  ra: usize,
  b: usize,
  start: i32,
  end: i32,
  K: i32,
  accumulate: i32
): void {
  let m = start
  let cp = c + <usize> m * rc
  let ap = a + <usize> m * ra
  for (; m + 6 <= end; m += 6) {
    if (panels == 2) tile6x2(cp, rc, ap, ra, b, K, accumulate)
    else tile6x1(cp, rc, ap, ra, b, K, accumulate)
    cp += 6 * rc
    ap += 6 * ra
  }
  if (m + 4 <= end) {
    if (panels == 2) tile4x2(cp, rc, ap, ra, b, K, accumulate)
    else tile4x1(cp, rc, ap, ra, b, K, accumulate)
    cp += 4 * rc
    ap += 4 * ra
    m += 4
  }
  if (m + 2 <= end) {
    if (panels == 2) tile2x2(cp, rc, ap, ra, b, K, accumulate)
    else tile2x1(cp, rc, ap, ra, b, K, accumulate)
    cp += 2 * rc
    ap += 2 * ra
    m += 2
  }
  if (m < end) {
    if (panels == 2) tile1x2(cp, rc, ap, ra, b, K, accumulate)
    else tile1x1(cp, rc, ap, ra, b, K, accumulate)
  }
}

/** Rows `start` to `end` of C = or += A·B for `count` panels of B, one after the other in memory. */
// @ts-ignore: decorator
@inline
export function multiplyPanels(
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
    for (; j + 2 <= count; j += 2, b += 2 * panel, cp += 64) {
      multiplyTile(2, cp, rc, a, ra, b, start, end, K, accumulate)
    }
  }
  for (; j < count; j++, b += panel, cp += 32) multiplyTile(1, cp, rc, a, ra, b, start, end, K, accumulate)
}

/** C [M, N] = or += A [M, K]·B with B packed; `lda` and `ldc` are row lengths in floats. N % 8 = 0. */
export function gemm(c: usize, a: usize, b: usize, M: i32, N: i32, K: i32, lda: i32, ldc: i32, accumulate: i32): void {
  const ra = <usize> lda << 2
  const rc = <usize> ldc << 2
  for (let start = 0; start < M; start += rowBlock) {
    multiplyPanels(c, rc, a, ra, b, N >> 3, start, min(M, start + rowBlock), K, accumulate)
  }
}

/** Eight columns of C for each panel += Aᵀ·B over `depth` rows. `panels` is a constant where this is called. */
// @ts-ignore: decorator
@inline
function transposedTile(
  panels: i32,
  c: usize,
  rc: usize,
  a: usize,
  ra: usize,
  b: usize,
  rb: usize,
  K: i32,
  depth: i32
): void {
  let ap = a
  let cp = c
  let k = 0
  for (; k + 6 <= K; k += 6) {
    if (panels == 2) transposed6x2(cp, rc, ap, ra, b, rb, depth)
    else transposed6x1(cp, rc, ap, ra, b, rb, depth)
    cp += 6 * rc
    ap += 24
  }
  if (k + 4 <= K) {
    if (panels == 2) transposed4x2(cp, rc, ap, ra, b, rb, depth)
    else transposed4x1(cp, rc, ap, ra, b, rb, depth)
    cp += 4 * rc
    ap += 16
    k += 4
  }
  if (k + 2 <= K) {
    if (panels == 2) transposed2x2(cp, rc, ap, ra, b, rb, depth)
    else transposed2x1(cp, rc, ap, ra, b, rb, depth)
    cp += 2 * rc
    ap += 8
    k += 2
  }
  if (k < K) {
    if (panels == 2) transposed1x2(cp, rc, ap, ra, b, rb, depth)
    else transposed1x1(cp, rc, ap, ra, b, rb, depth)
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
    const ap = a + <usize> start * ra
    let bp = b + <usize> start * rb
    let cp = c
    let n = 0
    if (panelsPerTile == 2) {
      for (; n + 16 <= N; n += 16, bp += 64, cp += 64) transposedTile(2, cp, rc, ap, ra, bp, rb, K, depth)
    }
    for (; n < N; n += 8, bp += 32, cp += 32) transposedTile(1, cp, rc, ap, ra, bp, rb, K, depth)
  }
}
