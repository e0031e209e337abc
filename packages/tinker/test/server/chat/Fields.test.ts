import { FieldTable } from "@effect-rl/agent"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import * as Api from "../Api.ts"
import * as Chat from "./Chat.ts"

/** The endpoints, and the fields that official clients can send to them. */
const endpoints = readFileSync(new URL("../../fixtures/chat-fields.txt", import.meta.url), "utf8")
  .split("\n")
  .filter((line) => line.startsWith("/"))
  .map((line) => line.split(" "))

const messages = [{ role: "user", content: "Hi" }]

const least: Readonly<Record<string, object>> = {
  "/oai/api/v1/chat/completions": { model: Chat.model, messages },
  "/oai/api/v1/completions": { model: Chat.model, prompt: "Hi" },
  "/oai/api/v1/responses": { model: Chat.model, input: "Hi" },
  "/anthropic/api/v1/messages": { model: Chat.model, messages, max_tokens: 10 },
  "/anthropic/api/v1/messages/count_tokens": { model: Chat.model, messages }
}

/** A value that no field allows: a field that is read reports it, an unsupported field is refused, and a field without effect accepts it. */
const odd = { odd: ["shape"] }

const kinds: Readonly<Record<string, FieldTable.Kind>> = {
  "/oai/api/v1/chat/completions": "chat completions",
  "/oai/api/v1/completions": "completions",
  "/oai/api/v1/responses": "responses",
  "/anthropic/api/v1/messages": "messages",
  "/anthropic/api/v1/messages/count_tokens": "messages"
}

const hasNoEffect = (endpoint: string, field: string) =>
  FieldTable.rows.some(({ kinds: of, path, treatment }) =>
    treatment === "no effect" && path === field && of.some((kind) => kind === kinds[endpoint])
  )

describe("chat requests", () => {
  for (const [path = "", ...fields] of endpoints) {
    it.live(`${path}: each of the official client's fields is read, refused by name or listed as without effect`, () =>
      Effect.gen(function*() {
        const kept: Array<string> = []
        for (const field of fields) {
          const { body, status } = yield* Api.send(Chat.request(path, { ...least[path], [field]: odd }))
          const { message } = body["error"] as { readonly message: string } | undefined ?? { message: "" }
          const isExpected = status === 200 ? hasNoEffect(path, field) : status === 422 && message.includes(field)
          if (!isExpected) kept.push(`${field}: ${status} ${message}`)
          const { status: ofNull } = yield* Api.send(Chat.request(path, { [field]: null, ...least[path] }))
          if (ofNull !== 200) kept.push(`${field}: null is refused`)
        }
        assert.deepStrictEqual(kept, [])
      }).pipe(Effect.provide(Api.server({ script: Chat.answering("Hello<|im_end|>") }))))

    it.live(`${path}: a field that no client has is refused by name`, () =>
      Effect.gen(function*() {
        for (const field of ["temprature", "constructor", "__proto__"]) {
          const text = JSON.stringify(least[path]).replace(/}$/, `,${JSON.stringify(field)}:1}`)
          const { body, status } = yield* Api.send(Chat.requestText(path, text))
          assert.strictEqual(status, 422)
          assert.include((body["error"] as { readonly message: string }).message, `${field} is 1, expected none`)
        }
      }).pipe(Effect.provide(Api.server({ script: Chat.answering("Hello<|im_end|>") }))))
  }
})
