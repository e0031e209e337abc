import { ChatAnthropic } from "@langchain/anthropic"
import { tool } from "@langchain/core/tools"
import { createReactAgent } from "@langchain/langgraph/prebuilt"
import { ChatOpenAI } from "@langchain/openai"
import { createAgent } from "langchain"
import { answer, model, objectPrompt, prompt, question, schema, tools } from "./task.mjs"

const own = tools.map(({ call, description, name, parameters }) =>
  tool(call, { name, description, schema: parameters })
)
const { ANTHROPIC_BASE_URL: anthropicApiUrl, OPENAI_BASE_URL: baseURL } = process.env
const openAi = (more = {}) => new ChatOpenAI({ model, maxRetries: 0, configuration: { baseURL }, ...more })
const anthropic = () => new ChatAnthropic({ model, maxRetries: 0, maxTokens: 1000, anthropicApiUrl })
const said = ({ messages }) => messages.at(-1).text

const loop = async (llm) => said(await createAgent({ model: llm, tools: own }).invoke({ messages: question }))

await answer({
  "ChatOpenAI: createAgent": () => loop(openAi()),
  "ChatOpenAI, Responses: createAgent": () => loop(openAi({ useResponsesApi: true })),
  "ChatAnthropic: createAgent": () => loop(anthropic()),
  "ChatOpenAI: LangGraph createReactAgent": async () =>
    said(await createReactAgent({ llm: openAi(), tools: own }).invoke({ messages: question })),
  "ChatOpenAI: LangGraph, streamed": async () => {
    let last
    // The mode "messages" makes the model stream. `streaming: true` would download a file from tiktoken.pages.dev to count tokens.
    const options = { streamMode: ["messages", "values"] }
    const stream = await createReactAgent({ llm: openAi(), tools: own }).stream(
      { messages: [["user", prompt]] },
      options
    )
    for await (const [mode, state] of stream) if (mode === "values") last = state
    return said(last)
  },
  "ChatOpenAI: structured output": () => openAi().withStructuredOutput(schema).invoke(objectPrompt)
})
