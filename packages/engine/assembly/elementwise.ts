import { ones, storeExp8 } from "./exponential"

// The loops load eight floats before storing any, so that V8 combines two vectors into one of 256 bits. `count` % 8 = 0 in every kernel of
// this file.

/**
 * Bytes of exponentials that one loop stores before another reads them. V8 combines stores only in loops that store to each address once.
 */
const blockBytes: usize = 4096

/** Computes exp(−x) for the floats from `start` to `end`. */
// @ts-ignore: decorator
@inline
function storeExpOfNegated(target: usize, x: usize, start: usize, end: usize): void {
  for (let i = start; i < end; i += 32) {
    const x0 = v128.load(x + i)
    const x1 = v128.load(x + i, 16)
    storeExp8(target + i, f32x4.neg(x0), f32x4.neg(x1))
  }
}

/** out = silu(gate)·up over `count` floats. */
export function siluForward(out: usize, gate: usize, up: usize, count: i32): void {
  const bytes = <usize> count << 2
  for (let start: usize = 0; start < bytes; start += blockBytes) {
    const end = min(start + blockBytes, bytes)
    storeExpOfNegated(out, gate, start, end)
    for (let i = start; i < end; i += 32) {
      const one = ones()
      const s0 = f32x4.div(one, f32x4.add(one, v128.load(out + i)))
      const s1 = f32x4.div(one, f32x4.add(one, v128.load(out + i, 16)))
      const x0 = f32x4.mul(v128.load(gate + i), s0)
      const x1 = f32x4.mul(v128.load(gate + i, 16), s1)
      const u0 = v128.load(up + i)
      const u1 = v128.load(up + i, 16)
      v128.store(out + i, f32x4.mul(x0, u0))
      v128.store(out + i, f32x4.mul(x1, u1), 16)
    }
  }
}

/** The derivative of silu at x, given x and its sigmoid. */
// @ts-ignore: decorator
@inline
function siluSlope(x: v128, s: v128, one: v128): v128 {
  return f32x4.mul(s, f32x4.add(one, f32x4.mul(x, f32x4.sub(one, s))))
}

/** Gradients of `siluForward` from the gradient of its result. `dGate` may overwrite `dOut`. */
export function siluBackward(dGate: usize, dUp: usize, dOut: usize, gate: usize, up: usize, count: i32): void {
  const bytes = <usize> count << 2
  for (let start: usize = 0; start < bytes; start += blockBytes) {
    const end = min(start + blockBytes, bytes)
    storeExpOfNegated(dUp, gate, start, end)
    for (let i = start; i < end; i += 32) {
      const one = ones()
      const s0 = f32x4.div(one, f32x4.add(one, v128.load(dUp + i)))
      const s1 = f32x4.div(one, f32x4.add(one, v128.load(dUp + i, 16)))
      const x0 = v128.load(gate + i)
      const x1 = v128.load(gate + i, 16)
      const u0 = v128.load(up + i)
      const u1 = v128.load(up + i, 16)
      const d0 = v128.load(dOut + i)
      const d1 = v128.load(dOut + i, 16)
      v128.store(dUp + i, f32x4.mul(d0, f32x4.mul(x0, s0)))
      v128.store(dUp + i, f32x4.mul(d1, f32x4.mul(x1, s1)), 16)
      v128.store(dGate + i, f32x4.mul(f32x4.mul(d0, u0), siluSlope(x0, s0, one)))
      v128.store(dGate + i, f32x4.mul(f32x4.mul(d1, u1), siluSlope(x1, s1, one)), 16)
    }
  }
}

/** target += source. */
export function addInto(target: usize, source: usize, count: i32): void {
  for (let i: usize = 0; i < <usize> count << 2; i += 32) {
    const t0 = v128.load(target + i)
    const t1 = v128.load(target + i, 16)
    const s0 = v128.load(source + i)
    const s1 = v128.load(source + i, 16)
    v128.store(target + i, f32x4.add(t0, s0))
    v128.store(target + i, f32x4.add(t1, s1), 16)
  }
}

/** target *= factor. */
export function scaleInto(target: usize, factor: f32, count: i32): void {
  const k = f32x4.splat(factor)
  for (let i: usize = 0; i < <usize> count << 2; i += 32) {
    const t0 = v128.load(target + i)
    const t1 = v128.load(target + i, 16)
    v128.store(target + i, f32x4.mul(t0, k))
    v128.store(target + i, f32x4.mul(t1, k), 16)
  }
}

/** Adds one vector of `size` values to each of `rows` rows. `size` % 8 = 0. */
export function addBias(target: usize, bias: usize, rows: i32, size: i32): void {
  for (let r = 0; r < rows; r++) {
    addInto(target, bias, size)
    target += <usize> size << 2
  }
}
