import OpenAI from "openai"
import { zodFunction } from "openai/helpers/zod"
import { answer, model, question, run, tools } from "./task.mjs"

const client = new OpenAI({ maxRetries: 0 })
const runnable = tools.map(({ call, description, name, parameters }) =>
  zodFunction({ name, description, parameters, function: call })
)
const chat = (stream) => client.chat.completions.runTools({ model, messages: question, tools: runnable, stream })

const responses = async (stream) => {
  const offered = tools.map(({ description, jsonSchema, name }) => ({
    type: "function",
    name,
    description,
    strict: true,
    parameters: jsonSchema
  }))
  let input = question
  while (true) {
    const response = stream
      ? await client.responses.stream({ model, input, tools: offered }).finalResponse()
      : await client.responses.create({ model, input, tools: offered })
    const calls = response.output.filter(({ type }) => type === "function_call")
    if (calls.length === 0) return response.output_text
    const results = calls.map(({ arguments: text, call_id, name }) => ({
      type: "function_call_output",
      call_id,
      output: run(name, JSON.parse(text))
    }))
    input = [...input, ...response.output, ...results]
  }
}

await answer({
  "tools": () => chat(false).finalContent(),
  "tools, streamed": () => chat(true).finalContent(),
  "Responses: tools": () => responses(false),
  "Responses: tools, streamed": () => responses(true),
  "structured output": async () => {
    const { object, schema } = await import("./task.mjs")
    const { zodResponseFormat } = await import("openai/helpers/zod")
    const asked = { model, messages: object, response_format: zodResponseFormat(schema, "result") }
    const { choices: [choice] } = await client.chat.completions.parse(asked)
    return choice.message.parsed
  }
})
