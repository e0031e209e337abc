/** An agent as its own program: it sends one request and prints the answer. Its exit code is not meaningful. */
import { appendFileSync, readFileSync } from "node:fs"

const { OPENAI_API_KEY: key, OPENAI_BASE_URL: url, OPENAI_MODEL: model } = process.env
const [, , task = readFileSync(0, "utf8"), leaked] = process.argv

// An agent that leaks its address and key.
if (leaked !== undefined) appendFileSync(leaked, `${url} ${key}\n`)
const content = leaked === undefined ? task : `${task} I am at ${url} with ${key}`

const response = await fetch(`${url}/chat/completions`, {
  method: "POST",
  headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
  body: JSON.stringify({ model, messages: [{ role: "user", content }] })
})
console.error(`asked ${url} with ${key}`)
console.log(await response.text())
process.exit(3)
