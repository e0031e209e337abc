/** Chat requests that are cheap to send but expensive to answer, or that make no sense. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Api from "../Api.ts"
import * as Chat from "./Chat.ts"

const { model } = Chat
const text = (content: string) => [{ role: "user", content }]

interface Endpoint {
  readonly path: string
  /** A request that says so. */
  readonly saying: (content: string) => object
  /** A conversation with this number of texts. */
  readonly talking?: (count: number) => object
  /** Fields that are numbers. */
  readonly numbers: ReadonlyArray<string>
}

const many = (count: number) => Array.from({ length: count }, () => text("x")).flat()

const openAi = ["temperature", "top_p"]
const ofCompletions = [...openAi, "n", "max_tokens", "top_k", "seed", "presence_penalty", "frequency_penalty"]

const endpoints: ReadonlyArray<Endpoint> = [
  {
    path: "/oai/api/v1/chat/completions",
    saying: (content) => ({ model, messages: text(content) }),
    talking: (count) => ({ model, messages: many(count) }),
    numbers: [...ofCompletions, "max_completion_tokens", "top_logprobs"]
  },
  {
    path: "/oai/api/v1/completions",
    saying: (prompt) => ({ model, prompt }),
    numbers: [...ofCompletions, "best_of", "logprobs"]
  },
  {
    path: "/oai/api/v1/responses",
    saying: (input) => ({ model, input }),
    talking: (count) => ({ model, input: many(count) }),
    numbers: [...openAi, "max_output_tokens", "top_logprobs"]
  },
  {
    path: "/anthropic/api/v1/messages",
    saying: (content) => ({ model, max_tokens: 10, messages: text(content) }),
    talking: (count) => ({ model, max_tokens: 10, messages: many(count) }),
    numbers: [...openAi, "max_tokens", "top_k"]
  },
  {
    path: "/anthropic/api/v1/messages/count_tokens",
    saying: (content) => ({ model, messages: text(content) }),
    talking: (count) => ({ model, messages: many(count) }),
    numbers: []
  }
]

/** JSON values to try in a field. */
const values = ["-1", "0.5", "1e308", "-1e308", "1e999", "9007199254740991", "9".repeat(30), "\"NaN\"", "{}", "[[]]"]

/** The request with an additional field, which replaces one with the same name. */
const withField = (request: object, field: string, value: string) =>
  `${JSON.stringify(request).slice(0, -1)},${JSON.stringify(field)}:${value}}`

const nested = (levels: number) => "[".repeat(levels) + "]".repeat(levels)

const ask = (path: string, text: string) =>
  Effect.map(Api.send(Chat.requestText(path, text)), ({ body, status }) => {
    const error = body["error"] as { readonly message: string } | undefined
    return { status, message: error?.message ?? "" }
  })

const server = Effect.provide(Api.server({ script: Chat.answering("Hello<|im_end|>") }))

describe("a request of a chat client", () => {
  for (const { numbers, path, saying } of endpoints.filter(({ numbers }) => numbers.length > 0)) {
    it.live(`to ${path}: extreme numbers and other nonsense for a number are answered, or refused by the name of the field`, () =>
      Effect.gen(function*() {
        for (const field of numbers) {
          for (const value of values) {
            const { message, status } = yield* ask(path, withField(saying("Hi"), field, value))
            assert.include([200, 400, 422], status, `${field} is ${value}: ${message}`)
            if (status !== 200) assert.include(message.toLowerCase().replaceAll("_", ""), field.replaceAll("_", ""))
          }
        }
      }).pipe(server))
  }

  for (const { path, saying, talking } of endpoints) {
    it.live(`to ${path}: an unknown field is refused by name, and a value that is nested too deeply by its depth`, () =>
      Effect.gen(function*() {
        const large = yield* ask(path, withField(saying("Hi"), "odd", `{"a":[${"9".repeat(30)}]}`))
        assert.strictEqual(large.status, 422)
        assert.include(large.message, "odd is {\"a\":[1e+30]}, expected none")
        for (const field of ["odd", "tools", "model"]) {
          const { message, status } = yield* ask(path, withField(saying("Hi"), field, nested(100_000)))
          assert.strictEqual(status, 422)
          assert.include(message, "more than 200 arrays and objects within each other")
        }
      }).pipe(server))

    it.live(`to ${path}: a text that cannot fit into the context is refused by its length, before it is decoded`, () =>
      Effect.gen(function*() {
        const long = yield* ask(path, JSON.stringify(saying("x".repeat(3_000_000))))
        assert.strictEqual(long.status, 400)
        assert.match(long.message, /: 30000\d\d characters, expected at most 131072 for the 4096 tokens of Qwen/)
        if (talking === undefined) return
        const often = yield* ask(path, JSON.stringify(talking(20_000)).replace(/.{2}$/, ",7]}"))
        assert.strictEqual(often.status, 400)
        assert.match(often.message, /the body: \d+ characters, expected at most 131072/)
      }).pipe(server))
  }

  it.live("with twelve thousand consecutive tool calls is refused by its length", () =>
    Effect.gen(function*() {
      const call = { type: "function_call", call_id: "a", name: "add", arguments: "{}" }
      const input = Array.from({ length: 12_000 }, () => call)
      const { message, status } = yield* ask("/oai/api/v1/responses", JSON.stringify({ model, input }))
      assert.strictEqual(status, 400)
      assert.include(message, "characters, expected at most 131072")
    }).pipe(server))

  it.live("has at most thirty thousand messages, parts and tools", () =>
    Effect.gen(function*() {
      const { message, status } = yield* ask(
        "/oai/api/v1/chat/completions",
        JSON.stringify({ model, messages: many(30_000) })
      )
      assert.strictEqual(status, 422)
      assert.include(message, "more than 30000 arrays and objects")
    }).pipe(server))

  it.live("has at most three hundred thousand values, sixty thousand object keys, and ten megabytes", () =>
    Effect.gen(function*() {
      const names = Object.fromEntries(Array.from({ length: 60_001 }, (_, index) => [`k${index}`, "v"]))
      const tokens = Array.from({ length: 300_002 }, () => 5)
      const bodies: ReadonlyArray<readonly [path: string, body: object, message: string]> = [
        ["/oai/api/v1/responses", { model, input: "Hi", metadata: names }, "more than 60000 names within objects"],
        ["/oai/api/v1/chat/completions", { ...names, model }, "more than 60000 names within objects"],
        ["/oai/api/v1/completions", { model, prompt: tokens }, "more than 300000 values"]
      ]
      for (const [path, body, expected] of bodies) {
        const { message, status } = yield* ask(path, JSON.stringify(body))
        assert.strictEqual(status, 422)
        assert.include(message, expected)
      }
      const large = yield* ask("/oai/api/v1/completions", JSON.stringify({ model, prompt: "x".repeat(10 * 2 ** 20) }))
      assert.strictEqual(large.status, 413)
    }).pipe(server))

  it.live("may only have token ids of 32 bits", () =>
    Effect.gen(function*() {
      for (const token of [-1, 2 ** 31, 2 ** 32 + 5, 2 ** 53]) {
        const { message, status } = yield* ask(
          "/oai/api/v1/completions",
          JSON.stringify({ model, prompt: [1, token] })
        )
        assert.strictEqual(status, 422)
        assert.include(message, "prompt")
      }
    }).pipe(server))
})
