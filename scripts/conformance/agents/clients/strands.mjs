import { Agent, tool } from "@strands-agents/sdk"
import { OpenAIModel } from "@strands-agents/sdk/models/openai"
import { answer, model, prompt, tools } from "./task.mjs"

const { OPENAI_API_KEY: apiKey, OPENAI_BASE_URL: baseURL } = process.env
const own = tools.map(({ call, description, name, parameters }) =>
  tool({ name, description, inputSchema: parameters, callback: call })
)

await answer({
  "tools, streamed": async () => {
    const agent = new Agent({
      model: new OpenAIModel({ modelId: model, apiKey, clientConfig: { baseURL } }),
      tools: own,
      printer: false
    })
    return String(await agent.invoke(prompt)).trim()
  }
})
