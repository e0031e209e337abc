import { horizontalSum } from "./vector"

/** out = x·weight/√(mean x² + epsilon) for each of `rows` rows; keeps the inverse root per row. `size` % 8 = 0. */
export function normForward(
  out: usize,
  x: usize,
  weight: usize,
  inverseRoot: usize,
  rows: i32,
  size: i32,
  epsilon: f32
): void {
  const bytes = <usize> size << 2
  for (let r = 0; r < rows; r++) {
    let squares = f32x4.splat(0)
    for (let i: usize = 0; i < bytes; i += 16) {
      const v = v128.load(x + i)
      squares = f32x4.relaxed_madd(v, v, squares)
    }
    const inverse: f32 = 1.0 / sqrt<f32>(horizontalSum(squares) / <f32> size + epsilon)
    f32.store(inverseRoot, inverse)
    const k = f32x4.splat(inverse)
    for (let i: usize = 0; i < bytes; i += 32) {
      const x0 = v128.load(x + i)
      const x1 = v128.load(x + i, 16)
      v128.store(out + i, f32x4.mul(f32x4.mul(x0, k), v128.load(weight + i)))
      v128.store(out + i, f32x4.mul(f32x4.mul(x1, k), v128.load(weight + i, 16)), 16)
    }
    x += bytes
    out += bytes
    inverseRoot += 4
  }
}

/** The gradient of `normForward` in x, set or added. The weight's gradient is added to `dWeight` unless that address is 0. */
export function normBackward(
  dx: usize,
  dOut: usize,
  x: usize,
  weight: usize,
  inverseRoot: usize,
  rows: i32,
  size: i32,
  dWeight: usize,
  accumulate: i32
): void {
  const bytes = <usize> size << 2
  for (let r = 0; r < rows; r++) {
    const inverse = f32.load(inverseRoot)
    const k = f32x4.splat(inverse)
    let dot = f32x4.splat(0)
    for (let i: usize = 0; i < bytes; i += 16) {
      dot = f32x4.relaxed_madd(f32x4.mul(v128.load(dOut + i), v128.load(weight + i)), v128.load(x + i), dot)
    }
    const pull = f32x4.splat(horizontalSum(dot) * inverse * inverse * inverse / <f32> size)
    for (let i: usize = 0; i < bytes; i += 16) {
      const xs = v128.load(x + i)
      const g = v128.load(dOut + i)
      let v = f32x4.sub(f32x4.mul(f32x4.mul(g, v128.load(weight + i)), k), f32x4.mul(xs, pull))
      if (accumulate) v = f32x4.add(v, v128.load(dx + i))
      v128.store(dx + i, v)
      if (dWeight) {
        v128.store(dWeight + i, f32x4.relaxed_madd(f32x4.mul(xs, k), g, v128.load(dWeight + i)))
      }
    }
    x += bytes
    dOut += bytes
    dx += bytes
    inverseRoot += 4
  }
}
