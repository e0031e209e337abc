/**
 * Rotates the halves of each head in place by the row's position. `direction` is 1 for the forward pass and -1 for the gradient. `cosine`
 * and `sine` hold one row of headSize/2 values per position.
 */
export function rotate(
  x: usize,
  positions: usize,
  cosine: usize,
  sine: usize,
  rows: i32,
  heads: i32,
  headSize: i32,
  direction: f32
): void {
  const half = <usize> (headSize >> 1) << 2
  const sign = f32x4.splat(direction)
  for (let r = 0; r < rows; r++) {
    const row = <usize> i32.load(positions + (<usize> r << 2)) * half
    for (let h = 0; h < heads; h++) {
      for (let i: usize = 0; i < half; i += 16) {
        const a = v128.load(x + i)
        const b = v128.load(x + half + i)
        const c = v128.load(cosine + row + i)
        const s = f32x4.mul(v128.load(sine + row + i), sign)
        v128.store(x + i, f32x4.sub(f32x4.mul(a, c), f32x4.mul(b, s)))
        v128.store(x + half + i, f32x4.add(f32x4.mul(b, c), f32x4.mul(a, s)))
      }
      x += half << 1
    }
  }
}
