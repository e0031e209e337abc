/** Numbers as Python's `float()` reads and writes them. */
import * as PythonText from "@effect-rl/core/renderers/text/PythonText"
import * as Option from "effect/Option"

/** Both patterns take time in proportion to the text's length, because models write the texts. */
const misplaced = /(?<![0-9])_|_(?![0-9])/
const finite = /^[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$/
const named = /^([+-]?)(inf|infinity|nan)$/i

/** `float(text)`: allows white space around the number and `_` between digits, and reads `inf` and `nan`. None for any other text. */
export const parse = (text: string): Option.Option<number> => {
  const number = PythonText.strip(text)
  const plain = misplaced.test(number) ? number : number.replaceAll("_", "")
  if (finite.test(plain)) return Option.some(Number(plain))
  const [, sign, name] = named.exec(number) ?? []
  if (name === undefined) return Option.none()
  if (name.toLowerCase() === "nan") return Option.some(NaN)
  return Option.some(sign === "-" ? -Infinity : Infinity)
}

/** `round(value)`: halves round to the even neighbour. */
const round = (value: number) => {
  const below = Math.floor(value)
  const rest = value - below
  if (rest !== 0.5) return rest < 0.5 ? below : below + 1
  return below % 2 === 0 ? below : below + 1
}

/** The integer within 1e-7 of a finite value, with all its digits; none if there is no such integer. */
export const nearestInteger = (value: number): Option.Option<bigint> => {
  if (!Number.isFinite(value)) return Option.none()
  const whole = round(value)
  return Math.abs(value - whole) <= 1e-7 ? Option.some(BigInt(whole)) : Option.none()
}

/** `int(value)` of a finite value, with all its digits. */
export const truncate = (value: number): bigint => BigInt(Math.trunc(value))
