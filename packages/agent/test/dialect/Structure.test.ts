/** Requested structures: constrained by a grammar, refused by name, or checked and reported. */
import type { Sampling } from "@effect-rl/core/backend"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Service from "./Service.ts"

const schema = { type: "object", properties: { answer: { type: "integer" } }, required: ["answer"] }

/** How each dialect requests an answer with a schema, and the field that its refusal names. */
const formats = {
  chat: {
    field: "response_format",
    asked: { response_format: { type: "json_schema", json_schema: { name: "answer", schema, strict: true } } }
  },
  responses: {
    field: "text.format",
    asked: { text: { format: { type: "json_schema", name: "answer", schema } } }
  },
  messages: { field: "output_config.format", asked: { output_config: { format: { type: "json_schema", schema } } } }
}

/** How each dialect forces a call, of any tool and of a named one. */
const choices = {
  chat: { any: "required", one: { type: "function", function: { name: "add" } } },
  responses: { any: "required", one: { type: "function", name: "add" } },
  messages: { any: { type: "any" }, one: { type: "tool", name: "add" } }
}

/** How each dialect passes the schema. */
const asking = {
  chat: (schema: object) => ({ response_format: { type: "json_schema", json_schema: { name: "any", schema } } }),
  responses: (schema: object) => ({ text: { format: { type: "json_schema", name: "any", schema } } }),
  messages: (schema: object) => ({ output_config: { format: { type: "json_schema", schema } } })
}

const calling = (name: string, given: string) =>
  Service.saying(`<tool_call>\n{"name": "${name}", "arguments": ${given}}\n</tool_call><|im_end|>`)

for (const [name, dialect] of Object.entries(Service.dialects)) {
  const key = name as keyof typeof formats
  const { asked, field } = formats[key]
  const body = (more: object) => ({ ...dialect.conversation, ...more })
  const tools = ["add", "mul"].map((tool) => dialect.tool(tool, schema))
  const named = (tool: string) =>
    key === "chat" ? { type: "function", function: { name: tool } } : { type: "function", name: tool }

  describe(`structured output of ${name}`, () => {
    it.effect("becomes the request's grammar if the backend supports grammars, whole and streamed", () =>
      Effect.gen(function*() {
        const requests: Array<Sampling.SampleRequest> = []
        const { notes, post } = yield* Service.make({
          hasGrammars: true,
          sample: (request, context) => {
            requests.push(request)
            return Service.saying("{\"answer\": 4}<|im_end|>")(request, context)
          }
        })
        const whole = yield* post(dialect.path, body(asked))
        assert.strictEqual(dialect.texts(whole.body), "{\"answer\": 4}")
        assert.strictEqual((yield* post(dialect.path, body({ ...asked, stream: true }))).status, 200)
        assert.deepStrictEqual(requests.map(({ grammar }) => grammar), [{ jsonSchema: schema }, { jsonSchema: schema }])
        assert.deepStrictEqual([notes, dialect.warnings(whole.body)], [[], []])
      }))

    it.effect("is refused with the reason if no grammar can express it, or checked for a lenient caller", () =>
      Effect.gen(function*() {
        const sample = Service.saying("{\"answer\": \"four\"}<|im_end|>")
        const { post } = yield* Service.make({ hasGrammars: true, sample })
        const beginning = key === "responses" ? "input" : "messages"
        const refused = [
          [asking[key]({ type: "string", minLength: 2 }), "minLength is 2, which no grammar can enforce"],
          [{ ...asked, tools }, "a grammar leaves no way to call a tool"],
          [
            { ...asked, [beginning]: [{ role: "user", content: "Hi" }, { role: "assistant", content: "So" }] },
            "a reply that a grammar constrains cannot be prefilled"
          ]
        ] as const
        for (const [more, because] of refused) {
          const response = yield* post(dialect.path, body(more))
          assert.strictEqual(response.status, 422)
          assert.include(dialect.message(response.body), field)
          assert.include(dialect.message(response.body), because)
        }
        const lenient = yield* Service.make({ hasGrammars: true, isLenient: true, sample })
        const warnings = dialect.warnings((yield* lenient.post(dialect.path, body({ ...asked, tools }))).body)
        assert.include(warnings[0], "a grammar leaves no way to call a tool")
        assert.include(warnings[1], "[\"answer\"]")
      }))

    it.effect("is refused by a renderer whose replies begin with reasoning", () =>
      Effect.gen(function*() {
        const sample = Service.saying("{}<|im_end|>")
        const { post } = yield* Service.make({ base: "Qwen/Qwen3.5-4B", hasGrammars: true, sample })
        const response = yield* post(dialect.path, body(asked))
        assert.strictEqual(response.status, 422)
        assert.include(dialect.message(response.body), "treats the beginning of a reply as reasoning")
      }))

    it.effect("is refused with the name of its field", () =>
      Effect.gen(function*() {
        const { post } = yield* Service.make({ sample: Service.saying("{\"answer\": 4}<|im_end|>") })
        const refused = [
          [field, asked],
          ["tool_choice", { tools, tool_choice: choices[key].any }],
          ["tool_choice", { tools, tool_choice: choices[key].one }],
          ["strict", { tools: [dialect.tool("add", schema, { strict: true })] }]
        ] as const
        for (const [named, more] of refused) {
          const response = yield* post(dialect.path, body(more))
          assert.strictEqual(response.status, 422)
          assert.include(dialect.message(response.body), named)
          assert.match(dialect.message(response.body), /the backend has no grammars/)
        }
      }))

    it.effect("is not enforced for a lenient caller, who is warned about an answer that violates it, whole and streamed", () =>
      Effect.gen(function*() {
        for (
          const [said, problem] of [
            ["{\"answer\": 4}", undefined],
            ["4 of course", "the answer is not JSON"],
            ["{\"answer\": \"four\"}", "[\"answer\"]"]
          ] as const
        ) {
          const { notes, post } = yield* Service.make({ isLenient: true, sample: Service.saying(`${said}<|im_end|>`) })
          const whole = dialect.warnings((yield* post(dialect.path, body(asked))).body)
          const events = Service.events(yield* post(dialect.path, body({ ...asked, stream: true })))
          assert.deepStrictEqual(dialect.streamedWarnings(events), whole)
          assert.include(whole[0], `${field} has the type "json_schema", expected "text"`)
          assert.lengthOf(whole, problem === undefined ? 1 : 2)
          if (problem !== undefined) assert.include(whole[1], problem)
          const broken = notes.filter(({ kind }) => kind === "not kept").map((note) => note.field)
          assert.deepStrictEqual(broken, problem === undefined ? [] : [field, field])
        }
      }))

    it.effect("becomes a grammar of calls if a call is forced or tools are strict, whole and streamed", () =>
      Effect.gen(function*() {
        const asked: Array<Sampling.SampleRequest> = []
        const { notes, post } = yield* Service.make({
          hasGrammars: true,
          sample: (request, context) => {
            asked.push(request)
            return calling("add", "{\"answer\": 4}")(request, context)
          }
        })
        const strict = [dialect.tool("add", schema, { strict: true }), dialect.tool("mul", { type: "object" })]
        const one = key === "messages"
          ? { tool_choice: { type: "any", disable_parallel_tool_use: true } }
          : { tool_choice: "required", parallel_tool_calls: false }
        const requests = [
          { tools, tool_choice: choices[key].any },
          { tools, ...one },
          { tools, tool_choice: choices[key].one },
          { tools: strict },
          { tools: strict, stream: true },
          { tools }
        ]
        for (const more of requests) {
          const response = yield* post(dialect.path, body(more))
          assert.strictEqual(response.status, 200)
          const called = response.text.startsWith("{")
            ? dialect.calls(response.body)
            : dialect.streamedCalls(Service.events(response))
          assert.deepStrictEqual(called, ["add"])
        }
        const shapes = asked.map(({ grammar }) =>
          grammar === undefined ? undefined : {
            tools: JSON.stringify(grammar.jsonSchema).match(/"const":"\w+"/g)?.length,
            isMany: grammar.calls?.between === "\n",
            hasText: grammar.calls?.hasText
          }
        )
        assert.deepStrictEqual(shapes, [
          { tools: 2, isMany: true, hasText: false },
          { tools: 2, isMany: false, hasText: false },
          { tools: 1, isMany: false, hasText: false },
          { tools: 2, isMany: true, hasText: true },
          { tools: 2, isMany: true, hasText: true },
          undefined
        ])
        assert.deepStrictEqual(notes, [])
      }))

    it.effect("for calls is refused with the reason if no grammar can express it", () =>
      Effect.gen(function*() {
        const sample = Service.saying("{}<|im_end|>")
        const long = { type: "object", properties: { answer: { type: "string", minLength: 2 } } }
        const refused = [
          [
            Service.instruct,
            { tools, tool_choice: key === "messages" ? { type: "tool", name: "div" } : named("div") },
            "the tools are add, mul"
          ],
          [
            Service.instruct,
            { tools: [dialect.tool("add", long, { strict: true })] },
            "add: properties.answer.minLength is 2"
          ],
          ["Qwen/Qwen3.5-4B", { tools, tool_choice: choices[key].any }, "in a form that no grammar can enforce"]
        ] as const
        for (const [base, more, because] of refused) {
          const { post } = yield* Service.make({ base, hasGrammars: true, sample })
          const response = yield* post(dialect.path, body(more))
          assert.strictEqual(response.status, 422)
          assert.include(dialect.message(response.body), because)
        }
        const { notes, post } = yield* Service.make({ hasGrammars: true, sample })
        const loose = { tools: [dialect.tool("add", long)], tool_choice: choices[key].any }
        assert.deepStrictEqual([(yield* post(dialect.path, body(loose))).status, notes], [200, []])
      }))

    it.effect("is checked in the calls of an answer", () =>
      Effect.gen(function*() {
        const warningsOf = Effect.fnUntraced(
          function*(sample: typeof Service.saying extends (_: string) => infer A ? A : never, more: object) {
            const { post } = yield* Service.make({ isLenient: true, sample })
            return dialect.warnings((yield* post(dialect.path, body(more))).body).slice(1)
          }
        )
        const any = { tools, tool_choice: choices[key].any }
        const one = { tools, tool_choice: choices[key].one }
        const strict = { tools: [dialect.tool("add", schema, { strict: true })] }
        assert.deepStrictEqual(yield* warningsOf(calling("mul", "{}"), any), [])
        assert.deepStrictEqual(yield* warningsOf(Service.saying("No.<|im_end|>"), any), [
          "tool_choice: the answer calls no tool"
        ])
        assert.deepStrictEqual(yield* warningsOf(calling("mul", "{}"), one), [
          "tool_choice: the answer calls mul, expected add"
        ])
        assert.deepStrictEqual(yield* warningsOf(calling("add", "{\"answer\": 4}"), strict), [])
        const [broken = ""] = yield* warningsOf(calling("add", "{\"answer\": true}"), strict)
        assert.match(broken, /strict of add: .*\["answer"\]/s)
      }))
  })
}
