import { storeExp } from "./exponential"
import { levelBytes, placeOf, rowsOf, seenOf, segmentAt, setSeen, writePath } from "./segments"
import { weightedValues1, weightedValues4 } from "./tiles.gen"
import { dot, dots, horizontalMax } from "./vector"

// The head size is a multiple of 8 floats. A query row sees its ancestors' keys and its own in position order, so its result does not
// depend on other rows in the batch. Grouped queries: query head h reads key head h / (heads / keyHeads).

/** Replaces `count` scores with exp(score − maximum) and keeps (maximum, sum). The sum is in index order. */
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

/** Computes the scores of all keys on the path in order. Returns the largest. */
// @ts-ignore: decorator
@inline
function pathScores(
  scores: usize,
  query: usize,
  keys: usize,
  path: usize,
  pathEnd: usize,
  stride: usize,
  bytes: usize,
  scale: f32
): f32 {
  const scales = f32x4.splat(scale)
  let most = f32x4.splat(-3.4e38)
  let maximum: f32 = -3.4e38
  for (let level = path; level < pathEnd; level += levelBytes) {
    let key = keys + placeOf(level) * stride
    const end = scores + (<usize> seenOf(level) << 2)
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

/** out = `factor` times the weighted sum of all values on the path. */
// @ts-ignore: decorator
@inline
function weightedValues(
  out: usize,
  weights: usize,
  values: usize,
  path: usize,
  pathEnd: usize,
  stride: usize,
  bytes: usize,
  factor: f32
): void {
  const factors = f32x4.splat(factor)
  let i: usize = 0
  for (; i + 128 <= bytes; i += 128) weightedValues4(out + i, weights, values + i, path, pathEnd, stride, factors)
  for (; i < bytes; i += 32) weightedValues1(out + i, weights, values + i, path, pathEnd, stride, factors)
}

/**
 * out[row, head] = softmax(q·k·scale)·v over the keys that the row sees, for the rows of the segments from `first` to `end` (exclusive).
 * Queries and results begin at the first of these rows; keys and values are [place][keyHeads·headSize]. `maximumAndSum` keeps two floats
 * per row and head for the backward pass. `path` has space for the levels of the deepest segment, `scratch` for longest sequence + 4
 * floats.
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
    const rows = rowsOf(segmentAt(segments, s))
    if (rows == 0) continue
    const pathEnd = writePath(path, segments, s)
    const own = pathEnd - levelBytes
    let before = 0
    for (let level = path; level < own; level += levelBytes) before += seenOf(level)
    for (let r = 0; r < rows; r++) {
      setSeen(own, seenOf(own) + 1)
      const count = before + seenOf(own)
      for (let h = 0; h < heads; h++) {
        const head = <usize> (h / group) * bytes
        const maximum = pathScores(scratch, queries, keys + head, path, pathEnd, stride, bytes, scale)
        soften(scratch, count, maximum, maximumAndSum)
        const inverse: f32 = 1.0 / f32.load(maximumAndSum, 4)
        weightedValues(out, scratch, values + head, path, pathEnd, stride, bytes, inverse)
        out += bytes
        queries += bytes
        maximumAndSum += 8
      }
    }
  }
}
