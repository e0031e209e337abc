/** The calculator tool of the example agents. Each agent declares it again in the format of its library. */
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

/** The value of the first sum, difference or product of two integers in the text, or a sentence if there is none. */
export const calculate = (expression: unknown): string => {
  const [, left, sign = "", right] = /(-?\d+) *([-+*]) *(\d+)/.exec(String(expression)) ?? []
  return String(operations[sign]?.(Number(left), Number(right)) ?? "this cannot be worked out")
}
