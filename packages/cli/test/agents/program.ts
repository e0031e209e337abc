/** An agent as a program of its own: it asks once and prints the answer. Its exit code says nothing. */
import { readFileSync } from "node:fs"

const { OPENAI_API_KEY: key, OPENAI_BASE_URL: url, OPENAI_MODEL: model } = process.env

const response = await fetch(`${url}/chat/completions`, {
  method: "POST",
  headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
  body: JSON.stringify({ model, messages: [{ role: "user", content: process.argv[2] ?? readFileSync(0, "utf8") }] })
})
console.error(`asked ${url} with ${key}`)
console.log(await response.text())
process.exit(3)
