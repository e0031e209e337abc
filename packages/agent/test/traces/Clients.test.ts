/** Sessions of clients are imported as the gateway recorded them. */
import type { AgentEnv } from "@effect-rl/agent"
import { Traces } from "@effect-rl/agent/traces"
import { OpenAi } from "@effect-rl/core/renderers"
import { Draw } from "@effect-rl/core/testing"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import Client from "openai"
import * as Talk from "../episode/Talk.ts"
import * as Recording from "./Recording.ts"

const call = (at: number) => `<tool_call>\n{"name": "look", "arguments": {"at": "shelf ${at}", "far": 2}}\n</tool_call>`

const words: readonly [string, ...ReadonlyArray<string>] = ["plum", "It is \"3\".", "a\nb", "{", "naïve 😀", " x "]

/** Answers of a model: each has a text, calls, or both; the last has a text alone. */
const answers = (draw: Draw.Draw) => [
  ...Array.from({ length: draw.integer(0, 3) }, () =>
    [
      ...(draw.chance(0.5) ? [draw.oneOf(words)] : []),
      ...Array.from({ length: draw.integer(1, 2) }, () => call(draw.integer(0, 9)))
    ].join("\n")),
  draw.oneOf(words)
]

const tools: Array<Client.ChatCompletionFunctionTool> = [{
  type: "function",
  function: { name: "look", description: "Looks.", parameters: { type: "object", properties: {} } }
}]

const question = [{ role: "system", content: "You look." }, { role: "user", content: "What is there?" }] as const

/** Answers calls until there are none, by chat completions, whole or streamed. */
const chat = (isStreamed: boolean) => async ({ apiKey, baseUrl: baseURL, fetch }: AgentEnv.Session) => {
  const { completions } = new Client({ apiKey, baseURL, fetch, maxRetries: 0 }).chat
  const messages: Array<Client.ChatCompletionMessageParam> = [...question]
  for (;;) {
    const body = { model: Talk.name, messages, tools }
    const completion = isStreamed
      ? await completions.stream(body).finalChatCompletion()
      : await completions.create(body)
    const message = completion.choices[0]?.message ?? assert.fail("no choice")
    messages.push(message)
    if ((message.tool_calls ?? []).length === 0) return
    for (const { id } of message.tool_calls ?? []) {
      messages.push({ role: "tool", tool_call_id: id, content: `seen ${id}` })
    }
  }
}

/** Answers calls until there are none, by the Responses API, which keeps the conversation on the server. */
const responses = async ({ apiKey, baseUrl: baseURL, fetch }: AgentEnv.Session) => {
  const client = new Client({ apiKey, baseURL, fetch, maxRetries: 0 })
  let input: Client.Responses.ResponseInput = [{ role: "user", content: question[1].content }]
  let previous: string | null = null
  for (;;) {
    const response: Client.Responses.Response = await client.responses.create({
      model: Talk.name,
      instructions: question[0].content,
      input,
      previous_response_id: previous,
      tools: tools.map(({ function: { name, parameters = {} } }) => ({
        type: "function",
        name,
        parameters,
        strict: null
      }))
    })
    previous = response.id
    input = response.output.flatMap((item) =>
      item.type === "function_call"
        ? [{ type: "function_call_output", call_id: item.call_id, output: `seen ${item.call_id}` } as const]
        : []
    )
    if (input.length === 0) return
  }
}

/** The same by Anthropic's API. */
const anthropic = async (session: AgentEnv.Session) => {
  const messages: Array<Talk.Message> = [...question]
  for (;;) {
    const { message } = await Talk.ask(session, messages, { dialect: "anthropic", tools })
    messages.push(message)
    if ((message.tool_calls ?? []).length === 0) return
    for (const { id } of message.tool_calls ?? []) {
      messages.push({ role: "tool", tool_call_id: id, content: `seen ${id}` })
    }
  }
}

const clients = {
  "chat completions": { client: chat(false), isReserialised: false },
  "streamed chat completions": { client: chat(true), isReserialised: false },
  responses: { client: responses, isReserialised: false },
  messages: { client: anthropic, isReserialised: true }
}

/** The message with the arguments of its calls as Anthropic's API passes them: as an object, not as the text that was sampled. */
const reserialised = ({ tool_calls, ...message }: OpenAi.ChatMessage): OpenAi.ChatMessage => ({
  ...message,
  ...(tool_calls !== undefined && {
    tool_calls: (tool_calls ?? []).map((call) => ({
      ...call,
      function: { ...call.function, arguments: JSON.stringify(JSON.parse(call.function.arguments)) }
    }))
  })
})

/** Sessions of each client. */
const sessions = process.env["EFFECT_RL_SOAK"] === undefined ? 8 : 250

describe("Traces.load", () => {
  for (const [name, { client, isReserialised }] of Object.entries(clients)) {
    it.live(`imports sessions of clients of ${name} as the gateway recorded them`, () =>
      Effect.gen(function*() {
        for (let seed = 0; seed < sessions; seed++) {
          const { log, recorded, tools } = yield* Recording.session(client, ...answers(Draw.make(seed, name)))
          const { conversations, report } = yield* Traces.load([yield* Recording.file(...log)])
          const [conversation = assert.fail("no conversation"), ...others] = conversations
          const expected = isReserialised ? recorded.map(reserialised) : recorded
          assert.deepStrictEqual(
            Recording.withoutIds(OpenAi.fromMessages(conversation.messages)),
            Recording.withoutIds(expected),
            `seed ${seed}`
          )
          assert.deepStrictEqual(conversation.tools.map(OpenAi.fromToolSpec), tools)
          assert.deepStrictEqual(others, [])
          assert.strictEqual(report.repeated, log.length - 1)
        }
      }).pipe(Effect.provide(NodeServices.layer)))
  }
})
