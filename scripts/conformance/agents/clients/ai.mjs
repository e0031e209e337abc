import { createAnthropic } from "@ai-sdk/anthropic"
import { createOpenAI } from "@ai-sdk/openai"
import { createOpenAICompatible } from "@ai-sdk/openai-compatible"
import { generateText, Output, stepCountIs, streamText, tool, ToolLoopAgent } from "ai"
import { answer, model, objectPrompt, prompt, schema, tools } from "./task.mjs"

const { ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL, OPENAI_API_KEY: apiKey, OPENAI_BASE_URL: baseURL } = process.env

const models = {
  "openai-compatible": createOpenAICompatible({ name: "policy", baseURL, apiKey })(model),
  "openai": createOpenAI({ baseURL, apiKey })(model),
  "anthropic": createAnthropic({ baseURL: `${ANTHROPIC_BASE_URL}/v1`, apiKey: ANTHROPIC_API_KEY })(model)
}
const own = Object.fromEntries(
  tools.map(({ call, description, name, parameters }) => [
    name,
    tool({ description, inputSchema: parameters, execute: (input) => Promise.resolve(call(input)) })
  ])
)
const settings = { maxRetries: 0, stopWhen: stepCountIs(5), tools: own }

await answer(Object.fromEntries(
  Object.entries(models).flatMap(([name, model]) => [
    [`${name}: tools`, async () => (await generateText({ ...settings, model, prompt })).text],
    [`${name}: tools, streamed`, async () => await streamText({ ...settings, model, prompt }).text],
    [`${name}: ToolLoopAgent`, async () => (await new ToolLoopAgent({ ...settings, model }).generate({ prompt })).text],
    [
      `${name}: structured output`,
      async () =>
        (await generateText({ model, prompt: objectPrompt, output: Output.object({ schema }), maxRetries: 0 })).output
    ]
  ])
))
