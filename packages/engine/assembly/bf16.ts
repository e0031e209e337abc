/** Rounds to the nearest bf16, ties to even. */
export function narrowBf16(target: usize, source: usize, count: i32): void {
  for (let i: usize = 0; i < <usize> count; i++) {
    const bits = load<u32>(source + (i << 2))
    store<u16>(target + (i << 1), <u16> ((bits + 0x7fff + ((bits >> 16) & 1)) >> 16))
  }
}
