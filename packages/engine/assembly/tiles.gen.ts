// Written by scripts/kernels/Tiles.ts.
// @ts-ignore: decorator
@inline
export function tile6(c: usize, rc: usize, a: usize, ra: usize, b: usize, K: i32, accumulate: i32): void {
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
  let a0 = a + 0 * ra
  let a1 = a + 1 * ra
  let a2 = a + 2 * ra
  let a3 = a + 3 * ra
  let a4 = a + 4 * ra
  let a5 = a + 5 * ra
  let k = K
  while (k >= 4) {
    {
      const low = v128.load(b, 0)
      const high = v128.load(b, 16)
      const x0 = v128.load32_splat(a0, 0)
      c0_0l = f32x4.relaxed_madd(x0, low, c0_0l)
      c0_0h = f32x4.relaxed_madd(x0, high, c0_0h)
      const x1 = v128.load32_splat(a1, 0)
      c1_0l = f32x4.relaxed_madd(x1, low, c1_0l)
      c1_0h = f32x4.relaxed_madd(x1, high, c1_0h)
      const x2 = v128.load32_splat(a2, 0)
      c2_0l = f32x4.relaxed_madd(x2, low, c2_0l)
      c2_0h = f32x4.relaxed_madd(x2, high, c2_0h)
      const x3 = v128.load32_splat(a3, 0)
      c3_0l = f32x4.relaxed_madd(x3, low, c3_0l)
      c3_0h = f32x4.relaxed_madd(x3, high, c3_0h)
      const x4 = v128.load32_splat(a4, 0)
      c4_0l = f32x4.relaxed_madd(x4, low, c4_0l)
      c4_0h = f32x4.relaxed_madd(x4, high, c4_0h)
      const x5 = v128.load32_splat(a5, 0)
      c5_0l = f32x4.relaxed_madd(x5, low, c5_0l)
      c5_0h = f32x4.relaxed_madd(x5, high, c5_0h)
    }
    {
      const low = v128.load(b, 32)
      const high = v128.load(b, 48)
      const x0 = v128.load32_splat(a0, 4)
      c0_0l = f32x4.relaxed_madd(x0, low, c0_0l)
      c0_0h = f32x4.relaxed_madd(x0, high, c0_0h)
      const x1 = v128.load32_splat(a1, 4)
      c1_0l = f32x4.relaxed_madd(x1, low, c1_0l)
      c1_0h = f32x4.relaxed_madd(x1, high, c1_0h)
      const x2 = v128.load32_splat(a2, 4)
      c2_0l = f32x4.relaxed_madd(x2, low, c2_0l)
      c2_0h = f32x4.relaxed_madd(x2, high, c2_0h)
      const x3 = v128.load32_splat(a3, 4)
      c3_0l = f32x4.relaxed_madd(x3, low, c3_0l)
      c3_0h = f32x4.relaxed_madd(x3, high, c3_0h)
      const x4 = v128.load32_splat(a4, 4)
      c4_0l = f32x4.relaxed_madd(x4, low, c4_0l)
      c4_0h = f32x4.relaxed_madd(x4, high, c4_0h)
      const x5 = v128.load32_splat(a5, 4)
      c5_0l = f32x4.relaxed_madd(x5, low, c5_0l)
      c5_0h = f32x4.relaxed_madd(x5, high, c5_0h)
    }
    {
      const low = v128.load(b, 64)
      const high = v128.load(b, 80)
      const x0 = v128.load32_splat(a0, 8)
      c0_0l = f32x4.relaxed_madd(x0, low, c0_0l)
      c0_0h = f32x4.relaxed_madd(x0, high, c0_0h)
      const x1 = v128.load32_splat(a1, 8)
      c1_0l = f32x4.relaxed_madd(x1, low, c1_0l)
      c1_0h = f32x4.relaxed_madd(x1, high, c1_0h)
      const x2 = v128.load32_splat(a2, 8)
      c2_0l = f32x4.relaxed_madd(x2, low, c2_0l)
      c2_0h = f32x4.relaxed_madd(x2, high, c2_0h)
      const x3 = v128.load32_splat(a3, 8)
      c3_0l = f32x4.relaxed_madd(x3, low, c3_0l)
      c3_0h = f32x4.relaxed_madd(x3, high, c3_0h)
      const x4 = v128.load32_splat(a4, 8)
      c4_0l = f32x4.relaxed_madd(x4, low, c4_0l)
      c4_0h = f32x4.relaxed_madd(x4, high, c4_0h)
      const x5 = v128.load32_splat(a5, 8)
      c5_0l = f32x4.relaxed_madd(x5, low, c5_0l)
      c5_0h = f32x4.relaxed_madd(x5, high, c5_0h)
    }
    {
      const low = v128.load(b, 96)
      const high = v128.load(b, 112)
      const x0 = v128.load32_splat(a0, 12)
      c0_0l = f32x4.relaxed_madd(x0, low, c0_0l)
      c0_0h = f32x4.relaxed_madd(x0, high, c0_0h)
      const x1 = v128.load32_splat(a1, 12)
      c1_0l = f32x4.relaxed_madd(x1, low, c1_0l)
      c1_0h = f32x4.relaxed_madd(x1, high, c1_0h)
      const x2 = v128.load32_splat(a2, 12)
      c2_0l = f32x4.relaxed_madd(x2, low, c2_0l)
      c2_0h = f32x4.relaxed_madd(x2, high, c2_0h)
      const x3 = v128.load32_splat(a3, 12)
      c3_0l = f32x4.relaxed_madd(x3, low, c3_0l)
      c3_0h = f32x4.relaxed_madd(x3, high, c3_0h)
      const x4 = v128.load32_splat(a4, 12)
      c4_0l = f32x4.relaxed_madd(x4, low, c4_0l)
      c4_0h = f32x4.relaxed_madd(x4, high, c4_0h)
      const x5 = v128.load32_splat(a5, 12)
      c5_0l = f32x4.relaxed_madd(x5, low, c5_0l)
      c5_0h = f32x4.relaxed_madd(x5, high, c5_0h)
    }
    b += 128
    a0 += 16
    a1 += 16
    a2 += 16
    a3 += 16
    a4 += 16
    a5 += 16
    k -= 4
  }
  while (k > 0) {
    {
      const low = v128.load(b, 0)
      const high = v128.load(b, 16)
      const x0 = v128.load32_splat(a0, 0)
      c0_0l = f32x4.relaxed_madd(x0, low, c0_0l)
      c0_0h = f32x4.relaxed_madd(x0, high, c0_0h)
      const x1 = v128.load32_splat(a1, 0)
      c1_0l = f32x4.relaxed_madd(x1, low, c1_0l)
      c1_0h = f32x4.relaxed_madd(x1, high, c1_0h)
      const x2 = v128.load32_splat(a2, 0)
      c2_0l = f32x4.relaxed_madd(x2, low, c2_0l)
      c2_0h = f32x4.relaxed_madd(x2, high, c2_0h)
      const x3 = v128.load32_splat(a3, 0)
      c3_0l = f32x4.relaxed_madd(x3, low, c3_0l)
      c3_0h = f32x4.relaxed_madd(x3, high, c3_0h)
      const x4 = v128.load32_splat(a4, 0)
      c4_0l = f32x4.relaxed_madd(x4, low, c4_0l)
      c4_0h = f32x4.relaxed_madd(x4, high, c4_0h)
      const x5 = v128.load32_splat(a5, 0)
      c5_0l = f32x4.relaxed_madd(x5, low, c5_0l)
      c5_0h = f32x4.relaxed_madd(x5, high, c5_0h)
    }
    b += 32
    a0 += 4
    a1 += 4
    a2 += 4
    a3 += 4
    a4 += 4
    a5 += 4
    k--
  }
  let q = c
  if (accumulate) {
    v128.store(q, f32x4.add(v128.load(q, 0), c0_0l), 0)
    v128.store(q, f32x4.add(v128.load(q, 16), c0_0h), 16)
    q += rc
    v128.store(q, f32x4.add(v128.load(q, 0), c1_0l), 0)
    v128.store(q, f32x4.add(v128.load(q, 16), c1_0h), 16)
    q += rc
    v128.store(q, f32x4.add(v128.load(q, 0), c2_0l), 0)
    v128.store(q, f32x4.add(v128.load(q, 16), c2_0h), 16)
    q += rc
    v128.store(q, f32x4.add(v128.load(q, 0), c3_0l), 0)
    v128.store(q, f32x4.add(v128.load(q, 16), c3_0h), 16)
    q += rc
    v128.store(q, f32x4.add(v128.load(q, 0), c4_0l), 0)
    v128.store(q, f32x4.add(v128.load(q, 16), c4_0h), 16)
    q += rc
    v128.store(q, f32x4.add(v128.load(q, 0), c5_0l), 0)
    v128.store(q, f32x4.add(v128.load(q, 16), c5_0h), 16)
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
export function tile4(c: usize, rc: usize, a: usize, ra: usize, b: usize, K: i32, accumulate: i32): void {
  let c0_0l = f32x4.splat(0)
  let c0_0h = f32x4.splat(0)
  let c1_0l = f32x4.splat(0)
  let c1_0h = f32x4.splat(0)
  let c2_0l = f32x4.splat(0)
  let c2_0h = f32x4.splat(0)
  let c3_0l = f32x4.splat(0)
  let c3_0h = f32x4.splat(0)
  let a0 = a + 0 * ra
  let a1 = a + 1 * ra
  let a2 = a + 2 * ra
  let a3 = a + 3 * ra
  let k = K
  while (k >= 4) {
    {
      const low = v128.load(b, 0)
      const high = v128.load(b, 16)
      const x0 = v128.load32_splat(a0, 0)
      c0_0l = f32x4.relaxed_madd(x0, low, c0_0l)
      c0_0h = f32x4.relaxed_madd(x0, high, c0_0h)
      const x1 = v128.load32_splat(a1, 0)
      c1_0l = f32x4.relaxed_madd(x1, low, c1_0l)
      c1_0h = f32x4.relaxed_madd(x1, high, c1_0h)
      const x2 = v128.load32_splat(a2, 0)
      c2_0l = f32x4.relaxed_madd(x2, low, c2_0l)
      c2_0h = f32x4.relaxed_madd(x2, high, c2_0h)
      const x3 = v128.load32_splat(a3, 0)
      c3_0l = f32x4.relaxed_madd(x3, low, c3_0l)
      c3_0h = f32x4.relaxed_madd(x3, high, c3_0h)
    }
    {
      const low = v128.load(b, 32)
      const high = v128.load(b, 48)
      const x0 = v128.load32_splat(a0, 4)
      c0_0l = f32x4.relaxed_madd(x0, low, c0_0l)
      c0_0h = f32x4.relaxed_madd(x0, high, c0_0h)
      const x1 = v128.load32_splat(a1, 4)
      c1_0l = f32x4.relaxed_madd(x1, low, c1_0l)
      c1_0h = f32x4.relaxed_madd(x1, high, c1_0h)
      const x2 = v128.load32_splat(a2, 4)
      c2_0l = f32x4.relaxed_madd(x2, low, c2_0l)
      c2_0h = f32x4.relaxed_madd(x2, high, c2_0h)
      const x3 = v128.load32_splat(a3, 4)
      c3_0l = f32x4.relaxed_madd(x3, low, c3_0l)
      c3_0h = f32x4.relaxed_madd(x3, high, c3_0h)
    }
    {
      const low = v128.load(b, 64)
      const high = v128.load(b, 80)
      const x0 = v128.load32_splat(a0, 8)
      c0_0l = f32x4.relaxed_madd(x0, low, c0_0l)
      c0_0h = f32x4.relaxed_madd(x0, high, c0_0h)
      const x1 = v128.load32_splat(a1, 8)
      c1_0l = f32x4.relaxed_madd(x1, low, c1_0l)
      c1_0h = f32x4.relaxed_madd(x1, high, c1_0h)
      const x2 = v128.load32_splat(a2, 8)
      c2_0l = f32x4.relaxed_madd(x2, low, c2_0l)
      c2_0h = f32x4.relaxed_madd(x2, high, c2_0h)
      const x3 = v128.load32_splat(a3, 8)
      c3_0l = f32x4.relaxed_madd(x3, low, c3_0l)
      c3_0h = f32x4.relaxed_madd(x3, high, c3_0h)
    }
    {
      const low = v128.load(b, 96)
      const high = v128.load(b, 112)
      const x0 = v128.load32_splat(a0, 12)
      c0_0l = f32x4.relaxed_madd(x0, low, c0_0l)
      c0_0h = f32x4.relaxed_madd(x0, high, c0_0h)
      const x1 = v128.load32_splat(a1, 12)
      c1_0l = f32x4.relaxed_madd(x1, low, c1_0l)
      c1_0h = f32x4.relaxed_madd(x1, high, c1_0h)
      const x2 = v128.load32_splat(a2, 12)
      c2_0l = f32x4.relaxed_madd(x2, low, c2_0l)
      c2_0h = f32x4.relaxed_madd(x2, high, c2_0h)
      const x3 = v128.load32_splat(a3, 12)
      c3_0l = f32x4.relaxed_madd(x3, low, c3_0l)
      c3_0h = f32x4.relaxed_madd(x3, high, c3_0h)
    }
    b += 128
    a0 += 16
    a1 += 16
    a2 += 16
    a3 += 16
    k -= 4
  }
  while (k > 0) {
    {
      const low = v128.load(b, 0)
      const high = v128.load(b, 16)
      const x0 = v128.load32_splat(a0, 0)
      c0_0l = f32x4.relaxed_madd(x0, low, c0_0l)
      c0_0h = f32x4.relaxed_madd(x0, high, c0_0h)
      const x1 = v128.load32_splat(a1, 0)
      c1_0l = f32x4.relaxed_madd(x1, low, c1_0l)
      c1_0h = f32x4.relaxed_madd(x1, high, c1_0h)
      const x2 = v128.load32_splat(a2, 0)
      c2_0l = f32x4.relaxed_madd(x2, low, c2_0l)
      c2_0h = f32x4.relaxed_madd(x2, high, c2_0h)
      const x3 = v128.load32_splat(a3, 0)
      c3_0l = f32x4.relaxed_madd(x3, low, c3_0l)
      c3_0h = f32x4.relaxed_madd(x3, high, c3_0h)
    }
    b += 32
    a0 += 4
    a1 += 4
    a2 += 4
    a3 += 4
    k--
  }
  let q = c
  if (accumulate) {
    v128.store(q, f32x4.add(v128.load(q, 0), c0_0l), 0)
    v128.store(q, f32x4.add(v128.load(q, 16), c0_0h), 16)
    q += rc
    v128.store(q, f32x4.add(v128.load(q, 0), c1_0l), 0)
    v128.store(q, f32x4.add(v128.load(q, 16), c1_0h), 16)
    q += rc
    v128.store(q, f32x4.add(v128.load(q, 0), c2_0l), 0)
    v128.store(q, f32x4.add(v128.load(q, 16), c2_0h), 16)
    q += rc
    v128.store(q, f32x4.add(v128.load(q, 0), c3_0l), 0)
    v128.store(q, f32x4.add(v128.load(q, 16), c3_0h), 16)
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
export function tile2(c: usize, rc: usize, a: usize, ra: usize, b: usize, K: i32, accumulate: i32): void {
  let c0_0l = f32x4.splat(0)
  let c0_0h = f32x4.splat(0)
  let c1_0l = f32x4.splat(0)
  let c1_0h = f32x4.splat(0)
  let a0 = a + 0 * ra
  let a1 = a + 1 * ra
  let k = K
  while (k >= 4) {
    {
      const low = v128.load(b, 0)
      const high = v128.load(b, 16)
      const x0 = v128.load32_splat(a0, 0)
      c0_0l = f32x4.relaxed_madd(x0, low, c0_0l)
      c0_0h = f32x4.relaxed_madd(x0, high, c0_0h)
      const x1 = v128.load32_splat(a1, 0)
      c1_0l = f32x4.relaxed_madd(x1, low, c1_0l)
      c1_0h = f32x4.relaxed_madd(x1, high, c1_0h)
    }
    {
      const low = v128.load(b, 32)
      const high = v128.load(b, 48)
      const x0 = v128.load32_splat(a0, 4)
      c0_0l = f32x4.relaxed_madd(x0, low, c0_0l)
      c0_0h = f32x4.relaxed_madd(x0, high, c0_0h)
      const x1 = v128.load32_splat(a1, 4)
      c1_0l = f32x4.relaxed_madd(x1, low, c1_0l)
      c1_0h = f32x4.relaxed_madd(x1, high, c1_0h)
    }
    {
      const low = v128.load(b, 64)
      const high = v128.load(b, 80)
      const x0 = v128.load32_splat(a0, 8)
      c0_0l = f32x4.relaxed_madd(x0, low, c0_0l)
      c0_0h = f32x4.relaxed_madd(x0, high, c0_0h)
      const x1 = v128.load32_splat(a1, 8)
      c1_0l = f32x4.relaxed_madd(x1, low, c1_0l)
      c1_0h = f32x4.relaxed_madd(x1, high, c1_0h)
    }
    {
      const low = v128.load(b, 96)
      const high = v128.load(b, 112)
      const x0 = v128.load32_splat(a0, 12)
      c0_0l = f32x4.relaxed_madd(x0, low, c0_0l)
      c0_0h = f32x4.relaxed_madd(x0, high, c0_0h)
      const x1 = v128.load32_splat(a1, 12)
      c1_0l = f32x4.relaxed_madd(x1, low, c1_0l)
      c1_0h = f32x4.relaxed_madd(x1, high, c1_0h)
    }
    b += 128
    a0 += 16
    a1 += 16
    k -= 4
  }
  while (k > 0) {
    {
      const low = v128.load(b, 0)
      const high = v128.load(b, 16)
      const x0 = v128.load32_splat(a0, 0)
      c0_0l = f32x4.relaxed_madd(x0, low, c0_0l)
      c0_0h = f32x4.relaxed_madd(x0, high, c0_0h)
      const x1 = v128.load32_splat(a1, 0)
      c1_0l = f32x4.relaxed_madd(x1, low, c1_0l)
      c1_0h = f32x4.relaxed_madd(x1, high, c1_0h)
    }
    b += 32
    a0 += 4
    a1 += 4
    k--
  }
  let q = c
  if (accumulate) {
    v128.store(q, f32x4.add(v128.load(q, 0), c0_0l), 0)
    v128.store(q, f32x4.add(v128.load(q, 16), c0_0h), 16)
    q += rc
    v128.store(q, f32x4.add(v128.load(q, 0), c1_0l), 0)
    v128.store(q, f32x4.add(v128.load(q, 16), c1_0h), 16)
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
export function tile1(c: usize, rc: usize, a: usize, ra: usize, b: usize, K: i32, accumulate: i32): void {
  let c0_0l = f32x4.splat(0)
  let c0_0h = f32x4.splat(0)
  let a0 = a + 0 * ra
  let k = K
  while (k >= 4) {
    {
      const low = v128.load(b, 0)
      const high = v128.load(b, 16)
      const x0 = v128.load32_splat(a0, 0)
      c0_0l = f32x4.relaxed_madd(x0, low, c0_0l)
      c0_0h = f32x4.relaxed_madd(x0, high, c0_0h)
    }
    {
      const low = v128.load(b, 32)
      const high = v128.load(b, 48)
      const x0 = v128.load32_splat(a0, 4)
      c0_0l = f32x4.relaxed_madd(x0, low, c0_0l)
      c0_0h = f32x4.relaxed_madd(x0, high, c0_0h)
    }
    {
      const low = v128.load(b, 64)
      const high = v128.load(b, 80)
      const x0 = v128.load32_splat(a0, 8)
      c0_0l = f32x4.relaxed_madd(x0, low, c0_0l)
      c0_0h = f32x4.relaxed_madd(x0, high, c0_0h)
    }
    {
      const low = v128.load(b, 96)
      const high = v128.load(b, 112)
      const x0 = v128.load32_splat(a0, 12)
      c0_0l = f32x4.relaxed_madd(x0, low, c0_0l)
      c0_0h = f32x4.relaxed_madd(x0, high, c0_0h)
    }
    b += 128
    a0 += 16
    k -= 4
  }
  while (k > 0) {
    {
      const low = v128.load(b, 0)
      const high = v128.load(b, 16)
      const x0 = v128.load32_splat(a0, 0)
      c0_0l = f32x4.relaxed_madd(x0, low, c0_0l)
      c0_0h = f32x4.relaxed_madd(x0, high, c0_0h)
    }
    b += 32
    a0 += 4
    k--
  }
  let q = c
  if (accumulate) {
    v128.store(q, f32x4.add(v128.load(q, 0), c0_0l), 0)
    v128.store(q, f32x4.add(v128.load(q, 16), c0_0h), 16)
    q += rc
  } else {
    v128.store(q, c0_0l, 0)
    v128.store(q, c0_0h, 16)
    q += rc
  }
}
// @ts-ignore: decorator
@inline
export function transposed6(c: usize, rc: usize, a: usize, ra: usize, b: usize, rb: usize, M: i32): void {
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
    const low = v128.load(b)
    const high = v128.load(b, 16)
    const x0 = v128.load32_splat(a, 0)
      c0_0l = f32x4.relaxed_madd(x0, low, c0_0l)
      c0_0h = f32x4.relaxed_madd(x0, high, c0_0h)
    const x1 = v128.load32_splat(a, 4)
      c1_0l = f32x4.relaxed_madd(x1, low, c1_0l)
      c1_0h = f32x4.relaxed_madd(x1, high, c1_0h)
    const x2 = v128.load32_splat(a, 8)
      c2_0l = f32x4.relaxed_madd(x2, low, c2_0l)
      c2_0h = f32x4.relaxed_madd(x2, high, c2_0h)
    const x3 = v128.load32_splat(a, 12)
      c3_0l = f32x4.relaxed_madd(x3, low, c3_0l)
      c3_0h = f32x4.relaxed_madd(x3, high, c3_0h)
    const x4 = v128.load32_splat(a, 16)
      c4_0l = f32x4.relaxed_madd(x4, low, c4_0l)
      c4_0h = f32x4.relaxed_madd(x4, high, c4_0h)
    const x5 = v128.load32_splat(a, 20)
      c5_0l = f32x4.relaxed_madd(x5, low, c5_0l)
      c5_0h = f32x4.relaxed_madd(x5, high, c5_0h)
    a += ra
    b += rb
  }
  const accumulate = true
  let q = c
  if (accumulate) {
    v128.store(q, f32x4.add(v128.load(q, 0), c0_0l), 0)
    v128.store(q, f32x4.add(v128.load(q, 16), c0_0h), 16)
    q += rc
    v128.store(q, f32x4.add(v128.load(q, 0), c1_0l), 0)
    v128.store(q, f32x4.add(v128.load(q, 16), c1_0h), 16)
    q += rc
    v128.store(q, f32x4.add(v128.load(q, 0), c2_0l), 0)
    v128.store(q, f32x4.add(v128.load(q, 16), c2_0h), 16)
    q += rc
    v128.store(q, f32x4.add(v128.load(q, 0), c3_0l), 0)
    v128.store(q, f32x4.add(v128.load(q, 16), c3_0h), 16)
    q += rc
    v128.store(q, f32x4.add(v128.load(q, 0), c4_0l), 0)
    v128.store(q, f32x4.add(v128.load(q, 16), c4_0h), 16)
    q += rc
    v128.store(q, f32x4.add(v128.load(q, 0), c5_0l), 0)
    v128.store(q, f32x4.add(v128.load(q, 16), c5_0h), 16)
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
export function transposed4(c: usize, rc: usize, a: usize, ra: usize, b: usize, rb: usize, M: i32): void {
  let c0_0l = f32x4.splat(0)
  let c0_0h = f32x4.splat(0)
  let c1_0l = f32x4.splat(0)
  let c1_0h = f32x4.splat(0)
  let c2_0l = f32x4.splat(0)
  let c2_0h = f32x4.splat(0)
  let c3_0l = f32x4.splat(0)
  let c3_0h = f32x4.splat(0)
  for (let m = 0; m < M; m++) {
    const low = v128.load(b)
    const high = v128.load(b, 16)
    const x0 = v128.load32_splat(a, 0)
      c0_0l = f32x4.relaxed_madd(x0, low, c0_0l)
      c0_0h = f32x4.relaxed_madd(x0, high, c0_0h)
    const x1 = v128.load32_splat(a, 4)
      c1_0l = f32x4.relaxed_madd(x1, low, c1_0l)
      c1_0h = f32x4.relaxed_madd(x1, high, c1_0h)
    const x2 = v128.load32_splat(a, 8)
      c2_0l = f32x4.relaxed_madd(x2, low, c2_0l)
      c2_0h = f32x4.relaxed_madd(x2, high, c2_0h)
    const x3 = v128.load32_splat(a, 12)
      c3_0l = f32x4.relaxed_madd(x3, low, c3_0l)
      c3_0h = f32x4.relaxed_madd(x3, high, c3_0h)
    a += ra
    b += rb
  }
  const accumulate = true
  let q = c
  if (accumulate) {
    v128.store(q, f32x4.add(v128.load(q, 0), c0_0l), 0)
    v128.store(q, f32x4.add(v128.load(q, 16), c0_0h), 16)
    q += rc
    v128.store(q, f32x4.add(v128.load(q, 0), c1_0l), 0)
    v128.store(q, f32x4.add(v128.load(q, 16), c1_0h), 16)
    q += rc
    v128.store(q, f32x4.add(v128.load(q, 0), c2_0l), 0)
    v128.store(q, f32x4.add(v128.load(q, 16), c2_0h), 16)
    q += rc
    v128.store(q, f32x4.add(v128.load(q, 0), c3_0l), 0)
    v128.store(q, f32x4.add(v128.load(q, 16), c3_0h), 16)
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
export function transposed2(c: usize, rc: usize, a: usize, ra: usize, b: usize, rb: usize, M: i32): void {
  let c0_0l = f32x4.splat(0)
  let c0_0h = f32x4.splat(0)
  let c1_0l = f32x4.splat(0)
  let c1_0h = f32x4.splat(0)
  for (let m = 0; m < M; m++) {
    const low = v128.load(b)
    const high = v128.load(b, 16)
    const x0 = v128.load32_splat(a, 0)
      c0_0l = f32x4.relaxed_madd(x0, low, c0_0l)
      c0_0h = f32x4.relaxed_madd(x0, high, c0_0h)
    const x1 = v128.load32_splat(a, 4)
      c1_0l = f32x4.relaxed_madd(x1, low, c1_0l)
      c1_0h = f32x4.relaxed_madd(x1, high, c1_0h)
    a += ra
    b += rb
  }
  const accumulate = true
  let q = c
  if (accumulate) {
    v128.store(q, f32x4.add(v128.load(q, 0), c0_0l), 0)
    v128.store(q, f32x4.add(v128.load(q, 16), c0_0h), 16)
    q += rc
    v128.store(q, f32x4.add(v128.load(q, 0), c1_0l), 0)
    v128.store(q, f32x4.add(v128.load(q, 16), c1_0h), 16)
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
export function transposed1(c: usize, rc: usize, a: usize, ra: usize, b: usize, rb: usize, M: i32): void {
  let c0_0l = f32x4.splat(0)
  let c0_0h = f32x4.splat(0)
  for (let m = 0; m < M; m++) {
    const low = v128.load(b)
    const high = v128.load(b, 16)
    const x0 = v128.load32_splat(a, 0)
      c0_0l = f32x4.relaxed_madd(x0, low, c0_0l)
      c0_0h = f32x4.relaxed_madd(x0, high, c0_0h)
    a += ra
    b += rb
  }
  const accumulate = true
  let q = c
  if (accumulate) {
    v128.store(q, f32x4.add(v128.load(q, 0), c0_0l), 0)
    v128.store(q, f32x4.add(v128.load(q, 16), c0_0h), 16)
    q += rc
  } else {
    v128.store(q, c0_0l, 0)
    v128.store(q, c0_0h, 16)
    q += rc
  }
}
