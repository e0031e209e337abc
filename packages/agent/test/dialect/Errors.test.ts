/** Refusals in each dialect's error format, from which agents decide how to react. */
import { Refusal } from "@effect-rl/agent"
import { TinkerError } from "@effect-rl/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Service from "./Service.ts"

const { chat, messages, responses } = Service
const hello = Service.saying("Hello<|im_end|>")

const long = "x".repeat(600)

const refusing = (refusal: Refusal.Refusal) => Service.make({ sample: hello, answerer: () => Effect.fail(refusal) })

describe("a prompt that does not fit", () => {
  it.effect("is reported with OpenAI's error code, to which agents react with a shorter prompt", () =>
    Effect.gen(function*() {
      const { post } = yield* Service.make({ sample: hello, contextLength: 512 })
      const asked = [
        [chat.path, { messages: [{ role: "user", content: long }] }],
        [responses.path, { input: long }],
        ["/completions", { prompt: long }]
      ] as const
      for (const [path, body] of asked) {
        const response = yield* post(path, body)
        assert.strictEqual(response.status, 400)
        const { code, message, type } = response.body["error"]
        assert.deepStrictEqual([type, code], ["invalid_request_error", "context_length_exceeded"])
        assert.match(
          message,
          /^the maximum context length is 512 tokens: the prompt has \d+ tokens, expected fewer than 512, the maximum context length of /
        )
      }
    }))

  it.effect("is reported in the wording of Anthropic's error, with both token counts", () =>
    Effect.gen(function*() {
      const { post } = yield* Service.make({ sample: hello, contextLength: 512 })
      const conversation = { max_tokens: 10, messages: [{ role: "user", content: long }] }
      const counted = yield* post("/messages/count_tokens", { messages: conversation.messages })
      const tokens = counted.body["input_tokens"]
      const { body, status } = yield* post(messages.path, conversation)
      assert.strictEqual(status, 400)
      assert.strictEqual(body["type"], "error")
      assert.strictEqual(body["error"].type, "invalid_request_error")
      assert.include(body["error"].message, `prompt is too long: ${tokens} tokens > 512 maximum`)
    }))
})

describe("an unknown thread id", () => {
  it.effect("is refused with an error code that makes Anthropic clients resend the whole conversation", () =>
    Effect.gen(function*() {
      const { post } = yield* Service.make({ sample: hello })
      const begun = yield* post(messages.path, { ...messages.conversation, thread: { type: "create" } })
      assert.strictEqual(begun.status, 200)
      const thread = { type: "continue", previous_message_id: begun.body["id"] }
      const { body, status } = yield* post(messages.path, { ...messages.conversation, thread })
      assert.strictEqual(status, 404)
      assert.strictEqual(body["error"].type, "not_found_error")
      assert.deepStrictEqual(body["error"].details, { error_code: "thread_not_found" })
    }))
})

describe("a busy service", () => {
  const limited = new TinkerError.RateLimited({ retryAfterMillis: 1500 })
  const down = new TinkerError.Unavailable({ detail: "restarting" })

  it.effect("reports a retry delay: 429 and 503 to OpenAI clients, 429 and 529 to Anthropic clients", () =>
    Effect.gen(function*() {
      const expected = [
        [limited, "2", chat, 429, "rate_limit_error"],
        [limited, "2", messages, 429, "rate_limit_error"],
        [down, "5", chat, 503, "server_error"],
        [down, "5", messages, 529, "overloaded_error"]
      ] as const
      for (const [reason, seconds, dialect, status, type] of expected) {
        const { post } = yield* Service.make({ sample: () => Effect.fail(reason) })
        const response = yield* post(dialect.path, dialect.conversation)
        assert.strictEqual(response.status, status)
        assert.strictEqual(response.headers.get("retry-after"), seconds)
        assert.strictEqual(response.body["error"].type, type)
        if (dialect === chat && status === 503) {
          assert.match(dialect.message(response.body), /^the service is overloaded: /)
        }
      }
    }))

  it.effect("ends a started stream with an error event", () =>
    Effect.gen(function*() {
      const { post } = yield* Service.make({ sample: () => Effect.fail(down) })
      const errors = [
        [chat, ({ error }: Service.Body) => error?.code],
        [responses, ({ response }: Service.Body) => response?.error?.code],
        [messages, ({ error }: Service.Body) => error?.type]
      ] as const
      for (const [dialect, code] of errors) {
        const response = yield* post(dialect.path, { ...dialect.conversation, stream: true })
        assert.strictEqual(response.status, 200)
        const last = Service.events(response).at(-1) ?? {}
        assert.include(["server_overloaded", "overloaded_error"], code(last))
      }
    }))
})

describe("a caller that is not admitted", () => {
  it.effect("is told that its session has ended", () =>
    Effect.gen(function*() {
      const { post } = yield* refusing(Refusal.ended("the session is over"))
      const openAi = yield* post(chat.path, chat.conversation)
      assert.strictEqual(openAi.status, 410)
      assert.deepInclude(openAi.body["error"], { message: "the session is over", code: "session_ended" })
      const anthropic = yield* post(messages.path, messages.conversation)
      assert.strictEqual(anthropic.status, 410)
      assert.strictEqual(anthropic.body["error"].type, "not_found_error")
    }))

  it.effect("is told that its key is unknown, before its body is read", () =>
    Effect.gen(function*() {
      const { post } = yield* refusing(new Refusal.Refusal({ status: 401, detail: "no such key" }))
      for (const dialect of [chat, responses, messages]) {
        const { body, status } = yield* post(dialect.path, {})
        assert.strictEqual(status, 401)
        assert.strictEqual(body["error"].type, "authentication_error")
      }
    }))
})

describe("the model list", () => {
  it.effect("includes context lengths, in the format of the requesting client", () =>
    Effect.gen(function*() {
      const { get } = yield* Service.make({ sample: hello, contextLength: 2048 })
      const openAi = (yield* get("/models")).body
      assert.deepInclude(openAi["data"][0], { id: "policy", context_length: 2048, max_model_len: 2048 })
      const anthropic = (yield* get("/models", { "anthropic-version": "2023-06-01" })).body
      assert.deepInclude(anthropic["data"][0], { id: "policy", max_input_tokens: 2048 })
      assert.strictEqual((yield* get("/models/policy")).body["max_model_len"], 2048)
      const absent = yield* get("/models/other")
      assert.strictEqual(absent.status, 404)
      assert.strictEqual(absent.body["error"].type, "not_found_error")
    }))
})
