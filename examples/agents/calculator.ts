/** The tool of the example agents, without a library's declaration of it. */
export const calculator = {
  name: "calculator",
  description: "Works out an expression of numbers, + - * / and parentheses, exactly. Fractions come as a/b.",
  parameters: {
    type: "object",
    properties: { expression: { type: "string", description: "Such as (3 + 4) * 12" } },
    required: ["expression"],
    additionalProperties: true
  }
} as const

const operations: Readonly<Record<string, (left: number, right: number) => number>> = {
  "+": (left, right) => left + right,
  "-": (left, right) => left - right,
  "*": (left, right) => left * right
}

/** The value of an expression, or the reason why it has none. */
export const calculate = (expression: unknown): string => {
  const [, left, sign = "", right] = /(-?\d+) *([-+*]) *(\d+)/.exec(String(expression)) ?? []
  return String(operations[sign]?.(Number(left), Number(right)) ?? "this cannot be worked out")
}
