// Trains a LangGraph.js graph without changing it: its model gets the session's address, key and fetch.
import { tool } from "@langchain/core/tools"
import { GraphRecursionError } from "@langchain/langgraph"
import { createReactAgent } from "@langchain/langgraph/prebuilt"
import { ChatOpenAI } from "@langchain/openai"
import { calculate, calculator } from "../agents/calculator.ts"
import * as Training from "../agents/training.ts"

const tools = [
  tool((given: unknown) => calculate(JSON.stringify(given)), {
    name: calculator.name,
    description: calculator.description,
    schema: { ...calculator.parameters, required: ["expression"] }
  })
]

export const answer: Training.Answer = async ({ apiKey, baseUrl: baseURL, fetch, signal }, model, question) => {
  const llm = new ChatOpenAI({ model, apiKey, configuration: { baseURL, fetch } })
  const graph = createReactAgent({ llm, tools })
  try {
    const { messages } = await graph.invoke({ messages: [{ role: "user", content: question }] }, {
      recursionLimit: 6,
      signal
    })
    return messages.at(-1)?.text
  } catch (error) {
    if (error instanceof GraphRecursionError) return undefined
    throw error
  }
}

if (import.meta.main) Training.runMain(answer)
