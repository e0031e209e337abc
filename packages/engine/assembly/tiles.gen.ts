// Written by scripts/kernels/Tiles.ts.
import { levelBytes, placeOf, seenOf } from "./segments"
// @ts-ignore: decorator
@inline
export function tile6x1(c: usize, rc: usize, a: usize, ra: usize, b: usize, K: i32, accumulate: i32): void {
  let c0_0l = f32x4.splat(0)
  let c0_0h = f32x4.splat(0)
  let c1_0l = f32x4.splat(0)
  let c1_0h = f32x4.splat(0)
  let c2_0l = f32x4.splat(0)
  let c2_0h = f32x4.splat(0)
  let c3_0l = f32x4.splat(0)
  let c3_0h = f32x4.splat(0)
  let c4_0l = f32x4.splat(0)
  let c4_0h = f32x4.splat(0)
  let c5_0l = f32x4.splat(0)
  let c5_0h = f32x4.splat(0)
  let b0 = b + 0 * (<usize> K << 5)
  let a0 = a + 0 * ra
  let a1 = a + 1 * ra
  let a2 = a + 2 * ra
  let a3 = a + 3 * ra
  let a4 = a + 4 * ra
  let a5 = a + 5 * ra
  for (let k = 0; k < K; k++) {
    const low0 = v128.load(b0, 0)
    const high0 = v128.load(b0, 16)
    const x0 = v128.load32_splat(a0)
    c0_0l = f32x4.relaxed_madd(x0, low0, c0_0l)
    c0_0h = f32x4.relaxed_madd(x0, high0, c0_0h)
    const x1 = v128.load32_splat(a1)
    c1_0l = f32x4.relaxed_madd(x1, low0, c1_0l)
    c1_0h = f32x4.relaxed_madd(x1, high0, c1_0h)
    const x2 = v128.load32_splat(a2)
    c2_0l = f32x4.relaxed_madd(x2, low0, c2_0l)
    c2_0h = f32x4.relaxed_madd(x2, high0, c2_0h)
    const x3 = v128.load32_splat(a3)
    c3_0l = f32x4.relaxed_madd(x3, low0, c3_0l)
    c3_0h = f32x4.relaxed_madd(x3, high0, c3_0h)
    const x4 = v128.load32_splat(a4)
    c4_0l = f32x4.relaxed_madd(x4, low0, c4_0l)
    c4_0h = f32x4.relaxed_madd(x4, high0, c4_0h)
    const x5 = v128.load32_splat(a5)
    c5_0l = f32x4.relaxed_madd(x5, low0, c5_0l)
    c5_0h = f32x4.relaxed_madd(x5, high0, c5_0h)
    b0 += 32
    a0 += 4
    a1 += 4
    a2 += 4
    a3 += 4
    a4 += 4
    a5 += 4
  }
  let q = c
  if (accumulate) {
    const l0_0 = v128.load(q, 0)
    const h0_0 = v128.load(q, 16)
    v128.store(q, f32x4.add(l0_0, c0_0l), 0)
    v128.store(q, f32x4.add(h0_0, c0_0h), 16)
    q += rc
    const l1_0 = v128.load(q, 0)
    const h1_0 = v128.load(q, 16)
    v128.store(q, f32x4.add(l1_0, c1_0l), 0)
    v128.store(q, f32x4.add(h1_0, c1_0h), 16)
    q += rc
    const l2_0 = v128.load(q, 0)
    const h2_0 = v128.load(q, 16)
    v128.store(q, f32x4.add(l2_0, c2_0l), 0)
    v128.store(q, f32x4.add(h2_0, c2_0h), 16)
    q += rc
    const l3_0 = v128.load(q, 0)
    const h3_0 = v128.load(q, 16)
    v128.store(q, f32x4.add(l3_0, c3_0l), 0)
    v128.store(q, f32x4.add(h3_0, c3_0h), 16)
    q += rc
    const l4_0 = v128.load(q, 0)
    const h4_0 = v128.load(q, 16)
    v128.store(q, f32x4.add(l4_0, c4_0l), 0)
    v128.store(q, f32x4.add(h4_0, c4_0h), 16)
    q += rc
    const l5_0 = v128.load(q, 0)
    const h5_0 = v128.load(q, 16)
    v128.store(q, f32x4.add(l5_0, c5_0l), 0)
    v128.store(q, f32x4.add(h5_0, c5_0h), 16)
    q += rc
  } else {
    v128.store(q, c0_0l, 0)
    v128.store(q, c0_0h, 16)
    q += rc
    v128.store(q, c1_0l, 0)
    v128.store(q, c1_0h, 16)
    q += rc
    v128.store(q, c2_0l, 0)
    v128.store(q, c2_0h, 16)
    q += rc
    v128.store(q, c3_0l, 0)
    v128.store(q, c3_0h, 16)
    q += rc
    v128.store(q, c4_0l, 0)
    v128.store(q, c4_0h, 16)
    q += rc
    v128.store(q, c5_0l, 0)
    v128.store(q, c5_0h, 16)
    q += rc
  }
}
// @ts-ignore: decorator
@inline
export function tile4x1(c: usize, rc: usize, a: usize, ra: usize, b: usize, K: i32, accumulate: i32): void {
  let c0_0l = f32x4.splat(0)
  let c0_0h = f32x4.splat(0)
  let c1_0l = f32x4.splat(0)
  let c1_0h = f32x4.splat(0)
  let c2_0l = f32x4.splat(0)
  let c2_0h = f32x4.splat(0)
  let c3_0l = f32x4.splat(0)
  let c3_0h = f32x4.splat(0)
  let b0 = b + 0 * (<usize> K << 5)
  let a0 = a + 0 * ra
  let a1 = a + 1 * ra
  let a2 = a + 2 * ra
  let a3 = a + 3 * ra
  for (let k = 0; k < K; k++) {
    const low0 = v128.load(b0, 0)
    const high0 = v128.load(b0, 16)
    const x0 = v128.load32_splat(a0)
    c0_0l = f32x4.relaxed_madd(x0, low0, c0_0l)
    c0_0h = f32x4.relaxed_madd(x0, high0, c0_0h)
    const x1 = v128.load32_splat(a1)
    c1_0l = f32x4.relaxed_madd(x1, low0, c1_0l)
    c1_0h = f32x4.relaxed_madd(x1, high0, c1_0h)
    const x2 = v128.load32_splat(a2)
    c2_0l = f32x4.relaxed_madd(x2, low0, c2_0l)
    c2_0h = f32x4.relaxed_madd(x2, high0, c2_0h)
    const x3 = v128.load32_splat(a3)
    c3_0l = f32x4.relaxed_madd(x3, low0, c3_0l)
    c3_0h = f32x4.relaxed_madd(x3, high0, c3_0h)
    b0 += 32
    a0 += 4
    a1 += 4
    a2 += 4
    a3 += 4
  }
  let q = c
  if (accumulate) {
    const l0_0 = v128.load(q, 0)
    const h0_0 = v128.load(q, 16)
    v128.store(q, f32x4.add(l0_0, c0_0l), 0)
    v128.store(q, f32x4.add(h0_0, c0_0h), 16)
    q += rc
    const l1_0 = v128.load(q, 0)
    const h1_0 = v128.load(q, 16)
    v128.store(q, f32x4.add(l1_0, c1_0l), 0)
    v128.store(q, f32x4.add(h1_0, c1_0h), 16)
    q += rc
    const l2_0 = v128.load(q, 0)
    const h2_0 = v128.load(q, 16)
    v128.store(q, f32x4.add(l2_0, c2_0l), 0)
    v128.store(q, f32x4.add(h2_0, c2_0h), 16)
    q += rc
    const l3_0 = v128.load(q, 0)
    const h3_0 = v128.load(q, 16)
    v128.store(q, f32x4.add(l3_0, c3_0l), 0)
    v128.store(q, f32x4.add(h3_0, c3_0h), 16)
    q += rc
  } else {
    v128.store(q, c0_0l, 0)
    v128.store(q, c0_0h, 16)
    q += rc
    v128.store(q, c1_0l, 0)
    v128.store(q, c1_0h, 16)
    q += rc
    v128.store(q, c2_0l, 0)
    v128.store(q, c2_0h, 16)
    q += rc
    v128.store(q, c3_0l, 0)
    v128.store(q, c3_0h, 16)
    q += rc
  }
}
// @ts-ignore: decorator
@inline
export function tile2x1(c: usize, rc: usize, a: usize, ra: usize, b: usize, K: i32, accumulate: i32): void {
  let c0_0l = f32x4.splat(0)
  let c0_0h = f32x4.splat(0)
  let c1_0l = f32x4.splat(0)
  let c1_0h = f32x4.splat(0)
  let b0 = b + 0 * (<usize> K << 5)
  let a0 = a + 0 * ra
  let a1 = a + 1 * ra
  for (let k = 0; k < K; k++) {
    const low0 = v128.load(b0, 0)
    const high0 = v128.load(b0, 16)
    const x0 = v128.load32_splat(a0)
    c0_0l = f32x4.relaxed_madd(x0, low0, c0_0l)
    c0_0h = f32x4.relaxed_madd(x0, high0, c0_0h)
    const x1 = v128.load32_splat(a1)
    c1_0l = f32x4.relaxed_madd(x1, low0, c1_0l)
    c1_0h = f32x4.relaxed_madd(x1, high0, c1_0h)
    b0 += 32
    a0 += 4
    a1 += 4
  }
  let q = c
  if (accumulate) {
    const l0_0 = v128.load(q, 0)
    const h0_0 = v128.load(q, 16)
    v128.store(q, f32x4.add(l0_0, c0_0l), 0)
    v128.store(q, f32x4.add(h0_0, c0_0h), 16)
    q += rc
    const l1_0 = v128.load(q, 0)
    const h1_0 = v128.load(q, 16)
    v128.store(q, f32x4.add(l1_0, c1_0l), 0)
    v128.store(q, f32x4.add(h1_0, c1_0h), 16)
    q += rc
  } else {
    v128.store(q, c0_0l, 0)
    v128.store(q, c0_0h, 16)
    q += rc
    v128.store(q, c1_0l, 0)
    v128.store(q, c1_0h, 16)
    q += rc
  }
}
// @ts-ignore: decorator
@inline
export function tile1x1(c: usize, rc: usize, a: usize, ra: usize, b: usize, K: i32, accumulate: i32): void {
  let c0_0l = f32x4.splat(0)
  let c0_0h = f32x4.splat(0)
  let b0 = b + 0 * (<usize> K << 5)
  let a0 = a + 0 * ra
  for (let k = 0; k < K; k++) {
    const low0 = v128.load(b0, 0)
    const high0 = v128.load(b0, 16)
    const x0 = v128.load32_splat(a0)
    c0_0l = f32x4.relaxed_madd(x0, low0, c0_0l)
    c0_0h = f32x4.relaxed_madd(x0, high0, c0_0h)
    b0 += 32
    a0 += 4
  }
  let q = c
  if (accumulate) {
    const l0_0 = v128.load(q, 0)
    const h0_0 = v128.load(q, 16)
    v128.store(q, f32x4.add(l0_0, c0_0l), 0)
    v128.store(q, f32x4.add(h0_0, c0_0h), 16)
    q += rc
  } else {
    v128.store(q, c0_0l, 0)
    v128.store(q, c0_0h, 16)
    q += rc
  }
}
// @ts-ignore: decorator
@inline
export function tiles1(c: usize, rc: usize, a: usize, ra: usize, b: usize, start: i32, end: i32, K: i32, accumulate: i32): void {
  let row = start
  let cp = c + <usize> row * rc
  let ap = a + <usize> row * ra
  while (row + 6 <= end) {
    tile6x1(cp, rc, ap, ra, b, K, accumulate)
    cp += 6 * rc
    ap += 6 * ra
    row += 6
  }
  if (row + 4 <= end) {
    tile4x1(cp, rc, ap, ra, b, K, accumulate)
    cp += 4 * rc
    ap += 4 * ra
    row += 4
  }
  if (row + 2 <= end) {
    tile2x1(cp, rc, ap, ra, b, K, accumulate)
    cp += 2 * rc
    ap += 2 * ra
    row += 2
  }
  if (row < end) {
    tile1x1(cp, rc, ap, ra, b, K, accumulate)
    cp += 1 * rc
    ap += 1 * ra
    row += 1
  }
}
// @ts-ignore: decorator
@inline
export function tile6x2(c: usize, rc: usize, a: usize, ra: usize, b: usize, K: i32, accumulate: i32): void {
  let c0_0l = f32x4.splat(0)
  let c0_0h = f32x4.splat(0)
  let c0_1l = f32x4.splat(0)
  let c0_1h = f32x4.splat(0)
  let c1_0l = f32x4.splat(0)
  let c1_0h = f32x4.splat(0)
  let c1_1l = f32x4.splat(0)
  let c1_1h = f32x4.splat(0)
  let c2_0l = f32x4.splat(0)
  let c2_0h = f32x4.splat(0)
  let c2_1l = f32x4.splat(0)
  let c2_1h = f32x4.splat(0)
  let c3_0l = f32x4.splat(0)
  let c3_0h = f32x4.splat(0)
  let c3_1l = f32x4.splat(0)
  let c3_1h = f32x4.splat(0)
  let c4_0l = f32x4.splat(0)
  let c4_0h = f32x4.splat(0)
  let c4_1l = f32x4.splat(0)
  let c4_1h = f32x4.splat(0)
  let c5_0l = f32x4.splat(0)
  let c5_0h = f32x4.splat(0)
  let c5_1l = f32x4.splat(0)
  let c5_1h = f32x4.splat(0)
  let b0 = b + 0 * (<usize> K << 5)
  let b1 = b + 1 * (<usize> K << 5)
  let a0 = a + 0 * ra
  let a1 = a + 1 * ra
  let a2 = a + 2 * ra
  let a3 = a + 3 * ra
  let a4 = a + 4 * ra
  let a5 = a + 5 * ra
  for (let k = 0; k < K; k++) {
    const low0 = v128.load(b0, 0)
    const high0 = v128.load(b0, 16)
    const low1 = v128.load(b1, 0)
    const high1 = v128.load(b1, 16)
    const x0 = v128.load32_splat(a0)
    c0_0l = f32x4.relaxed_madd(x0, low0, c0_0l)
    c0_0h = f32x4.relaxed_madd(x0, high0, c0_0h)
    c0_1l = f32x4.relaxed_madd(x0, low1, c0_1l)
    c0_1h = f32x4.relaxed_madd(x0, high1, c0_1h)
    const x1 = v128.load32_splat(a1)
    c1_0l = f32x4.relaxed_madd(x1, low0, c1_0l)
    c1_0h = f32x4.relaxed_madd(x1, high0, c1_0h)
    c1_1l = f32x4.relaxed_madd(x1, low1, c1_1l)
    c1_1h = f32x4.relaxed_madd(x1, high1, c1_1h)
    const x2 = v128.load32_splat(a2)
    c2_0l = f32x4.relaxed_madd(x2, low0, c2_0l)
    c2_0h = f32x4.relaxed_madd(x2, high0, c2_0h)
    c2_1l = f32x4.relaxed_madd(x2, low1, c2_1l)
    c2_1h = f32x4.relaxed_madd(x2, high1, c2_1h)
    const x3 = v128.load32_splat(a3)
    c3_0l = f32x4.relaxed_madd(x3, low0, c3_0l)
    c3_0h = f32x4.relaxed_madd(x3, high0, c3_0h)
    c3_1l = f32x4.relaxed_madd(x3, low1, c3_1l)
    c3_1h = f32x4.relaxed_madd(x3, high1, c3_1h)
    const x4 = v128.load32_splat(a4)
    c4_0l = f32x4.relaxed_madd(x4, low0, c4_0l)
    c4_0h = f32x4.relaxed_madd(x4, high0, c4_0h)
    c4_1l = f32x4.relaxed_madd(x4, low1, c4_1l)
    c4_1h = f32x4.relaxed_madd(x4, high1, c4_1h)
    const x5 = v128.load32_splat(a5)
    c5_0l = f32x4.relaxed_madd(x5, low0, c5_0l)
    c5_0h = f32x4.relaxed_madd(x5, high0, c5_0h)
    c5_1l = f32x4.relaxed_madd(x5, low1, c5_1l)
    c5_1h = f32x4.relaxed_madd(x5, high1, c5_1h)
    b0 += 32
    b1 += 32
    a0 += 4
    a1 += 4
    a2 += 4
    a3 += 4
    a4 += 4
    a5 += 4
  }
  let q = c
  if (accumulate) {
    const l0_0 = v128.load(q, 0)
    const h0_0 = v128.load(q, 16)
    v128.store(q, f32x4.add(l0_0, c0_0l), 0)
    v128.store(q, f32x4.add(h0_0, c0_0h), 16)
    const l0_1 = v128.load(q, 32)
    const h0_1 = v128.load(q, 48)
    v128.store(q, f32x4.add(l0_1, c0_1l), 32)
    v128.store(q, f32x4.add(h0_1, c0_1h), 48)
    q += rc
    const l1_0 = v128.load(q, 0)
    const h1_0 = v128.load(q, 16)
    v128.store(q, f32x4.add(l1_0, c1_0l), 0)
    v128.store(q, f32x4.add(h1_0, c1_0h), 16)
    const l1_1 = v128.load(q, 32)
    const h1_1 = v128.load(q, 48)
    v128.store(q, f32x4.add(l1_1, c1_1l), 32)
    v128.store(q, f32x4.add(h1_1, c1_1h), 48)
    q += rc
    const l2_0 = v128.load(q, 0)
    const h2_0 = v128.load(q, 16)
    v128.store(q, f32x4.add(l2_0, c2_0l), 0)
    v128.store(q, f32x4.add(h2_0, c2_0h), 16)
    const l2_1 = v128.load(q, 32)
    const h2_1 = v128.load(q, 48)
    v128.store(q, f32x4.add(l2_1, c2_1l), 32)
    v128.store(q, f32x4.add(h2_1, c2_1h), 48)
    q += rc
    const l3_0 = v128.load(q, 0)
    const h3_0 = v128.load(q, 16)
    v128.store(q, f32x4.add(l3_0, c3_0l), 0)
    v128.store(q, f32x4.add(h3_0, c3_0h), 16)
    const l3_1 = v128.load(q, 32)
    const h3_1 = v128.load(q, 48)
    v128.store(q, f32x4.add(l3_1, c3_1l), 32)
    v128.store(q, f32x4.add(h3_1, c3_1h), 48)
    q += rc
    const l4_0 = v128.load(q, 0)
    const h4_0 = v128.load(q, 16)
    v128.store(q, f32x4.add(l4_0, c4_0l), 0)
    v128.store(q, f32x4.add(h4_0, c4_0h), 16)
    const l4_1 = v128.load(q, 32)
    const h4_1 = v128.load(q, 48)
    v128.store(q, f32x4.add(l4_1, c4_1l), 32)
    v128.store(q, f32x4.add(h4_1, c4_1h), 48)
    q += rc
    const l5_0 = v128.load(q, 0)
    const h5_0 = v128.load(q, 16)
    v128.store(q, f32x4.add(l5_0, c5_0l), 0)
    v128.store(q, f32x4.add(h5_0, c5_0h), 16)
    const l5_1 = v128.load(q, 32)
    const h5_1 = v128.load(q, 48)
    v128.store(q, f32x4.add(l5_1, c5_1l), 32)
    v128.store(q, f32x4.add(h5_1, c5_1h), 48)
    q += rc
  } else {
    v128.store(q, c0_0l, 0)
    v128.store(q, c0_0h, 16)
    v128.store(q, c0_1l, 32)
    v128.store(q, c0_1h, 48)
    q += rc
    v128.store(q, c1_0l, 0)
    v128.store(q, c1_0h, 16)
    v128.store(q, c1_1l, 32)
    v128.store(q, c1_1h, 48)
    q += rc
    v128.store(q, c2_0l, 0)
    v128.store(q, c2_0h, 16)
    v128.store(q, c2_1l, 32)
    v128.store(q, c2_1h, 48)
    q += rc
    v128.store(q, c3_0l, 0)
    v128.store(q, c3_0h, 16)
    v128.store(q, c3_1l, 32)
    v128.store(q, c3_1h, 48)
    q += rc
    v128.store(q, c4_0l, 0)
    v128.store(q, c4_0h, 16)
    v128.store(q, c4_1l, 32)
    v128.store(q, c4_1h, 48)
    q += rc
    v128.store(q, c5_0l, 0)
    v128.store(q, c5_0h, 16)
    v128.store(q, c5_1l, 32)
    v128.store(q, c5_1h, 48)
    q += rc
  }
}
// @ts-ignore: decorator
@inline
export function tile4x2(c: usize, rc: usize, a: usize, ra: usize, b: usize, K: i32, accumulate: i32): void {
  let c0_0l = f32x4.splat(0)
  let c0_0h = f32x4.splat(0)
  let c0_1l = f32x4.splat(0)
  let c0_1h = f32x4.splat(0)
  let c1_0l = f32x4.splat(0)
  let c1_0h = f32x4.splat(0)
  let c1_1l = f32x4.splat(0)
  let c1_1h = f32x4.splat(0)
  let c2_0l = f32x4.splat(0)
  let c2_0h = f32x4.splat(0)
  let c2_1l = f32x4.splat(0)
  let c2_1h = f32x4.splat(0)
  let c3_0l = f32x4.splat(0)
  let c3_0h = f32x4.splat(0)
  let c3_1l = f32x4.splat(0)
  let c3_1h = f32x4.splat(0)
  let b0 = b + 0 * (<usize> K << 5)
  let b1 = b + 1 * (<usize> K << 5)
  let a0 = a + 0 * ra
  let a1 = a + 1 * ra
  let a2 = a + 2 * ra
  let a3 = a + 3 * ra
  for (let k = 0; k < K; k++) {
    const low0 = v128.load(b0, 0)
    const high0 = v128.load(b0, 16)
    const low1 = v128.load(b1, 0)
    const high1 = v128.load(b1, 16)
    const x0 = v128.load32_splat(a0)
    c0_0l = f32x4.relaxed_madd(x0, low0, c0_0l)
    c0_0h = f32x4.relaxed_madd(x0, high0, c0_0h)
    c0_1l = f32x4.relaxed_madd(x0, low1, c0_1l)
    c0_1h = f32x4.relaxed_madd(x0, high1, c0_1h)
    const x1 = v128.load32_splat(a1)
    c1_0l = f32x4.relaxed_madd(x1, low0, c1_0l)
    c1_0h = f32x4.relaxed_madd(x1, high0, c1_0h)
    c1_1l = f32x4.relaxed_madd(x1, low1, c1_1l)
    c1_1h = f32x4.relaxed_madd(x1, high1, c1_1h)
    const x2 = v128.load32_splat(a2)
    c2_0l = f32x4.relaxed_madd(x2, low0, c2_0l)
    c2_0h = f32x4.relaxed_madd(x2, high0, c2_0h)
    c2_1l = f32x4.relaxed_madd(x2, low1, c2_1l)
    c2_1h = f32x4.relaxed_madd(x2, high1, c2_1h)
    const x3 = v128.load32_splat(a3)
    c3_0l = f32x4.relaxed_madd(x3, low0, c3_0l)
    c3_0h = f32x4.relaxed_madd(x3, high0, c3_0h)
    c3_1l = f32x4.relaxed_madd(x3, low1, c3_1l)
    c3_1h = f32x4.relaxed_madd(x3, high1, c3_1h)
    b0 += 32
    b1 += 32
    a0 += 4
    a1 += 4
    a2 += 4
    a3 += 4
  }
  let q = c
  if (accumulate) {
    const l0_0 = v128.load(q, 0)
    const h0_0 = v128.load(q, 16)
    v128.store(q, f32x4.add(l0_0, c0_0l), 0)
    v128.store(q, f32x4.add(h0_0, c0_0h), 16)
    const l0_1 = v128.load(q, 32)
    const h0_1 = v128.load(q, 48)
    v128.store(q, f32x4.add(l0_1, c0_1l), 32)
    v128.store(q, f32x4.add(h0_1, c0_1h), 48)
    q += rc
    const l1_0 = v128.load(q, 0)
    const h1_0 = v128.load(q, 16)
    v128.store(q, f32x4.add(l1_0, c1_0l), 0)
    v128.store(q, f32x4.add(h1_0, c1_0h), 16)
    const l1_1 = v128.load(q, 32)
    const h1_1 = v128.load(q, 48)
    v128.store(q, f32x4.add(l1_1, c1_1l), 32)
    v128.store(q, f32x4.add(h1_1, c1_1h), 48)
    q += rc
    const l2_0 = v128.load(q, 0)
    const h2_0 = v128.load(q, 16)
    v128.store(q, f32x4.add(l2_0, c2_0l), 0)
    v128.store(q, f32x4.add(h2_0, c2_0h), 16)
    const l2_1 = v128.load(q, 32)
    const h2_1 = v128.load(q, 48)
    v128.store(q, f32x4.add(l2_1, c2_1l), 32)
    v128.store(q, f32x4.add(h2_1, c2_1h), 48)
    q += rc
    const l3_0 = v128.load(q, 0)
    const h3_0 = v128.load(q, 16)
    v128.store(q, f32x4.add(l3_0, c3_0l), 0)
    v128.store(q, f32x4.add(h3_0, c3_0h), 16)
    const l3_1 = v128.load(q, 32)
    const h3_1 = v128.load(q, 48)
    v128.store(q, f32x4.add(l3_1, c3_1l), 32)
    v128.store(q, f32x4.add(h3_1, c3_1h), 48)
    q += rc
  } else {
    v128.store(q, c0_0l, 0)
    v128.store(q, c0_0h, 16)
    v128.store(q, c0_1l, 32)
    v128.store(q, c0_1h, 48)
    q += rc
    v128.store(q, c1_0l, 0)
    v128.store(q, c1_0h, 16)
    v128.store(q, c1_1l, 32)
    v128.store(q, c1_1h, 48)
    q += rc
    v128.store(q, c2_0l, 0)
    v128.store(q, c2_0h, 16)
    v128.store(q, c2_1l, 32)
    v128.store(q, c2_1h, 48)
    q += rc
    v128.store(q, c3_0l, 0)
    v128.store(q, c3_0h, 16)
    v128.store(q, c3_1l, 32)
    v128.store(q, c3_1h, 48)
    q += rc
  }
}
// @ts-ignore: decorator
@inline
export function tile2x2(c: usize, rc: usize, a: usize, ra: usize, b: usize, K: i32, accumulate: i32): void {
  let c0_0l = f32x4.splat(0)
  let c0_0h = f32x4.splat(0)
  let c0_1l = f32x4.splat(0)
  let c0_1h = f32x4.splat(0)
  let c1_0l = f32x4.splat(0)
  let c1_0h = f32x4.splat(0)
  let c1_1l = f32x4.splat(0)
  let c1_1h = f32x4.splat(0)
  let b0 = b + 0 * (<usize> K << 5)
  let b1 = b + 1 * (<usize> K << 5)
  let a0 = a + 0 * ra
  let a1 = a + 1 * ra
  for (let k = 0; k < K; k++) {
    const low0 = v128.load(b0, 0)
    const high0 = v128.load(b0, 16)
    const low1 = v128.load(b1, 0)
    const high1 = v128.load(b1, 16)
    const x0 = v128.load32_splat(a0)
    c0_0l = f32x4.relaxed_madd(x0, low0, c0_0l)
    c0_0h = f32x4.relaxed_madd(x0, high0, c0_0h)
    c0_1l = f32x4.relaxed_madd(x0, low1, c0_1l)
    c0_1h = f32x4.relaxed_madd(x0, high1, c0_1h)
    const x1 = v128.load32_splat(a1)
    c1_0l = f32x4.relaxed_madd(x1, low0, c1_0l)
    c1_0h = f32x4.relaxed_madd(x1, high0, c1_0h)
    c1_1l = f32x4.relaxed_madd(x1, low1, c1_1l)
    c1_1h = f32x4.relaxed_madd(x1, high1, c1_1h)
    b0 += 32
    b1 += 32
    a0 += 4
    a1 += 4
  }
  let q = c
  if (accumulate) {
    const l0_0 = v128.load(q, 0)
    const h0_0 = v128.load(q, 16)
    v128.store(q, f32x4.add(l0_0, c0_0l), 0)
    v128.store(q, f32x4.add(h0_0, c0_0h), 16)
    const l0_1 = v128.load(q, 32)
    const h0_1 = v128.load(q, 48)
    v128.store(q, f32x4.add(l0_1, c0_1l), 32)
    v128.store(q, f32x4.add(h0_1, c0_1h), 48)
    q += rc
    const l1_0 = v128.load(q, 0)
    const h1_0 = v128.load(q, 16)
    v128.store(q, f32x4.add(l1_0, c1_0l), 0)
    v128.store(q, f32x4.add(h1_0, c1_0h), 16)
    const l1_1 = v128.load(q, 32)
    const h1_1 = v128.load(q, 48)
    v128.store(q, f32x4.add(l1_1, c1_1l), 32)
    v128.store(q, f32x4.add(h1_1, c1_1h), 48)
    q += rc
  } else {
    v128.store(q, c0_0l, 0)
    v128.store(q, c0_0h, 16)
    v128.store(q, c0_1l, 32)
    v128.store(q, c0_1h, 48)
    q += rc
    v128.store(q, c1_0l, 0)
    v128.store(q, c1_0h, 16)
    v128.store(q, c1_1l, 32)
    v128.store(q, c1_1h, 48)
    q += rc
  }
}
// @ts-ignore: decorator
@inline
export function tile1x2(c: usize, rc: usize, a: usize, ra: usize, b: usize, K: i32, accumulate: i32): void {
  let c0_0l = f32x4.splat(0)
  let c0_0h = f32x4.splat(0)
  let c0_1l = f32x4.splat(0)
  let c0_1h = f32x4.splat(0)
  let b0 = b + 0 * (<usize> K << 5)
  let b1 = b + 1 * (<usize> K << 5)
  let a0 = a + 0 * ra
  for (let k = 0; k < K; k++) {
    const low0 = v128.load(b0, 0)
    const high0 = v128.load(b0, 16)
    const low1 = v128.load(b1, 0)
    const high1 = v128.load(b1, 16)
    const x0 = v128.load32_splat(a0)
    c0_0l = f32x4.relaxed_madd(x0, low0, c0_0l)
    c0_0h = f32x4.relaxed_madd(x0, high0, c0_0h)
    c0_1l = f32x4.relaxed_madd(x0, low1, c0_1l)
    c0_1h = f32x4.relaxed_madd(x0, high1, c0_1h)
    b0 += 32
    b1 += 32
    a0 += 4
  }
  let q = c
  if (accumulate) {
    const l0_0 = v128.load(q, 0)
    const h0_0 = v128.load(q, 16)
    v128.store(q, f32x4.add(l0_0, c0_0l), 0)
    v128.store(q, f32x4.add(h0_0, c0_0h), 16)
    const l0_1 = v128.load(q, 32)
    const h0_1 = v128.load(q, 48)
    v128.store(q, f32x4.add(l0_1, c0_1l), 32)
    v128.store(q, f32x4.add(h0_1, c0_1h), 48)
    q += rc
  } else {
    v128.store(q, c0_0l, 0)
    v128.store(q, c0_0h, 16)
    v128.store(q, c0_1l, 32)
    v128.store(q, c0_1h, 48)
    q += rc
  }
}
// @ts-ignore: decorator
@inline
export function tiles2(c: usize, rc: usize, a: usize, ra: usize, b: usize, start: i32, end: i32, K: i32, accumulate: i32): void {
  let row = start
  let cp = c + <usize> row * rc
  let ap = a + <usize> row * ra
  while (row + 6 <= end) {
    tile6x2(cp, rc, ap, ra, b, K, accumulate)
    cp += 6 * rc
    ap += 6 * ra
    row += 6
  }
  if (row + 4 <= end) {
    tile4x2(cp, rc, ap, ra, b, K, accumulate)
    cp += 4 * rc
    ap += 4 * ra
    row += 4
  }
  if (row + 2 <= end) {
    tile2x2(cp, rc, ap, ra, b, K, accumulate)
    cp += 2 * rc
    ap += 2 * ra
    row += 2
  }
  if (row < end) {
    tile1x2(cp, rc, ap, ra, b, K, accumulate)
    cp += 1 * rc
    ap += 1 * ra
    row += 1
  }
}
// @ts-ignore: decorator
@inline
export function transposed6x1(c: usize, rc: usize, a: usize, ra: usize, b: usize, rb: usize, M: i32): void {
  let c0_0l = f32x4.splat(0)
  let c0_0h = f32x4.splat(0)
  let c1_0l = f32x4.splat(0)
  let c1_0h = f32x4.splat(0)
  let c2_0l = f32x4.splat(0)
  let c2_0h = f32x4.splat(0)
  let c3_0l = f32x4.splat(0)
  let c3_0h = f32x4.splat(0)
  let c4_0l = f32x4.splat(0)
  let c4_0h = f32x4.splat(0)
  let c5_0l = f32x4.splat(0)
  let c5_0h = f32x4.splat(0)
  for (let m = 0; m < M; m++) {
    const low0 = v128.load(b + 0, 0)
    const high0 = v128.load(b + 0, 16)
    const x0 = v128.load32_splat(a, 0)
    c0_0l = f32x4.relaxed_madd(x0, low0, c0_0l)
    c0_0h = f32x4.relaxed_madd(x0, high0, c0_0h)
    const x1 = v128.load32_splat(a, 4)
    c1_0l = f32x4.relaxed_madd(x1, low0, c1_0l)
    c1_0h = f32x4.relaxed_madd(x1, high0, c1_0h)
    const x2 = v128.load32_splat(a, 8)
    c2_0l = f32x4.relaxed_madd(x2, low0, c2_0l)
    c2_0h = f32x4.relaxed_madd(x2, high0, c2_0h)
    const x3 = v128.load32_splat(a, 12)
    c3_0l = f32x4.relaxed_madd(x3, low0, c3_0l)
    c3_0h = f32x4.relaxed_madd(x3, high0, c3_0h)
    const x4 = v128.load32_splat(a, 16)
    c4_0l = f32x4.relaxed_madd(x4, low0, c4_0l)
    c4_0h = f32x4.relaxed_madd(x4, high0, c4_0h)
    const x5 = v128.load32_splat(a, 20)
    c5_0l = f32x4.relaxed_madd(x5, low0, c5_0l)
    c5_0h = f32x4.relaxed_madd(x5, high0, c5_0h)
    a += ra
    b += rb
  }
  const accumulate = true
  let q = c
  if (accumulate) {
    const l0_0 = v128.load(q, 0)
    const h0_0 = v128.load(q, 16)
    v128.store(q, f32x4.add(l0_0, c0_0l), 0)
    v128.store(q, f32x4.add(h0_0, c0_0h), 16)
    q += rc
    const l1_0 = v128.load(q, 0)
    const h1_0 = v128.load(q, 16)
    v128.store(q, f32x4.add(l1_0, c1_0l), 0)
    v128.store(q, f32x4.add(h1_0, c1_0h), 16)
    q += rc
    const l2_0 = v128.load(q, 0)
    const h2_0 = v128.load(q, 16)
    v128.store(q, f32x4.add(l2_0, c2_0l), 0)
    v128.store(q, f32x4.add(h2_0, c2_0h), 16)
    q += rc
    const l3_0 = v128.load(q, 0)
    const h3_0 = v128.load(q, 16)
    v128.store(q, f32x4.add(l3_0, c3_0l), 0)
    v128.store(q, f32x4.add(h3_0, c3_0h), 16)
    q += rc
    const l4_0 = v128.load(q, 0)
    const h4_0 = v128.load(q, 16)
    v128.store(q, f32x4.add(l4_0, c4_0l), 0)
    v128.store(q, f32x4.add(h4_0, c4_0h), 16)
    q += rc
    const l5_0 = v128.load(q, 0)
    const h5_0 = v128.load(q, 16)
    v128.store(q, f32x4.add(l5_0, c5_0l), 0)
    v128.store(q, f32x4.add(h5_0, c5_0h), 16)
    q += rc
  } else {
    v128.store(q, c0_0l, 0)
    v128.store(q, c0_0h, 16)
    q += rc
    v128.store(q, c1_0l, 0)
    v128.store(q, c1_0h, 16)
    q += rc
    v128.store(q, c2_0l, 0)
    v128.store(q, c2_0h, 16)
    q += rc
    v128.store(q, c3_0l, 0)
    v128.store(q, c3_0h, 16)
    q += rc
    v128.store(q, c4_0l, 0)
    v128.store(q, c4_0h, 16)
    q += rc
    v128.store(q, c5_0l, 0)
    v128.store(q, c5_0h, 16)
    q += rc
  }
}
// @ts-ignore: decorator
@inline
export function transposed4x1(c: usize, rc: usize, a: usize, ra: usize, b: usize, rb: usize, M: i32): void {
  let c0_0l = f32x4.splat(0)
  let c0_0h = f32x4.splat(0)
  let c1_0l = f32x4.splat(0)
  let c1_0h = f32x4.splat(0)
  let c2_0l = f32x4.splat(0)
  let c2_0h = f32x4.splat(0)
  let c3_0l = f32x4.splat(0)
  let c3_0h = f32x4.splat(0)
  for (let m = 0; m < M; m++) {
    const low0 = v128.load(b + 0, 0)
    const high0 = v128.load(b + 0, 16)
    const x0 = v128.load32_splat(a, 0)
    c0_0l = f32x4.relaxed_madd(x0, low0, c0_0l)
    c0_0h = f32x4.relaxed_madd(x0, high0, c0_0h)
    const x1 = v128.load32_splat(a, 4)
    c1_0l = f32x4.relaxed_madd(x1, low0, c1_0l)
    c1_0h = f32x4.relaxed_madd(x1, high0, c1_0h)
    const x2 = v128.load32_splat(a, 8)
    c2_0l = f32x4.relaxed_madd(x2, low0, c2_0l)
    c2_0h = f32x4.relaxed_madd(x2, high0, c2_0h)
    const x3 = v128.load32_splat(a, 12)
    c3_0l = f32x4.relaxed_madd(x3, low0, c3_0l)
    c3_0h = f32x4.relaxed_madd(x3, high0, c3_0h)
    a += ra
    b += rb
  }
  const accumulate = true
  let q = c
  if (accumulate) {
    const l0_0 = v128.load(q, 0)
    const h0_0 = v128.load(q, 16)
    v128.store(q, f32x4.add(l0_0, c0_0l), 0)
    v128.store(q, f32x4.add(h0_0, c0_0h), 16)
    q += rc
    const l1_0 = v128.load(q, 0)
    const h1_0 = v128.load(q, 16)
    v128.store(q, f32x4.add(l1_0, c1_0l), 0)
    v128.store(q, f32x4.add(h1_0, c1_0h), 16)
    q += rc
    const l2_0 = v128.load(q, 0)
    const h2_0 = v128.load(q, 16)
    v128.store(q, f32x4.add(l2_0, c2_0l), 0)
    v128.store(q, f32x4.add(h2_0, c2_0h), 16)
    q += rc
    const l3_0 = v128.load(q, 0)
    const h3_0 = v128.load(q, 16)
    v128.store(q, f32x4.add(l3_0, c3_0l), 0)
    v128.store(q, f32x4.add(h3_0, c3_0h), 16)
    q += rc
  } else {
    v128.store(q, c0_0l, 0)
    v128.store(q, c0_0h, 16)
    q += rc
    v128.store(q, c1_0l, 0)
    v128.store(q, c1_0h, 16)
    q += rc
    v128.store(q, c2_0l, 0)
    v128.store(q, c2_0h, 16)
    q += rc
    v128.store(q, c3_0l, 0)
    v128.store(q, c3_0h, 16)
    q += rc
  }
}
// @ts-ignore: decorator
@inline
export function transposed2x1(c: usize, rc: usize, a: usize, ra: usize, b: usize, rb: usize, M: i32): void {
  let c0_0l = f32x4.splat(0)
  let c0_0h = f32x4.splat(0)
  let c1_0l = f32x4.splat(0)
  let c1_0h = f32x4.splat(0)
  for (let m = 0; m < M; m++) {
    const low0 = v128.load(b + 0, 0)
    const high0 = v128.load(b + 0, 16)
    const x0 = v128.load32_splat(a, 0)
    c0_0l = f32x4.relaxed_madd(x0, low0, c0_0l)
    c0_0h = f32x4.relaxed_madd(x0, high0, c0_0h)
    const x1 = v128.load32_splat(a, 4)
    c1_0l = f32x4.relaxed_madd(x1, low0, c1_0l)
    c1_0h = f32x4.relaxed_madd(x1, high0, c1_0h)
    a += ra
    b += rb
  }
  const accumulate = true
  let q = c
  if (accumulate) {
    const l0_0 = v128.load(q, 0)
    const h0_0 = v128.load(q, 16)
    v128.store(q, f32x4.add(l0_0, c0_0l), 0)
    v128.store(q, f32x4.add(h0_0, c0_0h), 16)
    q += rc
    const l1_0 = v128.load(q, 0)
    const h1_0 = v128.load(q, 16)
    v128.store(q, f32x4.add(l1_0, c1_0l), 0)
    v128.store(q, f32x4.add(h1_0, c1_0h), 16)
    q += rc
  } else {
    v128.store(q, c0_0l, 0)
    v128.store(q, c0_0h, 16)
    q += rc
    v128.store(q, c1_0l, 0)
    v128.store(q, c1_0h, 16)
    q += rc
  }
}
// @ts-ignore: decorator
@inline
export function transposed1x1(c: usize, rc: usize, a: usize, ra: usize, b: usize, rb: usize, M: i32): void {
  let c0_0l = f32x4.splat(0)
  let c0_0h = f32x4.splat(0)
  for (let m = 0; m < M; m++) {
    const low0 = v128.load(b + 0, 0)
    const high0 = v128.load(b + 0, 16)
    const x0 = v128.load32_splat(a, 0)
    c0_0l = f32x4.relaxed_madd(x0, low0, c0_0l)
    c0_0h = f32x4.relaxed_madd(x0, high0, c0_0h)
    a += ra
    b += rb
  }
  const accumulate = true
  let q = c
  if (accumulate) {
    const l0_0 = v128.load(q, 0)
    const h0_0 = v128.load(q, 16)
    v128.store(q, f32x4.add(l0_0, c0_0l), 0)
    v128.store(q, f32x4.add(h0_0, c0_0h), 16)
    q += rc
  } else {
    v128.store(q, c0_0l, 0)
    v128.store(q, c0_0h, 16)
    q += rc
  }
}
// @ts-ignore: decorator
@inline
export function transposedTiles1(c: usize, rc: usize, a: usize, ra: usize, b: usize, rb: usize, M: i32, K: i32): void {
  let ap = a
  let cp = c
  let row = 0
  while (row + 6 <= K) {
    transposed6x1(cp, rc, ap, ra, b, rb, M)
    cp += 6 * rc
    ap += 24
    row += 6
  }
  if (row + 4 <= K) {
    transposed4x1(cp, rc, ap, ra, b, rb, M)
    cp += 4 * rc
    ap += 16
    row += 4
  }
  if (row + 2 <= K) {
    transposed2x1(cp, rc, ap, ra, b, rb, M)
    cp += 2 * rc
    ap += 8
    row += 2
  }
  if (row < K) {
    transposed1x1(cp, rc, ap, ra, b, rb, M)
    cp += 1 * rc
    ap += 4
    row += 1
  }
}
// @ts-ignore: decorator
@inline
export function transposed6x2(c: usize, rc: usize, a: usize, ra: usize, b: usize, rb: usize, M: i32): void {
  let c0_0l = f32x4.splat(0)
  let c0_0h = f32x4.splat(0)
  let c0_1l = f32x4.splat(0)
  let c0_1h = f32x4.splat(0)
  let c1_0l = f32x4.splat(0)
  let c1_0h = f32x4.splat(0)
  let c1_1l = f32x4.splat(0)
  let c1_1h = f32x4.splat(0)
  let c2_0l = f32x4.splat(0)
  let c2_0h = f32x4.splat(0)
  let c2_1l = f32x4.splat(0)
  let c2_1h = f32x4.splat(0)
  let c3_0l = f32x4.splat(0)
  let c3_0h = f32x4.splat(0)
  let c3_1l = f32x4.splat(0)
  let c3_1h = f32x4.splat(0)
  let c4_0l = f32x4.splat(0)
  let c4_0h = f32x4.splat(0)
  let c4_1l = f32x4.splat(0)
  let c4_1h = f32x4.splat(0)
  let c5_0l = f32x4.splat(0)
  let c5_0h = f32x4.splat(0)
  let c5_1l = f32x4.splat(0)
  let c5_1h = f32x4.splat(0)
  for (let m = 0; m < M; m++) {
    const low0 = v128.load(b + 0, 0)
    const high0 = v128.load(b + 0, 16)
    const low1 = v128.load(b + 32, 0)
    const high1 = v128.load(b + 32, 16)
    const x0 = v128.load32_splat(a, 0)
    c0_0l = f32x4.relaxed_madd(x0, low0, c0_0l)
    c0_0h = f32x4.relaxed_madd(x0, high0, c0_0h)
    c0_1l = f32x4.relaxed_madd(x0, low1, c0_1l)
    c0_1h = f32x4.relaxed_madd(x0, high1, c0_1h)
    const x1 = v128.load32_splat(a, 4)
    c1_0l = f32x4.relaxed_madd(x1, low0, c1_0l)
    c1_0h = f32x4.relaxed_madd(x1, high0, c1_0h)
    c1_1l = f32x4.relaxed_madd(x1, low1, c1_1l)
    c1_1h = f32x4.relaxed_madd(x1, high1, c1_1h)
    const x2 = v128.load32_splat(a, 8)
    c2_0l = f32x4.relaxed_madd(x2, low0, c2_0l)
    c2_0h = f32x4.relaxed_madd(x2, high0, c2_0h)
    c2_1l = f32x4.relaxed_madd(x2, low1, c2_1l)
    c2_1h = f32x4.relaxed_madd(x2, high1, c2_1h)
    const x3 = v128.load32_splat(a, 12)
    c3_0l = f32x4.relaxed_madd(x3, low0, c3_0l)
    c3_0h = f32x4.relaxed_madd(x3, high0, c3_0h)
    c3_1l = f32x4.relaxed_madd(x3, low1, c3_1l)
    c3_1h = f32x4.relaxed_madd(x3, high1, c3_1h)
    const x4 = v128.load32_splat(a, 16)
    c4_0l = f32x4.relaxed_madd(x4, low0, c4_0l)
    c4_0h = f32x4.relaxed_madd(x4, high0, c4_0h)
    c4_1l = f32x4.relaxed_madd(x4, low1, c4_1l)
    c4_1h = f32x4.relaxed_madd(x4, high1, c4_1h)
    const x5 = v128.load32_splat(a, 20)
    c5_0l = f32x4.relaxed_madd(x5, low0, c5_0l)
    c5_0h = f32x4.relaxed_madd(x5, high0, c5_0h)
    c5_1l = f32x4.relaxed_madd(x5, low1, c5_1l)
    c5_1h = f32x4.relaxed_madd(x5, high1, c5_1h)
    a += ra
    b += rb
  }
  const accumulate = true
  let q = c
  if (accumulate) {
    const l0_0 = v128.load(q, 0)
    const h0_0 = v128.load(q, 16)
    v128.store(q, f32x4.add(l0_0, c0_0l), 0)
    v128.store(q, f32x4.add(h0_0, c0_0h), 16)
    const l0_1 = v128.load(q, 32)
    const h0_1 = v128.load(q, 48)
    v128.store(q, f32x4.add(l0_1, c0_1l), 32)
    v128.store(q, f32x4.add(h0_1, c0_1h), 48)
    q += rc
    const l1_0 = v128.load(q, 0)
    const h1_0 = v128.load(q, 16)
    v128.store(q, f32x4.add(l1_0, c1_0l), 0)
    v128.store(q, f32x4.add(h1_0, c1_0h), 16)
    const l1_1 = v128.load(q, 32)
    const h1_1 = v128.load(q, 48)
    v128.store(q, f32x4.add(l1_1, c1_1l), 32)
    v128.store(q, f32x4.add(h1_1, c1_1h), 48)
    q += rc
    const l2_0 = v128.load(q, 0)
    const h2_0 = v128.load(q, 16)
    v128.store(q, f32x4.add(l2_0, c2_0l), 0)
    v128.store(q, f32x4.add(h2_0, c2_0h), 16)
    const l2_1 = v128.load(q, 32)
    const h2_1 = v128.load(q, 48)
    v128.store(q, f32x4.add(l2_1, c2_1l), 32)
    v128.store(q, f32x4.add(h2_1, c2_1h), 48)
    q += rc
    const l3_0 = v128.load(q, 0)
    const h3_0 = v128.load(q, 16)
    v128.store(q, f32x4.add(l3_0, c3_0l), 0)
    v128.store(q, f32x4.add(h3_0, c3_0h), 16)
    const l3_1 = v128.load(q, 32)
    const h3_1 = v128.load(q, 48)
    v128.store(q, f32x4.add(l3_1, c3_1l), 32)
    v128.store(q, f32x4.add(h3_1, c3_1h), 48)
    q += rc
    const l4_0 = v128.load(q, 0)
    const h4_0 = v128.load(q, 16)
    v128.store(q, f32x4.add(l4_0, c4_0l), 0)
    v128.store(q, f32x4.add(h4_0, c4_0h), 16)
    const l4_1 = v128.load(q, 32)
    const h4_1 = v128.load(q, 48)
    v128.store(q, f32x4.add(l4_1, c4_1l), 32)
    v128.store(q, f32x4.add(h4_1, c4_1h), 48)
    q += rc
    const l5_0 = v128.load(q, 0)
    const h5_0 = v128.load(q, 16)
    v128.store(q, f32x4.add(l5_0, c5_0l), 0)
    v128.store(q, f32x4.add(h5_0, c5_0h), 16)
    const l5_1 = v128.load(q, 32)
    const h5_1 = v128.load(q, 48)
    v128.store(q, f32x4.add(l5_1, c5_1l), 32)
    v128.store(q, f32x4.add(h5_1, c5_1h), 48)
    q += rc
  } else {
    v128.store(q, c0_0l, 0)
    v128.store(q, c0_0h, 16)
    v128.store(q, c0_1l, 32)
    v128.store(q, c0_1h, 48)
    q += rc
    v128.store(q, c1_0l, 0)
    v128.store(q, c1_0h, 16)
    v128.store(q, c1_1l, 32)
    v128.store(q, c1_1h, 48)
    q += rc
    v128.store(q, c2_0l, 0)
    v128.store(q, c2_0h, 16)
    v128.store(q, c2_1l, 32)
    v128.store(q, c2_1h, 48)
    q += rc
    v128.store(q, c3_0l, 0)
    v128.store(q, c3_0h, 16)
    v128.store(q, c3_1l, 32)
    v128.store(q, c3_1h, 48)
    q += rc
    v128.store(q, c4_0l, 0)
    v128.store(q, c4_0h, 16)
    v128.store(q, c4_1l, 32)
    v128.store(q, c4_1h, 48)
    q += rc
    v128.store(q, c5_0l, 0)
    v128.store(q, c5_0h, 16)
    v128.store(q, c5_1l, 32)
    v128.store(q, c5_1h, 48)
    q += rc
  }
}
// @ts-ignore: decorator
@inline
export function transposed4x2(c: usize, rc: usize, a: usize, ra: usize, b: usize, rb: usize, M: i32): void {
  let c0_0l = f32x4.splat(0)
  let c0_0h = f32x4.splat(0)
  let c0_1l = f32x4.splat(0)
  let c0_1h = f32x4.splat(0)
  let c1_0l = f32x4.splat(0)
  let c1_0h = f32x4.splat(0)
  let c1_1l = f32x4.splat(0)
  let c1_1h = f32x4.splat(0)
  let c2_0l = f32x4.splat(0)
  let c2_0h = f32x4.splat(0)
  let c2_1l = f32x4.splat(0)
  let c2_1h = f32x4.splat(0)
  let c3_0l = f32x4.splat(0)
  let c3_0h = f32x4.splat(0)
  let c3_1l = f32x4.splat(0)
  let c3_1h = f32x4.splat(0)
  for (let m = 0; m < M; m++) {
    const low0 = v128.load(b + 0, 0)
    const high0 = v128.load(b + 0, 16)
    const low1 = v128.load(b + 32, 0)
    const high1 = v128.load(b + 32, 16)
    const x0 = v128.load32_splat(a, 0)
    c0_0l = f32x4.relaxed_madd(x0, low0, c0_0l)
    c0_0h = f32x4.relaxed_madd(x0, high0, c0_0h)
    c0_1l = f32x4.relaxed_madd(x0, low1, c0_1l)
    c0_1h = f32x4.relaxed_madd(x0, high1, c0_1h)
    const x1 = v128.load32_splat(a, 4)
    c1_0l = f32x4.relaxed_madd(x1, low0, c1_0l)
    c1_0h = f32x4.relaxed_madd(x1, high0, c1_0h)
    c1_1l = f32x4.relaxed_madd(x1, low1, c1_1l)
    c1_1h = f32x4.relaxed_madd(x1, high1, c1_1h)
    const x2 = v128.load32_splat(a, 8)
    c2_0l = f32x4.relaxed_madd(x2, low0, c2_0l)
    c2_0h = f32x4.relaxed_madd(x2, high0, c2_0h)
    c2_1l = f32x4.relaxed_madd(x2, low1, c2_1l)
    c2_1h = f32x4.relaxed_madd(x2, high1, c2_1h)
    const x3 = v128.load32_splat(a, 12)
    c3_0l = f32x4.relaxed_madd(x3, low0, c3_0l)
    c3_0h = f32x4.relaxed_madd(x3, high0, c3_0h)
    c3_1l = f32x4.relaxed_madd(x3, low1, c3_1l)
    c3_1h = f32x4.relaxed_madd(x3, high1, c3_1h)
    a += ra
    b += rb
  }
  const accumulate = true
  let q = c
  if (accumulate) {
    const l0_0 = v128.load(q, 0)
    const h0_0 = v128.load(q, 16)
    v128.store(q, f32x4.add(l0_0, c0_0l), 0)
    v128.store(q, f32x4.add(h0_0, c0_0h), 16)
    const l0_1 = v128.load(q, 32)
    const h0_1 = v128.load(q, 48)
    v128.store(q, f32x4.add(l0_1, c0_1l), 32)
    v128.store(q, f32x4.add(h0_1, c0_1h), 48)
    q += rc
    const l1_0 = v128.load(q, 0)
    const h1_0 = v128.load(q, 16)
    v128.store(q, f32x4.add(l1_0, c1_0l), 0)
    v128.store(q, f32x4.add(h1_0, c1_0h), 16)
    const l1_1 = v128.load(q, 32)
    const h1_1 = v128.load(q, 48)
    v128.store(q, f32x4.add(l1_1, c1_1l), 32)
    v128.store(q, f32x4.add(h1_1, c1_1h), 48)
    q += rc
    const l2_0 = v128.load(q, 0)
    const h2_0 = v128.load(q, 16)
    v128.store(q, f32x4.add(l2_0, c2_0l), 0)
    v128.store(q, f32x4.add(h2_0, c2_0h), 16)
    const l2_1 = v128.load(q, 32)
    const h2_1 = v128.load(q, 48)
    v128.store(q, f32x4.add(l2_1, c2_1l), 32)
    v128.store(q, f32x4.add(h2_1, c2_1h), 48)
    q += rc
    const l3_0 = v128.load(q, 0)
    const h3_0 = v128.load(q, 16)
    v128.store(q, f32x4.add(l3_0, c3_0l), 0)
    v128.store(q, f32x4.add(h3_0, c3_0h), 16)
    const l3_1 = v128.load(q, 32)
    const h3_1 = v128.load(q, 48)
    v128.store(q, f32x4.add(l3_1, c3_1l), 32)
    v128.store(q, f32x4.add(h3_1, c3_1h), 48)
    q += rc
  } else {
    v128.store(q, c0_0l, 0)
    v128.store(q, c0_0h, 16)
    v128.store(q, c0_1l, 32)
    v128.store(q, c0_1h, 48)
    q += rc
    v128.store(q, c1_0l, 0)
    v128.store(q, c1_0h, 16)
    v128.store(q, c1_1l, 32)
    v128.store(q, c1_1h, 48)
    q += rc
    v128.store(q, c2_0l, 0)
    v128.store(q, c2_0h, 16)
    v128.store(q, c2_1l, 32)
    v128.store(q, c2_1h, 48)
    q += rc
    v128.store(q, c3_0l, 0)
    v128.store(q, c3_0h, 16)
    v128.store(q, c3_1l, 32)
    v128.store(q, c3_1h, 48)
    q += rc
  }
}
// @ts-ignore: decorator
@inline
export function transposed2x2(c: usize, rc: usize, a: usize, ra: usize, b: usize, rb: usize, M: i32): void {
  let c0_0l = f32x4.splat(0)
  let c0_0h = f32x4.splat(0)
  let c0_1l = f32x4.splat(0)
  let c0_1h = f32x4.splat(0)
  let c1_0l = f32x4.splat(0)
  let c1_0h = f32x4.splat(0)
  let c1_1l = f32x4.splat(0)
  let c1_1h = f32x4.splat(0)
  for (let m = 0; m < M; m++) {
    const low0 = v128.load(b + 0, 0)
    const high0 = v128.load(b + 0, 16)
    const low1 = v128.load(b + 32, 0)
    const high1 = v128.load(b + 32, 16)
    const x0 = v128.load32_splat(a, 0)
    c0_0l = f32x4.relaxed_madd(x0, low0, c0_0l)
    c0_0h = f32x4.relaxed_madd(x0, high0, c0_0h)
    c0_1l = f32x4.relaxed_madd(x0, low1, c0_1l)
    c0_1h = f32x4.relaxed_madd(x0, high1, c0_1h)
    const x1 = v128.load32_splat(a, 4)
    c1_0l = f32x4.relaxed_madd(x1, low0, c1_0l)
    c1_0h = f32x4.relaxed_madd(x1, high0, c1_0h)
    c1_1l = f32x4.relaxed_madd(x1, low1, c1_1l)
    c1_1h = f32x4.relaxed_madd(x1, high1, c1_1h)
    a += ra
    b += rb
  }
  const accumulate = true
  let q = c
  if (accumulate) {
    const l0_0 = v128.load(q, 0)
    const h0_0 = v128.load(q, 16)
    v128.store(q, f32x4.add(l0_0, c0_0l), 0)
    v128.store(q, f32x4.add(h0_0, c0_0h), 16)
    const l0_1 = v128.load(q, 32)
    const h0_1 = v128.load(q, 48)
    v128.store(q, f32x4.add(l0_1, c0_1l), 32)
    v128.store(q, f32x4.add(h0_1, c0_1h), 48)
    q += rc
    const l1_0 = v128.load(q, 0)
    const h1_0 = v128.load(q, 16)
    v128.store(q, f32x4.add(l1_0, c1_0l), 0)
    v128.store(q, f32x4.add(h1_0, c1_0h), 16)
    const l1_1 = v128.load(q, 32)
    const h1_1 = v128.load(q, 48)
    v128.store(q, f32x4.add(l1_1, c1_1l), 32)
    v128.store(q, f32x4.add(h1_1, c1_1h), 48)
    q += rc
  } else {
    v128.store(q, c0_0l, 0)
    v128.store(q, c0_0h, 16)
    v128.store(q, c0_1l, 32)
    v128.store(q, c0_1h, 48)
    q += rc
    v128.store(q, c1_0l, 0)
    v128.store(q, c1_0h, 16)
    v128.store(q, c1_1l, 32)
    v128.store(q, c1_1h, 48)
    q += rc
  }
}
// @ts-ignore: decorator
@inline
export function transposed1x2(c: usize, rc: usize, a: usize, ra: usize, b: usize, rb: usize, M: i32): void {
  let c0_0l = f32x4.splat(0)
  let c0_0h = f32x4.splat(0)
  let c0_1l = f32x4.splat(0)
  let c0_1h = f32x4.splat(0)
  for (let m = 0; m < M; m++) {
    const low0 = v128.load(b + 0, 0)
    const high0 = v128.load(b + 0, 16)
    const low1 = v128.load(b + 32, 0)
    const high1 = v128.load(b + 32, 16)
    const x0 = v128.load32_splat(a, 0)
    c0_0l = f32x4.relaxed_madd(x0, low0, c0_0l)
    c0_0h = f32x4.relaxed_madd(x0, high0, c0_0h)
    c0_1l = f32x4.relaxed_madd(x0, low1, c0_1l)
    c0_1h = f32x4.relaxed_madd(x0, high1, c0_1h)
    a += ra
    b += rb
  }
  const accumulate = true
  let q = c
  if (accumulate) {
    const l0_0 = v128.load(q, 0)
    const h0_0 = v128.load(q, 16)
    v128.store(q, f32x4.add(l0_0, c0_0l), 0)
    v128.store(q, f32x4.add(h0_0, c0_0h), 16)
    const l0_1 = v128.load(q, 32)
    const h0_1 = v128.load(q, 48)
    v128.store(q, f32x4.add(l0_1, c0_1l), 32)
    v128.store(q, f32x4.add(h0_1, c0_1h), 48)
    q += rc
  } else {
    v128.store(q, c0_0l, 0)
    v128.store(q, c0_0h, 16)
    v128.store(q, c0_1l, 32)
    v128.store(q, c0_1h, 48)
    q += rc
  }
}
// @ts-ignore: decorator
@inline
export function transposedTiles2(c: usize, rc: usize, a: usize, ra: usize, b: usize, rb: usize, M: i32, K: i32): void {
  let ap = a
  let cp = c
  let row = 0
  while (row + 6 <= K) {
    transposed6x2(cp, rc, ap, ra, b, rb, M)
    cp += 6 * rc
    ap += 24
    row += 6
  }
  if (row + 4 <= K) {
    transposed4x2(cp, rc, ap, ra, b, rb, M)
    cp += 4 * rc
    ap += 16
    row += 4
  }
  if (row + 2 <= K) {
    transposed2x2(cp, rc, ap, ra, b, rb, M)
    cp += 2 * rc
    ap += 8
    row += 2
  }
  if (row < K) {
    transposed1x2(cp, rc, ap, ra, b, rb, M)
    cp += 1 * rc
    ap += 4
    row += 1
  }
}
// @ts-ignore: decorator
@inline
export function weightedValues1(out: usize, weights: usize, values: usize, path: usize, pathEnd: usize, stride: usize, factor: v128): void {
  let c0_0l = f32x4.splat(0)
  let c0_0h = f32x4.splat(0)
  let weight = weights
  for (let level = path; level < pathEnd; level += levelBytes) {
    let value = values + placeOf(level) * stride
    const end = weight + (<usize> seenOf(level) << 2)
    for (; weight < end; weight += 4) {
    const low0 = v128.load(value, 0)
    const high0 = v128.load(value, 16)
    const x0 = v128.load32_splat(weight)
    c0_0l = f32x4.relaxed_madd(x0, low0, c0_0l)
    c0_0h = f32x4.relaxed_madd(x0, high0, c0_0h)
    value += stride
    }
  }
  v128.store(out, f32x4.mul(c0_0l, factor), 0)
  v128.store(out, f32x4.mul(c0_0h, factor), 16)
}
// @ts-ignore: decorator
@inline
export function weightedValues4(out: usize, weights: usize, values: usize, path: usize, pathEnd: usize, stride: usize, factor: v128): void {
  let c0_0l = f32x4.splat(0)
  let c0_0h = f32x4.splat(0)
  let c0_1l = f32x4.splat(0)
  let c0_1h = f32x4.splat(0)
  let c0_2l = f32x4.splat(0)
  let c0_2h = f32x4.splat(0)
  let c0_3l = f32x4.splat(0)
  let c0_3h = f32x4.splat(0)
  let weight = weights
  for (let level = path; level < pathEnd; level += levelBytes) {
    let value = values + placeOf(level) * stride
    const end = weight + (<usize> seenOf(level) << 2)
    for (; weight < end; weight += 4) {
    const low0 = v128.load(value, 0)
    const high0 = v128.load(value, 16)
    const low1 = v128.load(value, 32)
    const high1 = v128.load(value, 48)
    const low2 = v128.load(value, 64)
    const high2 = v128.load(value, 80)
    const low3 = v128.load(value, 96)
    const high3 = v128.load(value, 112)
    const x0 = v128.load32_splat(weight)
    c0_0l = f32x4.relaxed_madd(x0, low0, c0_0l)
    c0_0h = f32x4.relaxed_madd(x0, high0, c0_0h)
    c0_1l = f32x4.relaxed_madd(x0, low1, c0_1l)
    c0_1h = f32x4.relaxed_madd(x0, high1, c0_1h)
    c0_2l = f32x4.relaxed_madd(x0, low2, c0_2l)
    c0_2h = f32x4.relaxed_madd(x0, high2, c0_2h)
    c0_3l = f32x4.relaxed_madd(x0, low3, c0_3l)
    c0_3h = f32x4.relaxed_madd(x0, high3, c0_3h)
    value += stride
    }
  }
  v128.store(out, f32x4.mul(c0_0l, factor), 0)
  v128.store(out, f32x4.mul(c0_0h, factor), 16)
  v128.store(out, f32x4.mul(c0_1l, factor), 32)
  v128.store(out, f32x4.mul(c0_1h, factor), 48)
  v128.store(out, f32x4.mul(c0_2l, factor), 64)
  v128.store(out, f32x4.mul(c0_2h, factor), 80)
  v128.store(out, f32x4.mul(c0_3l, factor), 96)
  v128.store(out, f32x4.mul(c0_3h, factor), 112)
}
