/** References of chat clients to earlier messages, on a server with several tenants. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Api from "../Api.ts"
import * as Chat from "./Chat.ts"

/** A model that repeats the last user message and reports the number of messages. */
const server = Effect.provide(
  Api.server({
    script: {
      models: { [Chat.model]: { contextLength: 65_536 } },
      sample: (request) => {
        const turns = Chat.shown(request).split("<|im_start|>user\n").slice(1).map((text) =>
          text.split("<|im_end|>")[0]
        )
        return Chat.saying(`${turns.join(" and ")}<|im_end|>`)(request)
      }
    },
    apiKeys: Api.keys("ann=tml-ann,bob=tml-bob")
  })
)

const send = (path: string, key: string) => (body: object) =>
  Api.send(Chat.request(path, { model: Chat.model, ...body }, { authorization: `Bearer ${key}` }))

const respond = (key: string) => send("/oai/api/v1/responses", key)
const talk = (key: string) => send("/anthropic/api/v1/messages", key)

const user = (content: string) => ({ messages: [{ role: "user", content }], max_tokens: 100 })

describe("a server stores for each tenant", () => {
  it.effect("responses, which later ones continue by id", () =>
    Effect.gen(function*() {
      const first = yield* respond("tml-ann")({ input: "one" })
      const second = yield* respond("tml-ann")({ input: "two", previous_response_id: first.body["id"] })
      const third = yield* respond("tml-ann")({ input: "three", previous_response_id: second.body["id"] })
      assert.include(JSON.stringify(third.body["output"]), "\"one and two and three\"")
    }).pipe(server))

  it.effect("message threads", () =>
    Effect.gen(function*() {
      const first = yield* talk("tml-ann")({ ...user("one"), thread: { type: "create" } })
      const thread = { type: "continue", previous_message_id: first.body["id"] }
      const second = yield* talk("tml-ann")({ ...user("two"), thread })
      assert.deepStrictEqual(second.body["content"], [{ type: "text", text: "one and two" }])
    }).pipe(server))

  it.effect("responses and threads, and shows them to no other tenant", () =>
    Effect.gen(function*() {
      const response = yield* respond("tml-ann")({ input: "a secret" })
      const id = response.body["id"]
      const taken = yield* respond("tml-bob")({ input: "And?", previous_response_id: id })
      assert.strictEqual(taken.status, 400)
      assert.include(JSON.stringify(taken.body), "previous_response_not_found")
      const [item] = response.body["output"] as ReadonlyArray<Api.Body>
      const referred = yield* respond("tml-bob")({ input: [{ type: "item_reference", id: item?.["id"] }] })
      assert.strictEqual(referred.status, 422)
      const message = yield* talk("tml-ann")({ ...user("a secret"), thread: { type: "create" } })
      const thread = { type: "continue", previous_message_id: message.body["id"] }
      assert.strictEqual((yield* talk("tml-bob")({ ...user("And?"), thread })).status, 404)
    }).pipe(server))
})
