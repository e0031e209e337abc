// The task of the libraries for JavaScript: two tools, and an answer as an object. Each file runs in a folder where npm has installed its
// library, and asks as the library's own guide does.
import { z } from "zod"

export const model = process.env.MODEL
export const prompt = "What is (2 + 3) + (4 * 5)? Use the tools."
export const question = [{ role: "user", content: prompt }]
export const objectPrompt = "Give the sum of 20 and 5 as an object."
export const object = [{ role: "user", content: objectPrompt }]
export const schema = z.object({ sum: z.number() })

const parameters = z.object({ a: z.number(), b: z.number() })
const jsonSchema = {
  type: "object",
  properties: { a: { type: "number" }, b: { type: "number" } },
  required: ["a", "b"],
  additionalProperties: false
}

const tool = (name, description, calculate) => ({
  name,
  description,
  parameters,
  jsonSchema,
  call: ({ a, b }) => String(calculate(a, b))
})

export const tools = [
  tool("add", "Adds two numbers.", (a, b) => a + b),
  tool("mul", "Multiplies two numbers.", (a, b) => a * b)
]

export const run = (name, input) => tools.find((tool) => tool.name === name).call(input)

/** Runs the requested feature and prints its result; without a feature, prints the names of all. */
export const answer = async (features) => {
  const name = process.env.FEATURE
  const given = name === undefined ? Object.keys(features) : await features[name]()
  console.log(`\nANSWER ${JSON.stringify(given)}`)
  process.exit(0)
}
