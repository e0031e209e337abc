/** Complex numbers in double precision. */

export interface Complex {
  readonly re: number
  readonly im: number
}

export const real = (re: number): Complex => ({ re, im: 0 })

export const add = (a: Complex, b: Complex): Complex => ({ re: a.re + b.re, im: a.im + b.im })

export const negate = (a: Complex): Complex => ({ re: -a.re, im: a.im === 0 ? 0 : -a.im })

export const multiply = (a: Complex, b: Complex): Complex => ({
  re: a.re * b.re - a.im * b.im,
  im: a.re * b.im + a.im * b.re
})

/** The quotient. Real divisors are divided directly, to avoid a second rounding. */
export const divide = (a: Complex, b: Complex): Complex => {
  if (b.im === 0) return { re: a.re / b.re, im: a.im / b.re }
  const size = b.re * b.re + b.im * b.im
  return { re: (a.re * b.re + a.im * b.im) / size, im: (a.im * b.re - a.re * b.im) / size }
}

export const magnitude = (a: Complex): number => Math.hypot(a.re, a.im)

export const isFinite = (a: Complex): boolean => Number.isFinite(a.re) && Number.isFinite(a.im)

/** The principal value of the natural logarithm. */
export const ln = (a: Complex): Complex => ({ re: Math.log(magnitude(a)), im: Math.atan2(a.im, a.re) })

export const exp = (a: Complex): Complex => {
  const size = Math.exp(a.re)
  return { re: size * Math.cos(a.im), im: a.im === 0 ? 0 : size * Math.sin(a.im) }
}

/** The principal square root. */
export const sqrt = (a: Complex): Complex => {
  if (a.im === 0) return a.re >= 0 ? real(Math.sqrt(a.re)) : { re: 0, im: Math.sqrt(-a.re) }
  const size = magnitude(a)
  const re = Math.sqrt((size + a.re) / 2)
  return { re, im: Math.sign(a.im) * Math.sqrt((size - a.re) / 2) }
}

const wholePower = (base: Complex, exponent: number): Complex => {
  let [result, square] = [real(1), base]
  for (let left = exponent; left > 0; left = Math.floor(left / 2)) {
    if (left % 2 === 1) result = multiply(result, square)
    square = multiply(square, square)
  }
  return result
}

const largestWholePower = 1024

/** The principal value of a power. Integer exponents from −1,024 to 1,024 use repeated multiplication. */
export const power = (base: Complex, exponent: Complex): Complex => {
  const size = Math.abs(exponent.re)
  if (exponent.im === 0 && Number.isInteger(size) && size <= largestWholePower) {
    const whole = wholePower(base, size)
    return exponent.re < 0 ? divide(real(1), whole) : whole
  }
  if (base.im === 0 && exponent.im === 0 && base.re >= 0) return real(base.re ** exponent.re)
  return exp(multiply(exponent, ln(base)))
}

const i: Complex = { re: 0, im: 1 }

export const sin = (a: Complex): Complex => {
  if (a.im === 0) return real(Math.sin(a.re))
  const turn = multiply(i, a)
  return divide(add(exp(turn), negate(exp(negate(turn)))), { re: 0, im: 2 })
}

export const cos = (a: Complex): Complex => {
  if (a.im === 0) return real(Math.cos(a.re))
  const turn = multiply(i, a)
  return divide(add(exp(turn), exp(negate(turn))), real(2))
}

export const tan = (a: Complex): Complex => divide(sin(a), cos(a))
