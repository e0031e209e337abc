/** How each dialect treats request fields. */
import { FieldTable } from "@effect-rl/agent"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import * as Service from "./Service.ts"

const { chat, messages, responses } = Service
const hello = Service.saying("Hello<|im_end|>")

interface Endpoint {
  readonly kind: FieldTable.Kind
  readonly path: string
  /** A minimal request in which each list on a field's path has an element. */
  readonly least: Readonly<Record<string, unknown>>
}

const parameters = { type: "object" }

const endpoints: ReadonlyArray<Endpoint> = [
  {
    kind: "chat completions",
    path: chat.path,
    least: {
      messages: [{ role: "user", content: [{ type: "text", text: "Hi" }] }],
      tools: [chat.tool("add", parameters)]
    }
  },
  { kind: "completions", path: "/completions", least: { prompt: "Hi" } },
  {
    kind: "responses",
    path: responses.path,
    least: {
      input: [{ type: "reasoning", summary: [], content: [] }, { role: "user", content: "Hi" }],
      tools: [responses.tool("add", parameters)]
    }
  },
  {
    kind: "messages",
    path: messages.path,
    least: {
      max_tokens: 100,
      system: [{ type: "text", text: "Be brief." }],
      messages: [{
        role: "user",
        content: [{ type: "tool_result", tool_use_id: "a", content: [{ type: "text", text: "Done" }] }]
      }],
      thinking: { type: "adaptive" },
      tools: [messages.tool("add", parameters)]
    }
  }
]

/** The value with a field at a path, in the first element of each list. */
const withField = (value: unknown, [step = "", ...rest]: ReadonlyArray<string>, field: unknown): unknown => {
  if (step === "[]") {
    const [first, ...others] = value as ReadonlyArray<unknown>
    return [withField(first, rest, field), ...others]
  }
  const object = value as Readonly<Record<string, unknown>>
  return { ...object, [step]: rest.length === 0 ? field : withField(object[step] ?? {}, rest, field) }
}

const asking = ({ least }: Endpoint, path: string, field: unknown) =>
  withField(least, path.split(/\.|(?=\[\])/), field) as object

const odd = { odd: ["shape"] }

const rowsOf = (kind: FieldTable.Kind, treatment: FieldTable.Treatment) =>
  FieldTable.rows.filter((row) => row.kinds.includes(kind) && row.treatment === treatment)

const warningsOf = ({ path }: Endpoint, body: Service.Body): ReadonlyArray<string> =>
  (path === chat.path || path === "/completions" ? body["choices"][0].warnings : body["warnings"]) ?? []

for (const endpoint of endpoints) {
  const { kind, path } = endpoint

  describe(`fields of ${kind}`, () => {
    it.effect("without effect are accepted and noted, whatever their value", () =>
      Effect.gen(function*() {
        const { notes, post } = yield* Service.make({ sample: hello })
        for (const row of rowsOf(kind, "no effect")) {
          const { status, text } = yield* post(path, asking(endpoint, row.path, odd))
          assert.strictEqual(status, 200, `${row.path}: ${text}`)
          assert.deepInclude(notes.at(-1), { kind: "no effect", field: row.path })
          assert.deepStrictEqual(warningsOf(endpoint, JSON.parse(text)), [])
        }
      }))

    it.effect("whose effect is unavailable are refused by name, or dropped with a warning", () =>
      Effect.gen(function*() {
        const strict = yield* Service.make({ sample: hello })
        const lenient = yield* Service.make({ sample: hello, isLenient: true })
        for (const row of rowsOf(kind, "not given")) {
          const body = asking(endpoint, row.path, odd)
          const refused = yield* strict.post(path, body)
          assert.strictEqual(refused.status, 422, row.path)
          assert.include(refused.body["error"].message, `${row.path} is {"odd":["shape"]}, expected none`)
          const given = yield* lenient.post(path, body)
          assert.strictEqual(given.status, 200, `${row.path}: ${given.text}`)
          assert.include(warningsOf(endpoint, given.body).join(), row.path)
          assert.deepInclude(lenient.notes.at(-1), { kind: "not given", field: row.path })
        }
      }))

    it.effect("with their default value are accepted silently", () =>
      Effect.gen(function*() {
        const { notes, post } = yield* Service.make({ sample: hello })
        for (const { path: field, usual } of FieldTable.rows.filter(({ kinds }) => kinds.includes(kind))) {
          for (const value of usual) {
            assert.strictEqual((yield* post(path, asking(endpoint, field, value))).status, 200, field)
          }
        }
        assert.deepStrictEqual(notes, [])
      }))

    it.effect("without which a request has another meaning are refused for all callers", () =>
      Effect.gen(function*() {
        for (const isLenient of [false, true]) {
          const { post } = yield* Service.make({ sample: hello, isLenient })
          for (const row of rowsOf(kind, "refused")) {
            const { body, status } = yield* post(path, asking(endpoint, row.path, odd))
            assert.strictEqual(status, 422, row.path)
            assert.include(body["error"].message, row.because)
          }
        }
      }))

    it.effect("that are unknown are refused by name, or dropped with a warning, even when nested", () =>
      Effect.gen(function*() {
        const strict = yield* Service.make({ sample: hello })
        const lenient = yield* Service.make({ sample: hello, isLenient: true })
        for (const field of path === "/completions" ? ["temprature"] : ["temprature", "tools[].colour"]) {
          const body = asking(endpoint, field, 1)
          const refused = yield* strict.post(path, body)
          assert.strictEqual(refused.status, 422)
          const name = field.replace("tools[].", "")
          assert.include(refused.body["error"].message, name)
          const given = yield* lenient.post(path, body)
          assert.strictEqual(given.status, 200, given.text)
          assert.include(warningsOf(endpoint, given.body).join(), name)
        }
      }))
  })
}

describe("an agent's request", () => {
  /** The fields of a coding agent's first request. */
  const coding = {
    max_tokens: 100,
    thinking: { type: "adaptive" },
    context_management: { edits: [{ type: "clear_thinking_20251015", keep: "all" }] },
    output_config: { effort: "medium" },
    metadata: { user_id: "user_1" },
    system: [{ type: "text", text: "You code.", cache_control: { type: "ephemeral" } }],
    messages: [
      { role: "user", content: [{ type: "text", text: "Fix it.", cache_control: { type: "ephemeral", ttl: "1h" } }] },
      { role: "system", content: "The folder is empty." }
    ],
    tools: [{
      ...messages.tool("Bash", parameters),
      eager_input_streaming: true,
      cache_control: { type: "ephemeral" }
    }]
  }

  it.effect("is answered unchanged, including a system message in the middle, and its ignored fields are noted", () =>
    Effect.gen(function*() {
      const prompts: Array<string> = []
      const { notes, post } = yield* Service.make({
        isLenient: true,
        sample: (request, at) => {
          prompts.push(Service.shown(request.prompt))
          return hello(request, at)
        }
      })
      const { body, status } = yield* post(messages.path, coding)
      assert.strictEqual(status, 200)
      assert.match(
        prompts[0] ?? "",
        /user\nFix it\.<\|im_end\|>\n<\|im_start\|>system\nThe folder is empty\.<\|im_end\|>/
      )
      assert.deepStrictEqual(notes.map(({ field, kind }) => [kind, field]), [
        ["no effect", "metadata"],
        ["no effect", "system[].cache_control"],
        ["no effect", "tools[].cache_control"],
        ["no effect", "messages[].content[].cache_control"],
        ["no effect", "tools[].eager_input_streaming"],
        ["no effect", "context_management"],
        ["not given", "output_config.effort"]
      ])
      assert.lengthOf(body["warnings"], 1)
    }))

  it.effect("with server-side tools is refused, or answered without them", () =>
    Effect.gen(function*() {
      const foreign = [
        [chat, { type: "custom", custom: { name: "patch" } }, `"function"`],
        [responses, { type: "web_search" }, `"function" or "custom" or "namespace"`],
        [messages, { type: "web_search_20250305", name: "web_search" }, `"custom"`]
      ] as const
      for (const [dialect, tool, own] of foreign) {
        const body = { ...dialect.conversation, tools: [dialect.tool("add", parameters), tool] }
        const strict = yield* Service.make({ sample: hello })
        const refused = yield* strict.post(dialect.path, body)
        assert.strictEqual(refused.status, 422)
        const detail = `tools[1].type is "${tool.type}", expected ${own}: this server runs no tools`
        assert.strictEqual(dialect.message(refused.body), detail)
        const lenient = yield* Service.make({ sample: hello, isLenient: true })
        const given = yield* lenient.post(dialect.path, body)
        assert.deepStrictEqual(dialect.warnings(given.body), [detail])
      }
    }))
})

describe("the guide", () => {
  it("contains the current field table", () => {
    const page = readFileSync(new URL("../../../../docs/dialects.md", import.meta.url), "utf8")
    const absent = FieldTable.markdown().split("\n").filter((line) => !page.includes(line))
    assert.deepStrictEqual(absent, [])
  })
})
