/** Formats a loss expression as LaTeX. */
import type { Any, Operator } from "./LossTerm.ts"

/** A piece of LaTeX and its precedence: 0 for a comparison, 1 for a sum, 2 for a product, 3 for an atom, which needs no parentheses. */
interface Piece {
  readonly text: string
  readonly strength: 0 | 1 | 2 | 3
}

const atom = (text: string): Piece => ({ text, strength: 3 })

const within = ({ strength, text }: Piece, least: Piece["strength"]) =>
  strength >= least ? text : `\\left(${text}\\right)`

const call = (name: string, ...operands: ReadonlyArray<Piece>): Piece =>
  atom(`${name}\\left(${operands.map(({ text }) => text).join(", ")}\\right)`)

const infix = (sign: string, strength: 0 | 1 | 2, left: Piece, right: Piece): Piece => ({
  text: `${within(left, strength)} ${sign} ${within(right, strength === 0 || sign === "\\," ? strength : 2)}`,
  strength
})

const none = atom("")

const operators: Readonly<Record<Operator, (x: Piece, y: Piece, z: Piece) => Piece>> = {
  neg: (x) => ({ text: `-${within(x, 2)}`, strength: 1 }),
  exp: (x) => atom(`e^{${x.text}}`),
  log: (x) => call("\\log", x),
  sigmoid: (x) => call("\\sigma", x),
  logSigmoid: (x) => call("\\log\\sigma", x),
  square: (x) => atom(`${within(x, 3)}^2`),
  sqrt: (x) => atom(`\\sqrt{${x.text}}`),
  abs: (x) => atom(`\\left|${x.text}\\right|`),
  sign: (x) => call("\\operatorname{sgn}", x),
  stopGradient: (x) => call("\\operatorname{sg}", x),
  add: (x, y) => infix("+", 1, x, y),
  sub: (x, y) => infix("-", 1, x, y),
  mul: (x, y) => ({ text: `${within(x, 2)}\\,${within(y, 2)}`, strength: 2 }),
  div: (x, y) => atom(`\\frac{${x.text}}{${y.text}}`),
  minimum: (x, y) => call("\\min", x, y),
  maximum: (x, y) => call("\\max", x, y),
  gt: (x, y) => infix(">", 0, x, y),
  ge: (x, y) => infix("\\ge", 0, x, y),
  lt: (x, y) => infix("<", 0, x, y),
  le: (x, y) => infix("\\le", 0, x, y),
  and: (x, y) => infix("\\wedge", 0, { ...x, strength: 3 }, { ...y, strength: 3 }),
  or: (x, y) => ({ text: `(${x.text}) \\vee (${y.text})`, strength: 0 }),
  not: (x) => ({ text: `\\neg(${x.text})`, strength: 2 }),
  where: (x, y, z) => atom(`\\begin{cases}${y.text} & ${x.text} \\\\ ${z.text} & \\text{otherwise}\\end{cases}`)
}

const digits = (value: number): string => {
  if (value === Infinity) return "\\infty"
  const [mantissa, exponent] = String(value).split("e")
  return exponent === undefined ? String(value) : `${mantissa}\\cdot 10^{${Number(exponent)}}`
}

const clamped = (of: Piece, low: Piece | undefined, high: Piece | undefined): Piece => {
  if (high === undefined) return low === undefined ? of : call("\\max", of, low)
  return low === undefined ? call("\\min", of, high) : call("\\operatorname{clip}", of, low, high)
}

/** The LaTeX of a loss. Named terms are defined once, in the order in which they are first used. */
export const formula = (loss: Any): string => {
  const definitions = new Map<string, string>()
  const show = (term: Any): Piece => {
    const { node } = term
    switch (node._tag) {
      case "Input":
      case "Parameter":
        return atom(node.symbol)
      case "Number":
        return { text: digits(node.value), strength: node.value < 0 ? 1 : 3 }
      case "Named": {
        if (!definitions.has(node.symbol)) {
          const { text } = show(node.of)
          definitions.set(node.symbol, text)
        }
        return atom(node.symbol)
      }
      case "Clamp":
        return clamped(show(node.of), node.low && show(node.low), node.high && show(node.high))
      case "Sum":
      case "Mean": {
        const weights = node.weights === undefined ? undefined : show(node.weights)
        const of = within(show(node.of), 2)
        const sum = weights === undefined ? `\\sum_{t} ${of}` : `\\sum_{t} ${within(weights, 2)}\\,${of}`
        const count = weights === undefined ? "T" : `\\sum_{t} ${weights.text}`
        return node._tag === "Sum" ? { text: sum, strength: 1 } : { text: `\\frac{1}{${count}} ${sum}`, strength: 1 }
      }
      case "Apply": {
        const [x = none, y = none, z = none] = node.operands.map(show)
        return operators[node.operator](x, y, z)
      }
    }
  }
  const { text } = show(loss)
  const whole = loss.shape === "token" ? `L = \\sum_{t} \\left[${text}\\right]` : `L = ${text}`
  return [whole, ...Array.from(definitions, ([symbol, definition]) => `${symbol} = ${definition}`)].join(", \\quad ")
}
