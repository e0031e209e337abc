import { horizontalSum } from "./vector"

/**
 * One Adam step with decoupled weight decay over `count` floats; `count` % 4 = 0. `correction1` = 1/(1 − beta1ᵗ) and `correction2` = 1/(1 −
 * beta2ᵗ). Gradients are multiplied by `gradientScale` first. Writes only if `isKept` is 1. Returns the sum of the squared changes, or NaN
 * if a moment or the square of a parameter would not be finite.
 */
export function adam(
  parameters: usize,
  gradients: usize,
  first: usize,
  second: usize,
  count: i32,
  learningRate: f32,
  beta1: f32,
  beta2: f32,
  epsilon: f32,
  correction1: f32,
  correction2: f32,
  weightDecay: f32,
  gradientScale: f32,
  isKept: i32
): f64 {
  const keep1 = f32x4.splat(beta1)
  const keep2 = f32x4.splat(beta2)
  const take1 = f32x4.splat(1 - beta1)
  const take2 = f32x4.splat(1 - beta2)
  const step = f32x4.splat(learningRate * correction1)
  const root2 = f32x4.splat(correction2)
  const eps = f32x4.splat(epsilon)
  const decay = f32x4.splat(learningRate * weightDecay)
  const scale = f32x4.splat(gradientScale)
  let squares = f64x2.splat(0)
  // x − x is 0 for every finite x and NaN otherwise.
  let excess = f32x4.splat(0)
  for (let i: usize = 0; i < <usize> count << 2; i += 16) {
    const g = f32x4.mul(v128.load(gradients + i), scale)
    const m = f32x4.add(f32x4.mul(v128.load(first + i), keep1), f32x4.mul(g, take1))
    const v = f32x4.add(f32x4.mul(v128.load(second + i), keep2), f32x4.mul(f32x4.mul(g, g), take2))
    const old = v128.load(parameters + i)
    const move = f32x4.div(f32x4.mul(m, step), f32x4.add(f32x4.sqrt(f32x4.mul(v, root2)), eps))
    const change = f32x4.add(move, f32x4.mul(old, decay))
    const next = f32x4.sub(old, change)
    const square = f32x4.mul(next, next)
    excess = f32x4.add(excess, f32x4.sub(square, square))
    excess = f32x4.add(excess, f32x4.add(f32x4.sub(m, m), f32x4.sub(v, v)))
    if (isKept) {
      v128.store(first + i, m)
      v128.store(second + i, v)
      v128.store(parameters + i, next)
    }
    const low = f64x2.promote_low_f32x4(change)
    const high = f64x2.promote_low_f32x4(i32x4.shuffle(change, change, 2, 3, 0, 1))
    squares = f64x2.add(squares, f64x2.add(f64x2.mul(low, low), f64x2.mul(high, high)))
  }
  return f64x2.extract_lane(squares, 0) + f64x2.extract_lane(squares, 1) + <f64> horizontalSum(excess)
}

export function sumSquares(values: usize, count: i32): f64 {
  let sum: f64 = 0
  for (let i: usize = 0; i < <usize> count << 2; i += 4) {
    const x = <f64> f32.load(values + i)
    sum += x * x
  }
  return sum
}
