import { scaleInto } from "./elementwise"
import { exp4, storeExp8 } from "./exponential"
import { horizontalMax, horizontalSum } from "./vector"

/** Sets columns [from, to) of each row to −3e38, so that padding ids have no probability. */
export function maskColumns(logits: usize, rows: i32, from: i32, to: i32): void {
  for (let r = 0; r < rows; r++) {
    for (let i = from; i < to; i++) f32.store(logits + (<usize> i << 2), -3e38)
    logits += <usize> to << 2
  }
}

/** Bytes of logits that are summed in f32 before the sum is added in f64; longer f32 sums lose small addends. */
const blockBytes: usize = 1024

/** The maximum logit and Σ exp(logit − maximum) of each row. The caller takes the logarithm in f64. */
export function logSumExp(out: usize, logits: usize, rows: i32, vocabulary: i32): void {
  const bytes = <usize> vocabulary << 2
  for (let r = 0; r < rows; r++) {
    let most = v128.load(logits)
    for (let i: usize = 16; i < bytes; i += 16) most = f32x4.max(most, v128.load(logits + i))
    const maximum = horizontalMax(most)
    const shift = f32x4.splat(maximum)
    let total: f64 = 0
    for (let start: usize = 0; start < bytes; start += blockBytes) {
      const end = min(start + blockBytes, bytes)
      let sum = f32x4.splat(0)
      for (let i = start; i < end; i += 16) sum = f32x4.add(sum, exp4(f32x4.sub(v128.load(logits + i), shift)))
      total += <f64> horizontalSum(sum)
    }
    f32.store(out, maximum)
    f32.store(out, <f32> total, 4)
    out += 8
    logits += bytes
  }
}

/**
 * logits ← Σₖ cₖ·(onehot(targetₖ) − softmax) in place, the gradient in the logits, with cₖ = ∂L/∂logprob of target k. Row r has the targets
 * from `starts[r]` to `starts[r + 1]` (exclusive), and `starts[0]` is 0.
 */
export function logitGradient(
  logits: usize,
  maximumAndSum: usize,
  coefficients: usize,
  targets: usize,
  starts: usize,
  rows: i32,
  vocabulary: i32
): void {
  const bytes = <usize> vocabulary << 2
  for (let r = 0; r < rows; r++) {
    const start = <usize> i32.load(starts) << 2
    const end = <usize> i32.load(starts, 4) << 2
    let total: f32 = 0
    for (let place = start; place < end; place += 4) total += f32.load(coefficients + place)
    const shift = f32x4.splat(f32.load(maximumAndSum))
    const factor = -total / f32.load(maximumAndSum, 4)
    if (total == 0) memory.fill(logits, 0, bytes)
    else {
      for (let i: usize = 0; i < bytes; i += 32) {
        const l0 = v128.load(logits + i)
        const l1 = v128.load(logits + i, 16)
        storeExp8(logits + i, f32x4.sub(l0, shift), f32x4.sub(l1, shift))
      }
      scaleInto(logits, factor, vocabulary)
    }
    for (let place = start; place < end; place += 4) {
      const target = logits + (<usize> i32.load(targets + place) << 2)
      f32.store(target, f32.load(target) + f32.load(coefficients + place))
    }
    starts += 4
    maximumAndSum += 8
    logits += bytes
  }
}
