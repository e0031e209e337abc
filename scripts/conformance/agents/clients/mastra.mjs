import { Agent } from "@mastra/core/agent"
import { createTool } from "@mastra/core/tools"
import { answer, model, objectPrompt, prompt, schema, tools } from "./task.mjs"

const own = Object.fromEntries(
  tools.map(({ call, description, name, parameters }) => [
    name,
    createTool({
      id: name,
      description,
      inputSchema: parameters,
      execute: (input) => Promise.resolve(call(input.context ?? input))
    })
  ])
)
const { OPENAI_API_KEY: apiKey, OPENAI_BASE_URL: url } = process.env
const agent = new Agent({
  id: "calculator",
  name: "calculator",
  instructions: "Calculate.",
  model: { providerId: "policy", modelId: model, url, apiKey },
  tools: own
})
const bare = new Agent({
  id: "objects",
  name: "objects",
  instructions: "Give objects.",
  model: { providerId: "policy", modelId: model, url, apiKey }
})

await answer({
  "tools": async () => (await agent.generate(prompt)).text,
  "tools, streamed": async () => await (await agent.stream(prompt)).text,
  "structured output": async () => (await bare.generate(objectPrompt, { structuredOutput: { schema } })).object
})
