// Tests our chat endpoints with unmodified official JavaScript clients, and prints one JSON line per check. Runs in a folder
// where npm has installed them.
import { createOpenAI } from "@ai-sdk/openai"
import { createOpenAICompatible } from "@ai-sdk/openai-compatible"
import Anthropic from "@anthropic-ai/sdk"
import { generateText, jsonSchema, stepCountIs, streamText, tool } from "ai"
import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import OpenAI from "openai"

const { engine, scripted, key } = JSON.parse(process.env.CLIENTS)
const question = [{ role: "user", content: "What is 25 + 59?" }]
const parameters = {
  type: "object",
  properties: { a: { type: "integer" }, b: { type: "integer" } },
  required: ["a", "b"],
  additionalProperties: false
}
const sum = "The sum is 84, and that is all."

const versionOf = (name) => JSON.parse(readFileSync(`node_modules/${name}/package.json`, "utf8")).version

const fails = async (promise, status, pattern) => {
  const error = await promise.then(() => assert.fail("no error"), (error) => error)
  assert.equal(error.status ?? error.statusCode, status, String(error))
  assert.match(error.message, pattern)
}

const collect = async (items) => {
  const all = []
  for await (const item of items) all.push(item)
  return all
}

const openAi = ({ url, model }, apiKey = key) => ({
  model,
  client: new OpenAI({ baseURL: `${url}/oai/api/v1`, apiKey, maxRetries: 0 })
})

const openAiChecks = {
  "models": async () => {
    const { client, model } = openAi(engine)
    assert.ok((await collect(client.models.list())).some(({ id }) => id === model))
    assert.equal((await client.models.retrieve(model)).id, model)
    await fails(client.models.retrieve("nobody/nothing"), 404, /no model/)
  },
  "chat": async () => {
    const { client, model } = openAi(engine)
    const asked = { model, messages: question, n: 2, seed: 7, max_completion_tokens: 20 }
    const { choices, usage } = await client.chat.completions.create(asked)
    assert.equal(choices.length, 2)
    assert.ok(choices[0].message.content.length > 0)
    assert.equal(usage.total_tokens, usage.prompt_tokens + usage.completion_tokens)
    const again = await client.chat.completions.create(asked)
    assert.deepEqual(again.choices.map(({ message }) => message), choices.map(({ message }) => message))
  },
  "chat, streamed": async () => {
    const { client, model } = openAi(engine)
    const asked = { model, messages: question, temperature: 0, stream_options: { include_usage: true } }
    const { choices: [whole] } = await client.chat.completions.create({ model, messages: question, temperature: 0 })
    const stream = client.chat.completions.stream(asked)
    const { choices: [streamed], usage } = await stream.finalChatCompletion()
    assert.equal(streamed.message.content, whole.message.content)
    assert.equal(streamed.finish_reason, whole.finish_reason)
    assert.ok(usage.completion_tokens > 0)
  },
  "logprobs with alternatives": async () => {
    const { client, model } = openAi(engine)
    const asked = { model, messages: question, temperature: 0, logprobs: true, top_logprobs: 3 }
    const { choices: [{ logprobs }] } = await client.chat.completions.create(asked)
    for (const { logprob, token, top_logprobs } of logprobs.content) {
      assert.equal(top_logprobs.length, 3)
      assert.equal(top_logprobs[0].token, token)
      assert.ok(Math.abs(top_logprobs[0].logprob - logprob) < 1e-3)
    }
  },
  "stop": async () => {
    const { client, model } = openAi(scripted)
    const { choices: [choice] } = await client.chat.completions.create({ model, messages: question, stop: ["84"] })
    assert.equal(choice.message.content, "The sum is ")
    assert.equal(choice.finish_reason, "stop")
  },
  "tools": async () => {
    const { client, model } = openAi(scripted)
    const tools = [{ type: "function", function: { name: "add", description: "Adds.", parameters } }]
    const { choices: [{ finish_reason, message }] } = await client.chat.completions.create({
      model,
      messages: question,
      tools
    })
    assert.equal(finish_reason, "tool_calls")
    const [call] = message.tool_calls
    assert.deepEqual(JSON.parse(call.function.arguments), { a: 25, b: 59 })
    const messages = [...question, message, { role: "tool", tool_call_id: call.id, content: "84" }]
    const { choices: [answer] } = await client.chat.completions.create({ model, messages, tools })
    assert.equal(answer.message.content, sum)
  },
  "tools, streamed": async () => {
    const { client, model } = openAi(scripted)
    const tools = [{ type: "function", function: { name: "add", description: "Adds.", parameters } }]
    const stream = client.chat.completions.stream({ model, messages: question, tools })
    const { choices: [{ message }] } = await stream.finalChatCompletion()
    const [call] = message.tool_calls
    assert.deepEqual(JSON.parse(call.function.arguments), { a: 25, b: 59 })
    const messages = [...question, message, { role: "tool", tool_call_id: call.id, content: "84" }]
    const { choices: [answer] } = await client.chat.completions.create({ model, messages, tools })
    assert.equal(answer.message.content, sum)
  },
  "completions": async () => {
    const { client, model } = openAi(engine)
    const asked = { model, prompt: "12 + 30 =", max_tokens: 20, temperature: 0, logprobs: 2 }
    const { choices: [whole] } = await client.completions.create(asked)
    assert.equal(whole.logprobs.tokens.length, whole.logprobs.token_logprobs.length)
    const chunks = await collect(await client.completions.create({ ...asked, stream: true }))
    assert.equal(chunks.map(({ choices }) => choices[0].text).join(""), whole.text)
  },
  "responses": async () => {
    const { client, model } = openAi(engine)
    const asked = { model, input: "What is 25 + 59?", include: ["message.output_text.logprobs"], top_logprobs: 2 }
    const { output: [message], output_text, status, usage } = await client.responses.create(asked)
    assert.ok(output_text.length > 0)
    assert.equal(message.content[0].logprobs.length, usage.output_tokens)
    assert.ok(["completed", "incomplete"].includes(status))
    assert.equal(usage.total_tokens, usage.input_tokens + usage.output_tokens)
  },
  "responses, streamed": async () => {
    const { client, model } = openAi(scripted)
    const stream = client.responses.stream({ model, input: "What is 25 + 59?" })
    const deltas = (await collect(stream)).filter(({ type }) => type === "response.output_text.delta")
    assert.equal(deltas.map(({ delta }) => delta).join(""), sum)
    assert.equal((await stream.finalResponse()).output_text, sum)
  },
  "responses with tools": async () => {
    const { client, model } = openAi(scripted)
    const tools = [{ type: "function", name: "add", description: "Adds.", parameters, strict: false }]
    const { output } = await client.responses.stream({ model, input: question, tools }).finalResponse()
    const call = output.find(({ type }) => type === "function_call")
    assert.deepEqual(JSON.parse(call.arguments), { a: 25, b: 59 })
    const input = [...question, ...output, { type: "function_call_output", call_id: call.call_id, output: "84" }]
    assert.equal((await client.responses.create({ model, input, tools })).output_text, sum)
  },
  "errors": async () => {
    const { client, model } = openAi(engine)
    const create = (more) => client.chat.completions.create({ model, messages: question, ...more })
    await fails(create({ model: "nobody/nothing" }), 404, /no model "nobody\/nothing"/)
    const long = [{ role: "user", content: "1".repeat(5000) }]
    await fails(create({ messages: long }), 400, /the prompt has \d+ tokens, expected fewer than \d+/)
    const pattern = { name: "x", schema: { type: "string", pattern: "a" } }
    await fails(create({ response_format: { type: "json_schema", json_schema: pattern } }), 422, /response_format/)
    await fails(client.responses.create({ model, input: "Hi", previous_response_id: "r" }), 400, /previous_response_id/)
    const stranger = openAi(engine, "tml-wrong").client.models.list()
    await fails(stranger, 401, /not one of this server's keys/)
  }
}

const anthropic = ({ url, model }, apiKey = key) => ({
  model,
  messages: new Anthropic({ baseURL: `${url}/anthropic/api`, apiKey, maxRetries: 0 }).messages,
  models: new Anthropic({ baseURL: `${url}/anthropic/api`, apiKey, maxRetries: 0 }).models
})

const anthropicTools = [{ name: "add", description: "Adds.", input_schema: parameters }]

const anthropicChecks = {
  "models": async () => {
    const { model, models } = anthropic(engine)
    assert.ok((await collect(models.list())).some(({ id }) => id === model))
    assert.equal((await models.retrieve(model)).id, model)
  },
  "chat": async () => {
    const { messages, model } = anthropic(engine)
    const { content, stop_reason, usage } = await messages.create({ model, messages: question, max_tokens: 40 })
    assert.equal(content[0].type, "text")
    assert.ok(["end_turn", "max_tokens"].includes(stop_reason))
    assert.ok(usage.output_tokens > 0)
  },
  "chat, streamed": async () => {
    const { messages, model } = anthropic(scripted)
    const stream = messages.stream({ model, messages: question, max_tokens: 100 })
    assert.equal(await stream.finalText(), sum)
    const { stop_reason, usage } = await stream.finalMessage()
    assert.equal(stop_reason, "end_turn")
    assert.equal(usage.output_tokens, sum.length + 1)
  },
  "stop": async () => {
    const { messages, model } = anthropic(scripted)
    const asked = { model, messages: question, max_tokens: 100, stop_sequences: ["84"] }
    const { content, stop_reason, stop_sequence } = await messages.create(asked)
    assert.deepEqual({ text: content[0].text, stop_reason, stop_sequence }, {
      text: "The sum is ",
      stop_reason: "stop_sequence",
      stop_sequence: "84"
    })
  },
  "tools": async () => {
    const { messages, model } = anthropic(scripted)
    const asked = { model, max_tokens: 200, tools: anthropicTools }
    const { content, stop_reason } = await messages.create({ ...asked, messages: question })
    assert.equal(stop_reason, "tool_use")
    const use = content.find(({ type }) => type === "tool_use")
    assert.deepEqual(use.input, { a: 25, b: 59 })
    const result = { role: "user", content: [{ type: "tool_result", tool_use_id: use.id, content: "84" }] }
    const answer = await messages.create({ ...asked, messages: [...question, { role: "assistant", content }, result] })
    assert.equal(answer.content[0].text, sum)
  },
  "tools, streamed": async () => {
    const { messages, model } = anthropic(scripted)
    const stream = messages.stream({ model, max_tokens: 200, tools: anthropicTools, messages: question })
    const { content } = await stream.finalMessage()
    assert.deepEqual(content.find(({ type }) => type === "tool_use").input, { a: 25, b: 59 })
  },
  "count_tokens": async () => {
    const { messages, model } = anthropic(engine)
    const { input_tokens } = await messages.countTokens({ model, messages: question })
    const { usage } = await messages.create({ model, messages: question, max_tokens: 1 })
    assert.equal(input_tokens, usage.input_tokens)
  },
  "errors": async () => {
    const { messages, model } = anthropic(engine)
    const create = (more) => messages.create({ model, messages: question, max_tokens: 10, ...more })
    await fails(create({ model: "nobody/nothing" }), 404, /no model/)
    await fails(create({ messages: [{ role: "user", content: "1".repeat(5000) }] }), 400, /the prompt has \d+ tokens/)
    await fails(create({ thinking: { type: "enabled", budget_tokens: 1024 } }), 422, /thinking/)
    await fails(
      anthropic(engine, "tml-wrong").messages.create({ model, messages: question, max_tokens: 1 }),
      401,
      /keys/
    )
  }
}

const providers = {
  "@ai-sdk/openai-compatible": ({ url, model }, apiKey = key) =>
    createOpenAICompatible({ name: "effect-rl", baseURL: `${url}/oai/api/v1`, apiKey, includeUsage: true })(model),
  "@ai-sdk/openai": ({ url, model }, apiKey = key) => createOpenAI({ baseURL: `${url}/oai/api/v1`, apiKey })(model)
}

const aiChecks = (modelOf) => ({
  "chat": async () => {
    const { text, usage } = await generateText({
      model: modelOf(engine),
      prompt: "What is 25 + 59?",
      maxOutputTokens: 40
    })
    assert.ok(text.length > 0)
    assert.ok(usage.outputTokens > 0)
  },
  "chat, streamed": async () => {
    const result = streamText({ model: modelOf(scripted), prompt: "What is 25 + 59?" })
    assert.equal((await collect(result.textStream)).join(""), sum)
    assert.equal(await result.finishReason, "stop")
    assert.equal((await result.usage).outputTokens, sum.length + 1)
  },
  "tools": async () => {
    const add = tool({ description: "Adds.", inputSchema: jsonSchema(parameters), execute: ({ a, b }) => a + b })
    const asked = { model: modelOf(scripted), prompt: "What is 25 + 59?", tools: { add }, stopWhen: stepCountIs(3) }
    const { steps, text } = await generateText(asked)
    assert.deepEqual(steps[0].toolCalls[0].input, { a: 25, b: 59 })
    assert.equal(text, sum)
    assert.equal((await collect(streamText(asked).textStream)).join(""), sum)
  },
  "errors": async () => {
    const ask = (model, more = {}) => generateText({ model, prompt: "Hi", maxRetries: 0, ...more })
    await fails(ask(modelOf({ ...engine, model: "nobody/nothing" })), 404, /no model/)
    await fails(ask(modelOf(engine), { prompt: "1".repeat(5000) }), 400, /the prompt has \d+ tokens/)
    await fails(ask(modelOf(engine, "tml-wrong")), 401, /keys/)
  }
})

const clients = {
  openai: { name: "openai", checks: openAiChecks },
  anthropic: { name: "@anthropic-ai/sdk", checks: anthropicChecks },
  ...Object.fromEntries(
    Object.entries(providers).map(([name, modelOf]) => [name, { name, with: "ai", checks: aiChecks(modelOf) }])
  )
}

for (const { checks, name, with: other } of Object.values(clients)) {
  const client = [...(other === undefined ? [] : [other]), name].map((one) => `${one} ${versionOf(one)}`).join(" with ")
  for (const [check, run] of Object.entries(checks)) {
    const error = await run().then(() => null, (error) => String(error.stack ?? error))
    console.log(JSON.stringify({ client, check, error }))
  }
}
