import { openai } from "@llamaindex/openai"
import { agent } from "@llamaindex/workflow"
import { tool } from "llamaindex"
import { answer, model, prompt, tools } from "./task.mjs"

const { OPENAI_API_KEY: apiKey, OPENAI_BASE_URL: baseURL } = process.env
const own = tools.map(({ call, description, name, parameters }) =>
  tool({ name, description, parameters, execute: call })
)
const llm = openai({ model, apiKey, baseURL, supportToolCall: true, maxTokens: 1000 })

await answer({
  "tools": async () => (await agent({ tools: own, llm }).run(prompt)).data.result
})
