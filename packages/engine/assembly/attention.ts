import { exp4, horizontalSum } from "./vector"

// Heads are multiples of 8 floats. A query row of position p sees the keys 0..p of its sequence, in that order, so its
// result does not depend on what else is computed. Grouped queries: query head h reads key head h / (heads / keyHeads).

// @ts-ignore: decorator
@inline
function dot(a: usize, b: usize, bytes: usize): f32 {
  let even = f32x4.splat(0)
  let odd = f32x4.splat(0)
  for (let i: usize = 0; i < bytes; i += 32) {
    even = f32x4.relaxed_madd(v128.load(a + i), v128.load(b + i), even)
    odd = f32x4.relaxed_madd(v128.load(a + i, 16), v128.load(b + i, 16), odd)
  }
  return horizontalSum(f32x4.add(even, odd))
}

/** Turns `count` scores into exp(score − maximum) and keeps (maximum, sum). The sum stops at `count`, in index order. */
// @ts-ignore: decorator
@inline
function soften(scores: usize, count: i32, maximum: f32, maximumAndSum: usize): void {
  const shift = f32x4.splat(maximum)
  for (let j = count; j < ((count + 3) & ~3); j++) f32.store(scores + (<usize> j << 2), maximum)
  for (let j = 0; j < count; j += 4) {
    const place = scores + (<usize> j << 2)
    v128.store(place, exp4(f32x4.sub(v128.load(place), shift)))
  }
  let sum: f32 = 0
  for (let j = 0; j < count; j++) sum += f32.load(scores + (<usize> j << 2))
  f32.store(maximumAndSum, maximum)
  f32.store(maximumAndSum, sum, 4)
}

// @ts-ignore: decorator
@inline
function weightedValues(
  out: usize,
  weights: usize,
  values: usize,
  stride: usize,
  count: i32,
  bytes: usize,
  k: f32
): void {
  const factor = f32x4.splat(k)
  for (let i: usize = 0; i < bytes; i += 32) {
    let low = f32x4.splat(0)
    let high = f32x4.splat(0)
    let value = values + i
    for (let j = 0; j < count; j++) {
      const w = v128.load32_splat(weights + (<usize> j << 2))
      low = f32x4.relaxed_madd(w, v128.load(value), low)
      high = f32x4.relaxed_madd(w, v128.load(value, 16), high)
      value += stride
    }
    v128.store(out + i, f32x4.mul(low, factor))
    v128.store(out + i, f32x4.mul(high, factor), 16)
  }
}

/**
 * out[row, head] = softmax(q·k·scale)·v over the row's sequence. `bases` holds each row's key address, to which
 * `keyOffset` and `valueOffset` are added; keys and values are [position][keyHeads·headSize].
 * `maximumAndSum` keeps two floats per row and head for the backward pass. `scratch` holds longest sequence + 4 floats.
 */
export function attentionForward(
  out: usize,
  queries: usize,
  bases: usize,
  keyOffset: usize,
  valueOffset: usize,
  positions: usize,
  rows: i32,
  heads: i32,
  keyHeads: i32,
  headSize: i32,
  scale: f32,
  scratch: usize,
  maximumAndSum: usize
): void {
  const group = heads / keyHeads
  const bytes = <usize> headSize << 2
  const stride = <usize> keyHeads * bytes
  for (let r = 0; r < rows; r++) {
    const base = load<usize>(bases + (<usize> r << 2))
    const count = i32.load(positions + (<usize> r << 2)) + 1
    for (let h = 0; h < heads; h++) {
      const head = <usize> (h / group) * bytes
      let key = base + keyOffset + head
      let maximum: f32 = -3.4e38
      for (let j = 0; j < count; j++) {
        const score = dot(queries, key, bytes) * scale
        f32.store(scratch + (<usize> j << 2), score)
        maximum = max(maximum, score)
        key += stride
      }
      soften(scratch, count, maximum, maximumAndSum)
      weightedValues(out, scratch, base + valueOffset + head, stride, count, bytes, 1.0 / f32.load(maximumAndSum, 4))
      out += bytes
      queries += bytes
      maximumAndSum += 8
    }
  }
}

/** Probabilities p of one query and the gradients ds of its scores, recomputed from the kept maximum and sum. */
// @ts-ignore: decorator
@inline
function scoreGradients(
  p: usize,
  ds: usize,
  query: usize,
  dOut: usize,
  keys: usize,
  values: usize,
  stride: usize,
  count: i32,
  bytes: usize,
  scale: f32,
  delta: f32,
  maximumAndSum: usize
): void {
  for (let j = 0; j < count; j++) {
    f32.store(p + (<usize> j << 2), dot(query, keys, bytes) * scale)
    f32.store(ds + (<usize> j << 2), dot(dOut, values, bytes))
    keys += stride
    values += stride
  }
  const shift = f32x4.splat(f32.load(maximumAndSum))
  const inverse = f32x4.splat(1.0 / f32.load(maximumAndSum, 4))
  const pull = f32x4.splat(delta)
  const k = f32x4.splat(scale)
  for (let j: usize = 0; j < <usize> count << 2; j += 16) {
    const probability = f32x4.mul(exp4(f32x4.sub(v128.load(p + j), shift)), inverse)
    v128.store(p + j, probability)
    v128.store(ds + j, f32x4.mul(f32x4.mul(probability, f32x4.sub(v128.load(ds + j), pull)), k))
  }
}

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
  stride: usize,
  count: i32,
  bytes: usize
): void {
  for (let i: usize = 0; i < bytes; i += 32) {
    const q0 = v128.load(query + i)
    const q1 = v128.load(query + i, 16)
    const o0 = v128.load(dOut + i)
    const o1 = v128.load(dOut + i, 16)
    let low = f32x4.splat(0)
    let high = f32x4.splat(0)
    let key = keys + i
    let dKey = dKeys + i
    let dValue = dValues + i
    for (let j: usize = 0; j < <usize> count << 2; j += 4) {
      const d = v128.load32_splat(ds + j)
      const w = v128.load32_splat(p + j)
      low = f32x4.relaxed_madd(d, v128.load(key), low)
      high = f32x4.relaxed_madd(d, v128.load(key, 16), high)
      v128.store(dKey, f32x4.relaxed_madd(d, q0, v128.load(dKey)))
      v128.store(dKey, f32x4.relaxed_madd(d, q1, v128.load(dKey, 16)), 16)
      v128.store(dValue, f32x4.relaxed_madd(w, o0, v128.load(dValue)))
      v128.store(dValue, f32x4.relaxed_madd(w, o1, v128.load(dValue, 16)), 16)
      key += stride
      dKey += stride
      dValue += stride
    }
    v128.store(dQuery + i, low)
    v128.store(dQuery + i, high, 16)
  }
}

/**
 * Gradients of `attentionForward` for one sequence of `count` rows at positions 0..count−1. Queries, results and their
 * gradients are [count][heads·headSize]; keys, values and theirs [count][keyHeads·headSize]. `dKeys` and `dValues` are
 * added to, `dQueries` is set. `scratch` holds twice count + 4 floats.
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
  count: i32,
  heads: i32,
  keyHeads: i32,
  headSize: i32,
  scale: f32,
  maximumAndSum: usize,
  scratch: usize
): void {
  const group = heads / keyHeads
  const bytes = <usize> headSize << 2
  const stride = <usize> keyHeads * bytes
  const ds = scratch + (<usize> ((count + 3) & ~3) << 2)
  for (let h = 0; h < heads; h++) {
    const shared = <usize> (h / group) * bytes
    for (let t = 0; t < count; t++) {
      const row = (<usize> t * heads + h) * bytes
      const delta = dot(dOut + row, out + row, bytes)
      const kept = maximumAndSum + ((<usize> t * heads + h) << 3)
      scoreGradients(
        scratch,
        ds,
        queries + row,
        dOut + row,
        keys + shared,
        values + shared,
        stride,
        t + 1,
        bytes,
        scale,
        delta,
        kept
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
        stride,
        t + 1,
        bytes
      )
    }
  }
}
