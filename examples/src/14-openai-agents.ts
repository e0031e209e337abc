// Trains an agent of OpenAI Agents without changing it: its runner gets a client with the session's address, key and fetch.
import { Agent, MaxTurnsExceededError, ModelBehaviorError, OpenAIProvider, Runner, tool } from "@openai/agents"
import OpenAI from "openai"
import { calculate, calculator } from "../agents/calculator.ts"
import * as Training from "../agents/training.ts"

const calculatorTool = tool({
  ...calculator,
  parameters: { ...calculator.parameters, required: ["expression"] },
  strict: false,
  execute: (given: unknown) => calculate(JSON.stringify(given))
})

const agent = new Agent({ name: "calculator", tools: [calculatorTool] })

/** Errors that the model caused. They are not failures of the agent, because the reward covers them. */
const isOfTheModel = (error: unknown) => error instanceof MaxTurnsExceededError || error instanceof ModelBehaviorError

export const answer: Training.Answer = async ({ apiKey, baseUrl: baseURL, fetch, signal }, model, question) => {
  const openAIClient = new OpenAI({ apiKey, baseURL, fetch })
  const runner = new Runner({ model, modelProvider: new OpenAIProvider({ openAIClient }), tracingDisabled: true })
  try {
    const { finalOutput } = await runner.run(agent, question, { maxTurns: 3, signal })
    return finalOutput
  } catch (error) {
    if (isOfTheModel(error)) return undefined
    throw error
  }
}

if (import.meta.main) Training.runMain(answer)
