// The scripted model's responses to prompts.

const matches = (text, pattern) => [...text.matchAll(pattern)].map(([, found]) => found)

/** Converts tool results that a library writes as user text. */
const asResults = (shown) =>
  shown.replaceAll(
    /Observation:\n((?:[\d.]+\n?)+)/g,
    (_, lines) => lines.trim().split("\n").map((line) => `<tool_response>\n${line}\n</tool_response>`).join("\n")
  )

/** The number of tool results in a prompt. */
export const results = (shown) => asResults(shown).split("<tool_response>").length - 1

/** Numbers that tools returned after the question. Earlier ones may be examples in a library's instructions. */
const numbersOf = (shown) =>
  matches(
    asResults(shown.slice(shown.lastIndexOf("Use the tools."))),
    /<tool_response>\s*[^\d<]{0,20}?(\d+(?:\.\d+)?)/g
  ).map(Number)

/** Calls two tools at once, then one with their results, and then states the result. */
export const calculation = ({ shown, tools }) => {
  if (shown.includes("as an object")) {
    const [name] = tools.keys()
    return name === undefined ? { text: "{\"sum\": 25}" } : { isAnswer: true, calls: [{ name, input: { sum: 25 } }] }
  }
  const transfer = [...tools.keys()].find((name) => name.startsWith("transfer_to_"))
  if (transfer !== undefined) return { calls: [{ name: transfer, input: {} }] }
  const [sum, product, result] = numbersOf(shown)
  if (sum === undefined) {
    return {
      text: "I add and multiply.",
      calls: [{ name: "add", input: { a: 2, b: 3 } }, { name: "mul", input: { a: 4, b: 5 } }]
    }
  }
  if (result === undefined) return { calls: [{ name: "add", input: { a: sum, b: product } }] }
  const text = `The result is ${result}.`
  return tools.has("final_answer")
    ? { isAnswer: true, calls: [{ name: "final_answer", input: { answer: text } }] }
    : { text }
}

/** Takes these steps one after another in each conversation with tools. Other conversations get a title. */
export const steps = (steps) => ({ tools, turns }) => {
  if (tools.size === 0) return { text: "Words in files" }
  return steps.find((step, index) => index === turns && tools.has(step.calls[0].name)) ?? { text: "It is done." }
}
