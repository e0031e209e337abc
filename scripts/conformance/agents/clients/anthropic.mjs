import Anthropic from "@anthropic-ai/sdk"
import { betaZodTool } from "@anthropic-ai/sdk/helpers/beta/zod"
import { answer, model, object, question, tools } from "./task.mjs"

const client = new Anthropic({ maxRetries: 0 })
const runnable = tools.map(({ call, description, name, parameters }) =>
  betaZodTool({ name, description, inputSchema: parameters, run: call })
)
const asked = { model, max_tokens: 1000, messages: question, tools: runnable }
const textOf = ({ content }) => content.filter(({ type }) => type === "text").map(({ text }) => text).join("")

await answer({
  "tools": async () => textOf(await client.beta.messages.toolRunner(asked)),
  "tools, streamed": async () => {
    let last
    for await (const stream of client.beta.messages.toolRunner({ ...asked, stream: true })) {
      last = await stream.finalMessage()
    }
    return textOf(last)
  },
  "count_tokens": async () => (await client.messages.countTokens({ model, messages: question })).input_tokens > 0,
  "thinking": async () => {
    const message = await client.messages.create({
      model,
      max_tokens: 3000,
      thinking: { type: "enabled", budget_tokens: 2000 },
      messages: object
    })
    return JSON.parse(textOf(message))
  }
})
