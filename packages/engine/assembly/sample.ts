import { exp4 } from "./exponential"

// Only ids below `vocabulary` are returned; `padded` is `vocabulary` rounded up to the row length of the logits. Sums run in id order in
// f64, and the draw compares with the same partial sums, so a uniform below 1 always draws an id.

/** weights[i] = exp((logit − maximum)/temperature); returns their sum over the vocabulary. */
// @ts-ignore: decorator
@inline
function weigh(
  logits: usize,
  vocabulary: i32,
  padded: i32,
  maximum: f32,
  inverseTemperature: f32,
  weights: usize
): f64 {
  const shift = f32x4.splat(maximum)
  const k = f32x4.splat(inverseTemperature)
  for (let i: usize = 0; i < <usize> padded << 2; i += 16) {
    v128.store(weights + i, exp4(f32x4.mul(f32x4.sub(v128.load(logits + i), shift), k)))
  }
  let sum: f64 = 0
  for (let i = 0; i < vocabulary; i++) sum += <f64> f32.load(weights + (<usize> i << 2))
  return sum
}

/** The most likely id; the lowest one among equals. */
export function argmax(logits: usize, vocabulary: i32): i32 {
  let best = 0
  let most = f32.load(logits)
  for (let i = 1; i < vocabulary; i++) {
    const value = f32.load(logits + (<usize> i << 2))
    if (value > most) {
      most = value
      best = i
    }
  }
  return best
}

/** Inverse-CDF draw for `uniform` in [0, 1); `scratch` holds `padded` floats. */
export function sample(
  logits: usize,
  vocabulary: i32,
  padded: i32,
  maximum: f32,
  inverseTemperature: f32,
  uniform: f64,
  scratch: usize
): i32 {
  const target = uniform * weigh(logits, vocabulary, padded, maximum, inverseTemperature, scratch)
  let sum: f64 = 0
  for (let i = 0; i < vocabulary; i++) {
    sum += <f64> f32.load(scratch + (<usize> i << 2))
    if (target < sum) return i
  }
  return vocabulary - 1
}

/** Whether id a precedes id b: higher values first, then lower ids. */
// @ts-ignore: decorator
@inline
function precedes(values: usize, a: i32, b: i32): bool {
  const x = f32.load(values + (<usize> a << 2))
  const y = f32.load(values + (<usize> b << 2))
  return x > y || (x == y && a < b)
}

// @ts-ignore: decorator
@inline
function siftDown(heap: usize, count: i32, start: i32, values: usize): void {
  let parent = start
  const moving = i32.load(heap + (<usize> parent << 2))
  for (;;) {
    let child = 2 * parent + 1
    if (child >= count) break
    let candidate = i32.load(heap + (<usize> child << 2))
    if (child + 1 < count) {
      const other = i32.load(heap + (<usize> (child + 1) << 2))
      if (precedes(values, other, candidate)) {
        candidate = other
        child++
      }
    }
    if (!precedes(values, candidate, moving)) break
    i32.store(heap + (<usize> parent << 2), candidate)
    parent = child
  }
  i32.store(heap + (<usize> parent << 2), moving)
}

// @ts-ignore: decorator
@inline
function buildHeap(heap: usize, count: i32, values: usize): void {
  for (let i = 0; i < count; i++) i32.store(heap + (<usize> i << 2), i)
  for (let i = (count >> 1) - 1; i >= 0; i--) siftDown(heap, count, i, values)
}

/** Moves the heap's first id behind the remaining ids, so popped ids are stored in reverse order. */
// @ts-ignore: decorator
@inline
function pop(heap: usize, count: i32, values: usize): i32 {
  const first = i32.load(heap)
  const last = count - 1
  i32.store(heap, i32.load(heap + (<usize> last << 2)))
  i32.store(heap + (<usize> last << 2), first)
  siftDown(heap, last, 0, values)
  return first
}

/**
 * Draws from the `topK` most likely ids (0 keeps all), reduced to the fewest most likely ones whose share of their total probability
 * reaches `topP`, at least one. `scratch` holds `padded` floats and `vocabulary` ids.
 */
export function sampleFiltered(
  logits: usize,
  vocabulary: i32,
  padded: i32,
  maximum: f32,
  inverseTemperature: f32,
  topK: i32,
  topP: f64,
  uniform: f64,
  scratch: usize
): i32 {
  const heap = scratch + (<usize> padded << 2)
  let total = weigh(logits, vocabulary, padded, maximum, inverseTemperature, scratch)
  const most = topK > 0 ? min(topK, vocabulary) : vocabulary
  buildHeap(heap, vocabulary, logits)
  let kept = 0
  if (most < vocabulary) {
    total = 0
    for (; kept < most; kept++) total += <f64> f32.load(scratch + (<usize> pop(heap, vocabulary - kept, logits) << 2))
    buildHeap(heap, vocabulary, logits)
    kept = 0
  }
  let sum: f64 = 0
  while (kept < most && (kept == 0 || sum < topP * total)) {
    sum += <f64> f32.load(scratch + (<usize> pop(heap, vocabulary - kept, logits) << 2))
    kept++
  }
  return drawPopped(heap, vocabulary, kept, uniform * sum, scratch)
}

function drawPopped(heap: usize, vocabulary: i32, kept: i32, target: f64, weights: usize): i32 {
  let sum: f64 = 0
  let id = 0
  for (let j = 1; j <= kept; j++) {
    id = i32.load(heap + (<usize> (vocabulary - j) << 2))
    sum += <f64> f32.load(weights + (<usize> id << 2))
    if (target < sum) break
  }
  return id
}

/** Writes the `count` most likely ids in descending order of probability; `scratch` holds `vocabulary` ids. */
export function topTokens(out: usize, logits: usize, vocabulary: i32, count: i32, scratch: usize): void {
  buildHeap(scratch, vocabulary, logits)
  for (let i = 0; i < min(count, vocabulary); i++) {
    i32.store(out + (<usize> i << 2), pop(scratch, vocabulary - i, logits))
  }
}
