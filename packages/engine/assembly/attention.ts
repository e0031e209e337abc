import { exp4, horizontalMax, horizontalSum, storeExp8, sumOfEach } from "./vector"

// Heads are multiples of 8 floats. A query row sees the keys of its ancestors and its own, in the order of their positions,
// so its result does not depend on what else is computed. Grouped queries: query head h reads key head h / (heads / keyHeads).
//
// A segment is four i32: the place of its keys in the cache, how many positions of it lie there already, its rows here, and
// the segment that it continues, or -1. Its rows see all rows of that segment, and so on up to the root. A cache in pages is a
// table of segments without rows, each of which continues the page in front of it.

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

/** The products of one vector with four that lie `stride` bytes apart, each with the bits of `dot`. */
// @ts-ignore: decorator
@inline
function dots(a: usize, b: usize, stride: usize, bytes: usize): v128 {
  const b1 = b + stride
  const b2 = b1 + stride
  const b3 = b2 + stride
  let even0 = f32x4.splat(0)
  let even1 = f32x4.splat(0)
  let even2 = f32x4.splat(0)
  let even3 = f32x4.splat(0)
  let odd0 = f32x4.splat(0)
  let odd1 = f32x4.splat(0)
  let odd2 = f32x4.splat(0)
  let odd3 = f32x4.splat(0)
  for (let i: usize = 0; i < bytes; i += 32) {
    const even = v128.load(a + i)
    const odd = v128.load(a + i, 16)
    even0 = f32x4.relaxed_madd(even, v128.load(b + i), even0)
    even1 = f32x4.relaxed_madd(even, v128.load(b1 + i), even1)
    even2 = f32x4.relaxed_madd(even, v128.load(b2 + i), even2)
    even3 = f32x4.relaxed_madd(even, v128.load(b3 + i), even3)
    odd0 = f32x4.relaxed_madd(odd, v128.load(b + i, 16), odd0)
    odd1 = f32x4.relaxed_madd(odd, v128.load(b1 + i, 16), odd1)
    odd2 = f32x4.relaxed_madd(odd, v128.load(b2 + i, 16), odd2)
    odd3 = f32x4.relaxed_madd(odd, v128.load(b3 + i, 16), odd3)
  }
  return sumOfEach(f32x4.add(even0, odd0), f32x4.add(even1, odd1), f32x4.add(even2, odd2), f32x4.add(even3, odd3))
}

/** exp(x − shift) of `bytes` of floats in place, and of what follows up to a whole vector. */
// @ts-ignore: decorator
@inline
function storeExp(place: usize, bytes: usize, shift: v128): void {
  const end = place + bytes
  for (; place + 16 < end; place += 32) {
    const x0 = v128.load(place)
    const x1 = v128.load(place, 16)
    storeExp8(place, f32x4.sub(x0, shift), f32x4.sub(x1, shift))
  }
  if (place < end) v128.store(place, exp4(f32x4.sub(v128.load(place), shift)))
}

/** Turns `count` scores into exp(score − maximum) and keeps (maximum, sum). The sum stops at `count`, in index order. */
// @ts-ignore: decorator
@inline
function soften(scores: usize, count: i32, maximum: f32, maximumAndSum: usize): void {
  const shift = f32x4.splat(maximum)
  for (let j = count; j < ((count + 3) & ~3); j++) f32.store(scores + (<usize> j << 2), maximum)
  storeExp(scores, <usize> count << 2, shift)
  let sum: f32 = 0
  for (let j = 0; j < count; j++) sum += f32.load(scores + (<usize> j << 2))
  f32.store(maximumAndSum, maximum)
  f32.store(maximumAndSum, sum, 4)
}

/**
 * Writes the place and the number of keys of every segment on the way from the root to segment `index`, two i32 each, and
 * returns how many there are. Of the last one the keys in front of its rows are counted.
 */
// @ts-ignore: decorator
@inline
function trace(path: usize, segments: usize, index: i32): i32 {
  let levels = 0
  for (let i = index; i >= 0; i = i32.load(segments + (<usize> i << 4), 12)) levels++
  let level = path + (<usize> levels << 3)
  for (let i = index; i >= 0;) {
    const segment = segments + (<usize> i << 4)
    level -= 8
    i32.store(level, i32.load(segment))
    i32.store(level, i32.load(segment, 4) + (i == index ? 0 : i32.load(segment, 8)), 4)
    i = i32.load(segment, 12)
  }
  return levels
}

/** Scores of all keys on the path, one after the other; returns the largest. */
// @ts-ignore: decorator
@inline
function pathScores(
  scores: usize,
  query: usize,
  keys: usize,
  path: usize,
  levels: i32,
  stride: usize,
  bytes: usize,
  scale: f32
): f32 {
  const scales = f32x4.splat(scale)
  let most = f32x4.splat(-3.4e38)
  let maximum: f32 = -3.4e38
  for (let level = path; level < path + (<usize> levels << 3); level += 8) {
    let key = keys + <usize> i32.load(level) * stride
    const end = scores + (<usize> i32.load(level, 4) << 2)
    for (; scores + 16 <= end; scores += 16) {
      const four = f32x4.mul(dots(query, key, stride, bytes), scales)
      v128.store(scores, four)
      most = f32x4.max(most, four)
      key += stride << 2
    }
    for (; scores < end; scores += 4) {
      const score = dot(query, key, bytes) * scale
      f32.store(scores, score)
      maximum = max(maximum, score)
      key += stride
    }
  }
  return max(maximum, horizontalMax(most))
}

// @ts-ignore: decorator
@inline
function weightedValues(
  out: usize,
  weights: usize,
  values: usize,
  path: usize,
  levels: i32,
  stride: usize,
  bytes: usize,
  k: f32
): void {
  const factor = f32x4.splat(k)
  const last = path + (<usize> levels << 3)
  let i: usize = 0
  for (; i + 128 <= bytes; i += 128) {
    let v0 = f32x4.splat(0)
    let v1 = f32x4.splat(0)
    let v2 = f32x4.splat(0)
    let v3 = f32x4.splat(0)
    let v4 = f32x4.splat(0)
    let v5 = f32x4.splat(0)
    let v6 = f32x4.splat(0)
    let v7 = f32x4.splat(0)
    let weight = weights
    for (let level = path; level < last; level += 8) {
      let value = values + <usize> i32.load(level) * stride + i
      const end = weight + (<usize> i32.load(level, 4) << 2)
      for (; weight < end; weight += 4) {
        const w = v128.load32_splat(weight)
        v0 = f32x4.relaxed_madd(w, v128.load(value), v0)
        v1 = f32x4.relaxed_madd(w, v128.load(value, 16), v1)
        v2 = f32x4.relaxed_madd(w, v128.load(value, 32), v2)
        v3 = f32x4.relaxed_madd(w, v128.load(value, 48), v3)
        v4 = f32x4.relaxed_madd(w, v128.load(value, 64), v4)
        v5 = f32x4.relaxed_madd(w, v128.load(value, 80), v5)
        v6 = f32x4.relaxed_madd(w, v128.load(value, 96), v6)
        v7 = f32x4.relaxed_madd(w, v128.load(value, 112), v7)
        value += stride
      }
    }
    v128.store(out + i, f32x4.mul(v0, factor))
    v128.store(out + i, f32x4.mul(v1, factor), 16)
    v128.store(out + i, f32x4.mul(v2, factor), 32)
    v128.store(out + i, f32x4.mul(v3, factor), 48)
    v128.store(out + i, f32x4.mul(v4, factor), 64)
    v128.store(out + i, f32x4.mul(v5, factor), 80)
    v128.store(out + i, f32x4.mul(v6, factor), 96)
    v128.store(out + i, f32x4.mul(v7, factor), 112)
  }
  for (; i < bytes; i += 32) {
    let low = f32x4.splat(0)
    let high = f32x4.splat(0)
    let weight = weights
    for (let level = path; level < last; level += 8) {
      let value = values + <usize> i32.load(level) * stride + i
      const end = weight + (<usize> i32.load(level, 4) << 2)
      for (; weight < end; weight += 4) {
        const w = v128.load32_splat(weight)
        low = f32x4.relaxed_madd(w, v128.load(value), low)
        high = f32x4.relaxed_madd(w, v128.load(value, 16), high)
        value += stride
      }
    }
    v128.store(out + i, f32x4.mul(low, factor))
    v128.store(out + i, f32x4.mul(high, factor), 16)
  }
}

/**
 * out[row, head] = softmax(q·k·scale)·v over the keys that the row sees, for the rows of the segments from `first` to `end`
 * (exclusive). Queries and results begin at the first of these rows; keys and values are [place][keyHeads·headSize].
 * `maximumAndSum` keeps two floats per row and head for the backward pass. `path` holds two i32 per level of the deepest segment, `scratch` longest sequence + 4 floats.
 */
export function attentionForward(
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
  path: usize,
  scratch: usize,
  maximumAndSum: usize
): void {
  const group = heads / keyHeads
  const bytes = <usize> headSize << 2
  const stride = <usize> keyHeads * bytes
  for (let s = first; s < end; s++) {
    const rows = i32.load(segments + (<usize> s << 4), 8)
    if (rows == 0) continue
    const levels = trace(path, segments, s)
    const own = path + (<usize> (levels - 1) << 3)
    let before = 0
    for (let level = path; level < own; level += 8) before += i32.load(level, 4)
    for (let r = 0; r < rows; r++) {
      i32.store(own, i32.load(own, 4) + 1, 4)
      const count = before + i32.load(own, 4)
      for (let h = 0; h < heads; h++) {
        const head = <usize> (h / group) * bytes
        const maximum = pathScores(scratch, queries, keys + head, path, levels, stride, bytes, scale)
        soften(scratch, count, maximum, maximumAndSum)
        const inverse: f32 = 1.0 / f32.load(maximumAndSum, 4)
        weightedValues(out, scratch, values + head, path, levels, stride, bytes, inverse)
        out += bytes
        queries += bytes
        maximumAndSum += 8
      }
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
  path: usize,
  levels: i32,
  stride: usize,
  bytes: usize,
  scale: f32,
  delta: f32,
  maximumAndSum: usize
): void {
  const k = f32x4.splat(scale)
  let at: usize = 0
  for (let level = path; level < path + (<usize> levels << 3); level += 8) {
    let place = <usize> i32.load(level) * stride
    const end = at + (<usize> i32.load(level, 4) << 2)
    for (; at + 16 <= end; at += 16) {
      v128.store(p + at, f32x4.mul(dots(query, keys + place, stride, bytes), k))
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
  const pull = f32x4.splat(delta)
  storeExp(p, at, shift)
  let j: usize = 0
  for (; j + 16 < at; j += 32) {
    const p0 = f32x4.mul(v128.load(p + j), inverse)
    const p1 = f32x4.mul(v128.load(p + j, 16), inverse)
    const d0 = v128.load(ds + j)
    const d1 = v128.load(ds + j, 16)
    v128.store(p + j, p0)
    v128.store(p + j, p1, 16)
    v128.store(ds + j, f32x4.mul(f32x4.mul(p0, f32x4.sub(d0, pull)), k))
    v128.store(ds + j, f32x4.mul(f32x4.mul(p1, f32x4.sub(d1, pull)), k), 16)
  }
  if (j < at) {
    const p0 = f32x4.mul(v128.load(p + j), inverse)
    v128.store(p + j, p0)
    v128.store(ds + j, f32x4.mul(f32x4.mul(p0, f32x4.sub(v128.load(ds + j), pull)), k))
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
  path: usize,
  levels: i32,
  stride: usize,
  bytes: usize
): void {
  const last = path + (<usize> levels << 3)
  for (let i: usize = 0; i < bytes; i += 32) {
    const q0 = v128.load(query + i)
    const q1 = v128.load(query + i, 16)
    const o0 = v128.load(dOut + i)
    const o1 = v128.load(dOut + i, 16)
    let low = f32x4.splat(0)
    let high = f32x4.splat(0)
    let at: usize = 0
    for (let level = path; level < last; level += 8) {
      let place = <usize> i32.load(level) * stride + i
      const end = at + (<usize> i32.load(level, 4) << 2)
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
 * Gradients of `attentionForward` for the rows of the segments from `first` to `end` (exclusive). Queries, results and their
 * gradients begin at the first of these rows, [row][heads·headSize]; keys, values and theirs are [place][keyHeads·headSize].
 * `dKeys` and `dValues` are added to, from every row that sees them; `dQueries` is set. `scratch` holds twice longest
 * sequence + 4 floats.
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
    const levels = trace(path, segments, s)
    const own = path + (<usize> (levels - 1) << 3)
    const before = i32.load(own, 4)
    const rows = i32.load(segments + (<usize> s << 4), 8)
    for (let h = 0; h < heads; h++) {
      const shared = <usize> (h / group) * bytes
      for (let t = 0; t < rows; t++) {
        i32.store(own, before + t + 1, 4)
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
          levels,
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
          levels,
          stride,
          bytes
        )
      }
    }
    start += <usize> rows
  }
}
