import { block32 } from "./dequantize"
import { multiplyPanels } from "./gemm"
import { panelOfRows } from "./panel"

// Multiplies with a matrix that stays in its file's rows [outputs, inputs]: 32 columns at a time are converted to f32 panels in scratch
// space, and all rows of A are multiplied with them. One copy of the weights serves both directions.

const stripPanels: i32 = 4

/** Stored rows that are converted at a time, 32 floats each. */
const depthBlock: i32 = 512

/** Bytes of the buffer at the start of scratch, with eight rows of 32 values. */
const pieceBytes: usize = 1024

/**
 * C [M, N] = or += A [M, K]·Wᵀ with W [N, K] stored in rows of `rowBytes` bytes. N % 8 = 0, K % 32 = 0; `scratch` has space for 32·K + 256
 * floats.
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
    multiplyPanels(c + (<usize> first << 2), rc, a, ra, panels, count, M, K, accumulate)
  }
}

/** C [M, K] = or += A [M, N]·W with W [N, K] stored in rows of `rowBytes` bytes. K % 32 = 0; `scratch` has space for 16,384 floats. */
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
      multiplyPanels(c + (<usize> block << 7), rc, from, ra, scratch, stripPanels, M, depth, adds)
    }
  }
}
