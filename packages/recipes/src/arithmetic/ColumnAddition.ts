/** Additions worked out column by column, as the embedded models know them from pretraining. */

/**
 * Column addition from the right: `7+8=15,4+2+1=7`.
 *
 * @example
 * ColumnAddition.columns(47, 38)
 */
export const columns = (a: number, b: number): string => {
  const digits = (n: number) => String(n).split("").reverse().map(Number)
  const [as, bs] = [digits(a), digits(b)]
  let carry = 0
  return Array.from({ length: Math.max(as.length, bs.length) }, (_, i) => {
    const [x, y] = [as[i] ?? 0, bs[i] ?? 0]
    const total = x + y + carry
    const step = `${x}+${y}${carry === 1 ? "+1" : ""}=${total}`
    carry = total >= 10 ? 1 : 0
    return step
  }).join(",")
}
