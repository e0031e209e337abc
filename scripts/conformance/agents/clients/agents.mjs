import { Agent, run, setDefaultOpenAIClient, setOpenAIAPI, setTracingDisabled, tool } from "@openai/agents"
import OpenAI from "openai"
import { answer, model, objectPrompt, prompt, schema, tools } from "./task.mjs"

setTracingDisabled(true)
setDefaultOpenAIClient(new OpenAI({ maxRetries: 0 }))

const own = tools.map(({ call, description, name, parameters }) =>
  tool({ name, description, parameters, execute: call })
)
const agent = new Agent({ name: "calculator", instructions: "Calculate.", model, tools: own })
const asObject = new Agent({ name: "objects", instructions: "Give objects.", model, outputType: schema })
const handing = Agent.create({ name: "first", instructions: "Hand over.", model, handoffs: [agent] })

const streamed = async () => {
  const stream = await run(agent, prompt, { stream: true })
  await stream.completed
  return stream.finalOutput
}

const by = (api, name) => ({
  [`${name}: tools`]: async () => (setOpenAIAPI(api), (await run(agent, prompt)).finalOutput),
  [`${name}: tools, streamed`]: () => (setOpenAIAPI(api), streamed()),
  [`${name}: structured output`]: async () => (setOpenAIAPI(api), (await run(asObject, objectPrompt)).finalOutput),
  [`${name}: handoff`]: async () => (setOpenAIAPI(api), (await run(handing, prompt)).finalOutput)
})

await answer({ ...by("responses", "Responses"), ...by("chat_completions", "Chat") })
