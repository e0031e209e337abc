/** Clients that refer to earlier messages by id instead of sending them again. */
import { AgentEnv } from "@effect-rl/agent"
import { Rollout } from "@effect-rl/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Talk from "./Talk.ts"

type Body = ReturnType<typeof JSON.parse>

const call = `I add.<tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call>`

/** Plays an agent whose model calls a tool and then answers. Returns the branches of its turns. */
const played = Effect.fnUntraced(
  function*(agent: (post: (path: string, body: object) => Promise<Body>) => Promise<number>) {
    const model = yield* Talk.modelOf("qwen3_instruct")
    const env = yield* AgentEnv.make({
      model,
      run: ({ baseUrl, fetch }) =>
        agent(async (path, body) => {
          const sent = JSON.stringify({ model: Talk.name, ...body })
          return (await fetch(`${baseUrl}${path}`, { method: "POST", body: sent })).json()
        })
    })
    const { log, policy } = Talk.saying(call, "It is 2.")
    const { stepReward, transitions } = yield* Rollout.episode(env, policy, Talk.key)
    assert.strictEqual(stepReward, 1)
    const asked = log.map(({ request: { prompt } }) =>
      Talk.tokenizer.decode(prompt.chunks.flatMap((chunk) => chunk._tag === "Image" ? [] : [...chunk.tokens]))
    )
    return { asked, branches: transitions.map(({ branch }) => branch) }
  },
  Effect.scoped
)

const parameters = { type: "object" }
const add = { type: "function", name: "add", parameters }
const resultOf = (output: ReadonlyArray<Body>) => ({
  type: "function_call_output",
  call_id: output.find(({ type }) => type === "function_call").call_id,
  output: "2"
})

const goesOn = ({ asked, branches }: Effect.Success<ReturnType<typeof played>>) => {
  assert.deepStrictEqual(branches, [undefined, undefined])
  assert.include(asked[1], `${call}<|im_end|>`)
  assert.include(asked[1], "Add 1 and 1.")
  assert.include(asked[1], "<tool_response>\n2\n</tool_response>")
}

describe("a session keeps", () => {
  it.effect("responses, which the next response continues by id", () =>
    Effect.map(
      played(async (post) => {
        const first = await post("/responses", { input: "Add 1 and 1.", tools: [add] })
        const input = [resultOf(first.output)]
        const second = await post("/responses", { input, tools: [add], previous_response_id: first.id })
        return second.output[0].content[0].text === "It is 2." ? 1 : 0
      }),
      goesOn
    ))

  it.effect("response items, to which later input refers", () =>
    Effect.map(
      played(async (post) => {
        const user = { role: "user", content: "Add 1 and 1." }
        const first = await post("/responses", { input: [user], tools: [add] })
        const references = first.output.map(({ id }: Body) => ({ type: "item_reference", id }))
        const second = await post("/responses", { input: [user, ...references, resultOf(first.output)], tools: [add] })
        return second.output[0].content[0].text === "It is 2." ? 1 : 0
      }),
      goesOn
    ))

  it.effect("message threads with their tools", () =>
    Effect.map(
      played(async (post) => {
        const asked = {
          max_tokens: 500,
          tools: [{ name: "add", input_schema: parameters }],
          thread: { type: "create" }
        }
        const first = await post("/messages", { ...asked, messages: [{ role: "user", content: "Add 1 and 1." }] })
        const { id } = first.content.find(({ type }: Body) => type === "tool_use")
        const result = { type: "tool_result", tool_use_id: id, content: "2" }
        const second = await post("/messages", {
          max_tokens: 500,
          messages: [{ role: "user", content: [result] }],
          thread: { type: "continue", previous_message_id: first.id }
        })
        return second.content[0].text === "It is 2." ? 1 : 0
      }),
      goesOn
    ))

  it.effect("only ids that it has issued", () =>
    Effect.gen(function*() {
      yield* played(async (post) => {
        const first = await post("/responses", { input: "Add 1 and 1.", tools: [add] })
        const unknown = await post("/responses", { input: "And?", previous_response_id: "resp_other" })
        assert.strictEqual(unknown["error"].code, "previous_response_not_found")
        const reference = await post("/responses", { input: [{ type: "item_reference", id: "msg_other" }] })
        assert.match(reference["error"].message, /input has a reference to "msg_other", expected the item itself/)
        const second = await post("/responses", { input: [resultOf(first.output)], previous_response_id: first.id })
        return second.status === "completed" ? 1 : 0
      })
    }))
})
