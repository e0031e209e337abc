// Trains a ToolLoopAgent of AI SDK 7 without changing it: its provider gets the session's address, key and fetch.
import { createOpenAICompatible } from "@ai-sdk/openai-compatible"
import { isStepCount, jsonSchema, tool, ToolLoopAgent } from "ai"
import { calculate, calculator } from "../agents/calculator.ts"
import * as Training from "../agents/training.ts"

const tools = {
  [calculator.name]: tool({
    description: calculator.description,
    inputSchema: jsonSchema<{ readonly expression: string }>({ ...calculator.parameters, required: ["expression"] }),
    execute: ({ expression }) => calculate(expression)
  })
}

export const answer: Training.Answer = async ({ apiKey, baseUrl: baseURL, fetch, signal }, model, question) => {
  const provider = createOpenAICompatible({ name: "effect-rl", apiKey, baseURL, fetch })
  const agent = new ToolLoopAgent({ model: provider(model), tools, stopWhen: isStepCount(3) })
  const { text } = await agent.generate({ prompt: question, abortSignal: signal })
  return text
}

if (import.meta.main) Training.runMain(answer)
