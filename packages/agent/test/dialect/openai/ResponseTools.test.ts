/** Responses API tools other than functions: custom tools with text input, and namespaces. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Service from "../Service.ts"

const patch = "*** Begin Patch\n*** Add File: out.txt\n+heron\n*** End Patch"
const grammar = { type: "grammar", syntax: "lark", definition: "start: begin_patch hunk+ end_patch" }
const parameters = { type: "object", properties: { task: { type: "string" } } }
const tools = [
  { type: "custom", name: "apply_patch", description: "Edits files.", format: grammar },
  { type: "namespace", name: "agents", description: "", tools: [Service.responses.tool("spawn", parameters)] }
]

const callOf = (name: string, input: object) =>
  `<tool_call>\n${JSON.stringify({ name, arguments: input })}\n</tool_call>`
const both = `${callOf("apply_patch", { input: patch })}${callOf("agents__spawn", { task: "Test it." })}<|im_end|>`

const asked = { input: "Write heron.", tools }

/** A service, and the prompts that it rendered. */
const opened = Effect.fnUntraced(function*(said: string, isLenient = true) {
  const prompts: Array<string> = []
  const service = yield* Service.make({
    isLenient,
    sample: (request, at) => {
      prompts.push(Service.shown(request.prompt))
      return Service.saying(said)(request, at)
    }
  })
  return { ...service, prompts }
})

const patched = { type: "custom_tool_call", name: "apply_patch", input: patch }
const spawned = { type: "function_call", name: "spawn", namespace: "agents", arguments: "{\"task\": \"Test it.\"}" }

describe("calls to custom and namespaced tools", () => {
  it.effect("arrive in the form that the client expects: with a custom tool's text, or with the namespace", () =>
    Effect.gen(function*() {
      const { post } = yield* opened(both)
      const { output } = (yield* post("/responses", asked)).body
      assert.deepInclude(output[0], patched)
      assert.deepInclude(output[1], spawned)
      assert.match(output[0].call_id, /^call_/)
    }))

  it.effect("are streamed with the events for their kind", () =>
    Effect.gen(function*() {
      const { post } = yield* opened(both)
      const events = Service.events(yield* post("/responses", { ...asked, stream: true }))
      const input = events.filter(({ type }) => type.startsWith("response.custom_tool_call_input"))
      assert.deepStrictEqual(input.map(({ delta, input, type }) => [type, delta ?? input]), [
        ["response.custom_tool_call_input.delta", patch],
        ["response.custom_tool_call_input.done", patch]
      ])
      const done = events.filter(({ type }) => type === "response.output_item.done").map(({ item }) => item)
      assert.deepInclude(done[0], patched)
      assert.deepInclude(done[1], spawned)
      assert.deepStrictEqual(events.at(-1)?.["response"].output, done)
    }))

  it.effect("are rendered as the model wrote them when the client sends them back", () =>
    Effect.gen(function*() {
      const { post, prompts } = yield* opened("Done.<|im_end|>")
      const calls = [{ ...patched, call_id: "call_1" }, { ...spawned, call_id: "call_2" }]
      const results = [
        { type: "custom_tool_call_output", call_id: "call_1", output: "Success." },
        { type: "function_call_output", call_id: "call_2", output: [{ type: "input_text", text: "Spawned." }] }
      ]
      const input = [{ role: "user", content: "Write heron." }, ...calls, ...results]
      const { status, text } = yield* post("/responses", { ...asked, input })
      assert.strictEqual(status, 200, text)
      assert.include(prompts[0], `"name": "apply_patch", "arguments": {"input": ${JSON.stringify(patch)}}`)
      assert.include(prompts[0], `"name": "agents__spawn", "arguments": {"task": "Test it."}`)
      assert.include(prompts[0], "Success.")
    }))

  it.effect("are not constrained by the client's grammar: the request is refused, or answered with a warning", () =>
    Effect.gen(function*() {
      const lenient = yield* opened(both)
      const { warnings } = (yield* lenient.post("/responses", asked)).body
      const detail =
        `tools[].format has the type "grammar", expected "text": no call is constrained by a client's grammar here`
      assert.deepStrictEqual(warnings, [detail])
      assert.include(lenient.prompts[0], grammar.definition)
      const strict = yield* opened(both, false)
      const refused = yield* strict.post("/responses", asked)
      assert.strictEqual(refused.status, 422)
      assert.strictEqual(refused.body["error"].message, detail)
    }))
})
