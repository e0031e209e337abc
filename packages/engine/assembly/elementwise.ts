import { sigmoid4 } from "./vector"

/** out = silu(gate)·up over `count` floats; `count` % 4 = 0 in every kernel of this file. */
export function siluForward(out: usize, gate: usize, up: usize, count: i32): void {
  for (let i: usize = 0; i < <usize> count << 2; i += 16) {
    const x = v128.load(gate + i)
    v128.store(out + i, f32x4.mul(f32x4.mul(x, sigmoid4(x)), v128.load(up + i)))
  }
}

/** Gradients of `siluForward` from that of its result, which `dGate` or `dUp` may overwrite. */
export function siluBackward(dGate: usize, dUp: usize, dOut: usize, gate: usize, up: usize, count: i32): void {
  const one = f32x4.splat(1.0)
  for (let i: usize = 0; i < <usize> count << 2; i += 16) {
    const x = v128.load(gate + i)
    const d = v128.load(dOut + i)
    const s = sigmoid4(x)
    const slope = f32x4.mul(s, f32x4.add(one, f32x4.mul(x, f32x4.sub(one, s))))
    const dg = f32x4.mul(f32x4.mul(d, v128.load(up + i)), slope)
    v128.store(dUp + i, f32x4.mul(d, f32x4.mul(x, s)))
    v128.store(dGate + i, dg)
  }
}

/** target += source. */
export function addInto(target: usize, source: usize, count: i32): void {
  for (let i: usize = 0; i < <usize> count << 2; i += 16) {
    v128.store(target + i, f32x4.add(v128.load(target + i), v128.load(source + i)))
  }
}

/** target *= factor. */
export function scaleInto(target: usize, factor: f32, count: i32): void {
  const k = f32x4.splat(factor)
  for (let i: usize = 0; i < <usize> count << 2; i += 16) v128.store(target + i, f32x4.mul(v128.load(target + i), k))
}

/** Adds one vector of `size` values to each of `rows` rows. `size` % 4 = 0. */
export function addBias(target: usize, bias: usize, rows: i32, size: i32): void {
  for (let r = 0; r < rows; r++) {
    addInto(target, bias, size)
    target += <usize> size << 2
  }
}
