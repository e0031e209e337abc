/** Agents that continue after their own tool calls, in each of the three dialects. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Api from "../Api.ts"
import * as Chat from "./Chat.ts"

const call = "<tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\": 1}}\n</tool_call>"
const server = Api.server({ script: Chat.answering(`${call}\n${call}<|im_end|>`) })
const schema = { type: "object" }

interface Called {
  readonly id: string
}

interface Dialect {
  readonly path: string
  readonly tools: ReadonlyArray<object>
  /** The request field with the conversation. */
  readonly field: string
  readonly ids: (body: Api.Body) => ReadonlyArray<string>
  readonly streamed: (event: Api.Body) => ReadonlyArray<string>
  /** A call with its answer. */
  readonly turn: (id: string) => ReadonlyArray<object>
}

const chat: Dialect = {
  path: "/oai/api/v1/chat/completions",
  tools: [{ type: "function", function: { name: "add", description: "Adds.", parameters: schema } }],
  field: "messages",
  ids: ({ choices }) =>
    (choices as ReadonlyArray<{ message: { tool_calls: ReadonlyArray<Called> } }>).flatMap(({ message }) =>
      message.tool_calls.map(({ id }) => id)
    ),
  streamed: ({ choices }) =>
    (choices as ReadonlyArray<{ delta: { tool_calls?: ReadonlyArray<Called> } }>).flatMap(({ delta }) =>
      (delta.tool_calls ?? []).map(({ id }) => id)
    ),
  turn: (id) => [
    { role: "assistant", tool_calls: [{ id, type: "function", function: { name: "add", arguments: "{}" } }] },
    { role: "tool", tool_call_id: id, content: "2" }
  ]
}

const responses: Dialect = {
  path: "/oai/api/v1/responses",
  tools: [{ type: "function", name: "add", description: "Adds.", parameters: schema, strict: false }],
  field: "input",
  ids: ({ output }) =>
    (output as ReadonlyArray<{ call_id?: string }>).flatMap(({ call_id }) => call_id === undefined ? [] : [call_id]),
  streamed: ({ item, type }) => type === "response.output_item.done" ? responses.ids({ output: [item] }) : [],
  turn: (id) => [
    { type: "function_call", call_id: id, name: "add", arguments: "{}" },
    { type: "function_call_output", call_id: id, output: "2" }
  ]
}

const messages: Dialect = {
  path: "/anthropic/api/v1/messages",
  tools: [{ name: "add", description: "Adds.", input_schema: schema }],
  field: "messages",
  ids: ({ content }) =>
    (content as ReadonlyArray<Called & { type: string }>).flatMap(({ id, type }) => type === "tool_use" ? [id] : []),
  streamed: ({ content_block }) => {
    const block = content_block as (Called & { type: string }) | undefined
    return block?.type === "tool_use" ? [block.id] : []
  },
  turn: (id) => [
    { role: "assistant", content: [{ type: "tool_use", id, name: "add", input: {} }] },
    { role: "user", content: [{ type: "tool_result", tool_use_id: id, content: "2" }] }
  ]
}

const first = [{ role: "user", content: "Hi" }]

const bodyOf = ({ field, tools }: Dialect, conversation: ReadonlyArray<object>, more: object) => ({
  model: Chat.model,
  tools,
  ...(field === "messages" && tools === messages.tools ? { max_tokens: 500 } : {}),
  [field]: conversation,
  ...more
})

const whole = (dialect: Dialect, conversation: ReadonlyArray<object>, more: object = {}) =>
  Effect.map(
    Api.send(Chat.request(dialect.path, bodyOf(dialect, conversation, more))),
    ({ body }) => dialect.ids(body)
  )

const streamed = (dialect: Dialect, conversation: ReadonlyArray<object>, more: object = {}) =>
  Effect.map(
    Chat.events(dialect.path, bodyOf(dialect, conversation, { ...more, stream: true })),
    (events) => events.flatMap((text) => text === "[DONE]" ? [] : dialect.streamed(JSON.parse(text)))
  )

describe("ids of tool calls", () => {
  for (const [name, dialect] of Object.entries({ chat, responses, messages })) {
    for (const [how, ask] of Object.entries({ whole, streamed })) {
      it.effect(`do not repeat within a reply, across turns or requests: ${name}, ${how}`, () =>
        Effect.gen(function*() {
          const one = yield* ask(dialect, first)
          const again = yield* ask(dialect, first)
          const next = yield* ask(dialect, [...first, ...one.flatMap((id) => dialect.turn(id))])
          const all = [...one, ...again, ...next]
          assert.lengthOf(all, 6)
          assert.strictEqual(new Set(all).size, 6)
          for (const id of all) assert.match(id, /^call_[0-9a-f]{24}$/)
        }).pipe(Effect.provide(server)))
    }
  }

  it.effect("are the same if a request with a seed is repeated, whole and streamed", () =>
    Effect.gen(function*() {
      const seeded = { seed: 7, n: 2 }
      const ids = yield* whole(chat, first, seeded)
      assert.strictEqual(new Set(ids).size, 4)
      assert.deepStrictEqual(yield* whole(chat, first, seeded), ids)
      assert.sameMembers([...yield* streamed(chat, first, seeded)], [...ids])
    }).pipe(Effect.provide(server)))
})
