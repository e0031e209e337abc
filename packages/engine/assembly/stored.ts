import { block32 } from "./dequantize"
import { multiplyPanel } from "./gemm"

// Products with a matrix that stays in the rows [outputs, inputs] of its file: 32 columns at a time become panels of f32 in
// scratch, and all rows of A are multiplied with them. One copy of the weights serves both directions.

const stripPanels: i32 = 4
const rowBlock: i32 = 96
const depthBlock: i32 = 512

/** Scratch holds one piece of eight rows by 32 values before it is transposed. */
const pieceBytes: usize = 1024

/** Columns 4i to 4i + 3 of `source` [8 rows of 32] become rows of a panel. */
// @ts-ignore: decorator
@inline
function transpose4(source: usize, target: usize): void {
  const a = v128.load(source)
  const b = v128.load(source, 128)
  const c = v128.load(source, 256)
  const d = v128.load(source, 384)
  const ab = v128.shuffle<i32>(a, b, 0, 4, 1, 5)
  const cd = v128.shuffle<i32>(c, d, 0, 4, 1, 5)
  const AB = v128.shuffle<i32>(a, b, 2, 6, 3, 7)
  const CD = v128.shuffle<i32>(c, d, 2, 6, 3, 7)
  v128.store(target, v128.shuffle<i64>(ab, cd, 0, 2))
  v128.store(target, v128.shuffle<i64>(ab, cd, 1, 3), 32)
  v128.store(target, v128.shuffle<i64>(AB, CD, 0, 2), 64)
  v128.store(target, v128.shuffle<i64>(AB, CD, 1, 3), 96)
}

/** Eight rows of K values as a panel [K, 8]. */
function panelOfRows(panel: usize, rows: usize, type: i32, rowBytes: usize, K: i32, piece: usize): void {
  for (let block = 0; block < K >> 5; block++) {
    for (let j: usize = 0; j < 8; j++) block32(type, rows + j * rowBytes, <usize> block, piece + (j << 7), 32)
    for (let i: usize = 0; i < 8; i++, panel += 128) {
      transpose4(piece + (i << 4), panel)
      transpose4(piece + (i << 4) + 512, panel + 16)
    }
  }
}

/**
 * C [M, N] = or += A [M, K]·Wᵀ with W [N, K] stored in rows of `rowBytes`. N % 8 = 0, K % 32 = 0; `scratch` has room for
 * 32·K + 256 floats.
 */
export function gemmStored(
  c: usize,
  a: usize,
  rows: usize,
  type: i32,
  rowBytes: i32,
  M: i32,
  N: i32,
  K: i32,
  accumulate: i32,
  scratch: usize
): void {
  const ra = <usize> K << 2
  const rc = <usize> N << 2
  const panel = <usize> K << 5
  const panels = scratch + pieceBytes
  for (let first = 0; first < N; first += 8 * stripPanels) {
    const count = min((N - first) >> 3, stripPanels)
    for (let j = 0; j < count; j++) {
      const place = rows + <usize> (first + 8 * j) * rowBytes
      panelOfRows(panels + <usize> j * panel, place, type, rowBytes, K, scratch)
    }
    for (let start = 0; start < M; start += rowBlock) {
      const end = min(M, start + rowBlock)
      for (let j = 0; j < count; j++) {
        multiplyPanel(c + (<usize> (first + 8 * j) << 2), rc, a, ra, panels + <usize> j * panel, start, end, K, accumulate)
      }
    }
  }
}

/**
 * C [M, K] = or += A [M, N]·W with W [N, K] stored in rows of `rowBytes`. K % 32 = 0; `scratch` has room for 16,384 floats.
 */
export function gemmStoredTransposed(
  c: usize,
  a: usize,
  rows: usize,
  type: i32,
  rowBytes: i32,
  M: i32,
  N: i32,
  K: i32,
  accumulate: i32,
  scratch: usize
): void {
  const ra = <usize> N << 2
  const rc = <usize> K << 2
  for (let first = 0; first < N; first += depthBlock) {
    const depth = min(N - first, depthBlock)
    const panel = <usize> depth << 5
    const from = a + (<usize> first << 2)
    const adds = first > 0 ? 1 : accumulate
    for (let block = 0; block < K >> 5; block++) {
      for (let k = 0; k < depth; k++) {
        block32(type, rows + <usize> (first + k) * rowBytes, <usize> block, scratch + (<usize> k << 5), panel)
      }
      for (let start = 0; start < M; start += rowBlock) {
        const end = min(M, start + rowBlock)
        for (let j = 0; j < stripPanels; j++) {
          const to = c + (<usize> (32 * block + 8 * j) << 2)
          multiplyPanel(to, rc, from, ra, scratch + <usize> j * panel, start, end, depth, adds)
        }
      }
    }
  }
}
