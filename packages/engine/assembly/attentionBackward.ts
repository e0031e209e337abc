import { storeExp } from "./exponential"
import { levelBytes, placeOf, rowsOf, seenOf, segmentAt, setSeen, writePath } from "./segments"
import { dot, dots } from "./vector"

/** Recomputes one query's probabilities p from the kept maximum and sum, and computes the gradients ds of its scores. */
// @ts-ignore: decorator
@inline
function scoreGradients(
  p: usize,
  ds: usize,
  query: usize,
  dOut: usize,
  keys: usize,
  values: usize,
  path: usize,
  pathEnd: usize,
  stride: usize,
  bytes: usize,
  scale: f32,
  delta: f32,
  maximumAndSum: usize
): void {
  const scales = f32x4.splat(scale)
  let at: usize = 0
  for (let level = path; level < pathEnd; level += levelBytes) {
    let place = placeOf(level) * stride
    const end = at + (<usize> seenOf(level) << 2)
    for (; at + 16 <= end; at += 16) {
      v128.store(p + at, f32x4.mul(dots(query, keys + place, stride, bytes), scales))
      v128.store(ds + at, dots(dOut, values + place, stride, bytes))
      place += stride << 2
    }
    for (; at < end; at += 4) {
      f32.store(p + at, dot(query, keys + place, bytes) * scale)
      f32.store(ds + at, dot(dOut, values + place, bytes))
      place += stride
    }
  }
  const shift = f32x4.splat(f32.load(maximumAndSum))
  const inverse = f32x4.splat(1.0 / f32.load(maximumAndSum, 4))
  const deltas = f32x4.splat(delta)
  storeExp(p, at, shift)
  let j: usize = 0
  for (; j + 16 < at; j += 32) {
    const p0 = f32x4.mul(v128.load(p + j), inverse)
    const p1 = f32x4.mul(v128.load(p + j, 16), inverse)
    const d0 = v128.load(ds + j)
    const d1 = v128.load(ds + j, 16)
    v128.store(p + j, p0)
    v128.store(p + j, p1, 16)
    v128.store(ds + j, f32x4.mul(f32x4.mul(p0, f32x4.sub(d0, deltas)), scales))
    v128.store(ds + j, f32x4.mul(f32x4.mul(p1, f32x4.sub(d1, deltas)), scales), 16)
  }
  if (j < at) {
    const p0 = f32x4.mul(v128.load(p + j), inverse)
    v128.store(p + j, p0)
    v128.store(ds + j, f32x4.mul(f32x4.mul(p0, f32x4.sub(v128.load(ds + j), deltas)), scales))
  }
}

/** Sets the gradient of one query, and adds to the gradients of the keys and values that the query sees. */
// @ts-ignore: decorator
@inline
function spreadGradients(
  dQuery: usize,
  dKeys: usize,
  dValues: usize,
  query: usize,
  dOut: usize,
  keys: usize,
  p: usize,
  ds: usize,
  path: usize,
  pathEnd: usize,
  stride: usize,
  bytes: usize
): void {
  for (let i: usize = 0; i < bytes; i += 32) {
    const q0 = v128.load(query + i)
    const q1 = v128.load(query + i, 16)
    const o0 = v128.load(dOut + i)
    const o1 = v128.load(dOut + i, 16)
    let low = f32x4.splat(0)
    let high = f32x4.splat(0)
    let at: usize = 0
    for (let level = path; level < pathEnd; level += levelBytes) {
      let place = placeOf(level) * stride + i
      const end = at + (<usize> seenOf(level) << 2)
      for (; at < end; at += 4) {
        const d = v128.load32_splat(ds + at)
        const w = v128.load32_splat(p + at)
        const dKey = dKeys + place
        const dValue = dValues + place
        low = f32x4.relaxed_madd(d, v128.load(keys + place), low)
        high = f32x4.relaxed_madd(d, v128.load(keys + place, 16), high)
        const k0 = v128.load(dKey)
        const k1 = v128.load(dKey, 16)
        const v0 = v128.load(dValue)
        const v1 = v128.load(dValue, 16)
        v128.store(dKey, f32x4.relaxed_madd(d, q0, k0))
        v128.store(dKey, f32x4.relaxed_madd(d, q1, k1), 16)
        v128.store(dValue, f32x4.relaxed_madd(w, o0, v0))
        v128.store(dValue, f32x4.relaxed_madd(w, o1, v1), 16)
        place += stride
      }
    }
    v128.store(dQuery + i, low)
    v128.store(dQuery + i, high, 16)
  }
}

/**
 * Gradients of `attentionForward` for the rows of the segments from `first` to `end` (exclusive). Queries, results and their gradients
 * begin at the first of these rows, [row][heads·headSize]; keys, values and their gradients are [place][keyHeads·headSize]. Sets
 * `dQueries`; adds to `dKeys` and `dValues` from every row that sees them. `scratch` holds 2 · longest sequence + 4 floats.
 */
export function attentionBackward(
  dQueries: usize,
  dKeys: usize,
  dValues: usize,
  dOut: usize,
  out: usize,
  queries: usize,
  keys: usize,
  values: usize,
  segments: usize,
  first: i32,
  end: i32,
  heads: i32,
  keyHeads: i32,
  headSize: i32,
  scale: f32,
  maximumAndSum: usize,
  path: usize,
  scratch: usize,
  longest: i32
): void {
  const group = heads / keyHeads
  const bytes = <usize> headSize << 2
  const stride = <usize> keyHeads * bytes
  const ds = scratch + (<usize> ((longest + 3) & ~3) << 2)
  let start: usize = 0
  for (let s = first; s < end; s++) {
    const pathEnd = writePath(path, segments, s)
    const own = pathEnd - levelBytes
    const before = seenOf(own)
    const rows = rowsOf(segmentAt(segments, s))
    for (let h = 0; h < heads; h++) {
      const shared = <usize> (h / group) * bytes
      for (let t = 0; t < rows; t++) {
        setSeen(own, before + t + 1)
        const place = (start + <usize> t) * <usize> heads + <usize> h
        const row = place * bytes
        const delta = dot(dOut + row, out + row, bytes)
        scoreGradients(
          scratch,
          ds,
          queries + row,
          dOut + row,
          keys + shared,
          values + shared,
          path,
          pathEnd,
          stride,
          bytes,
          scale,
          delta,
          maximumAndSum + (place << 3)
        )
        spreadGradients(
          dQueries + row,
          dKeys + shared,
          dValues + shared,
          queries + row,
          dOut + row,
          keys + shared,
          scratch,
          ds,
          path,
          pathEnd,
          stride,
          bytes
        )
      }
    }
    start += <usize> rows
  }
}
