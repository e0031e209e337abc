/** Answers of a server with the engine, constrained by the schemas that chat clients request. */
import { ChatModel } from "@effect-rl/core"
import * as Engine from "@effect-rl/engine/Engine"
import * as TinkerServer from "@effect-rl/tinker/server/TinkerServer"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, FileSystem, Layer, Schema } from "effect"
import * as Sockets from "../../Sockets.ts"
import * as Api from "../Api.ts"
import * as Chat from "./Chat.ts"

const model = "effect-rl/tiny-64"

const server = Layer.unwrap(Effect.map(
  Effect.flatMap(FileSystem.FileSystem, (fs) => fs.makeTempDirectoryScoped()),
  (folder) =>
    TinkerServer.layer({ checkpoints: { folder, scheme: "engine" } }).pipe(
      Layer.provideMerge(Engine.layerOptions({ checkpoints: folder, workers: 0 }))
    )
)).pipe(Layer.provideMerge(Sockets.layerTest))

const schema = {
  type: "object",
  properties: { city: { enum: ["Oslo", "Rome"] }, days: { type: "array", items: { type: "boolean" }, maxItems: 2 } },
  required: ["city", "days"]
}

const Answer = Schema.Struct({
  city: Schema.Literals(["Oslo", "Rome"]),
  days: Schema.Array(Schema.Boolean).check(Schema.isMaxLength(2))
})

const messages = [{ role: "user", content: "Where to?" }]

/** How each dialect sends a request with or without a seed, and where its answer is. */
const dialects = {
  "chat completions": {
    path: "/oai/api/v1/chat/completions",
    body: { messages, response_format: { type: "json_schema", json_schema: { name: "trip", schema } } },
    text: (body: ReturnType<typeof JSON.parse>) => body.choices[0].message.content,
    delta: (event: ReturnType<typeof JSON.parse>) => event.choices?.[0]?.delta.content ?? ""
  },
  responses: {
    path: "/oai/api/v1/responses",
    body: { input: messages, text: { format: { type: "json_schema", name: "trip", schema } } },
    text: (body: ReturnType<typeof JSON.parse>) => body.output[0].content[0].text,
    delta: (event: ReturnType<typeof JSON.parse>) => event.type === "response.output_text.delta" ? event.delta : ""
  },
  messages: {
    path: "/anthropic/api/v1/messages",
    body: { messages, max_tokens: 200, output_config: { format: { type: "json_schema", schema } } },
    text: (body: ReturnType<typeof JSON.parse>) => body.content[0].text,
    delta: (event: ReturnType<typeof JSON.parse>) => event.delta?.text ?? ""
  }
}

const answerOf = (text: string): unknown => JSON.parse(text)

describe("a server with the engine", () => {
  layer(server)((it) => {
    for (const [name, { body, delta, path, text }] of Object.entries(dialects)) {
      it.effect(`holds answers of ${name} to their schema, whole and streamed`, () =>
        Effect.gen(function*() {
          for (let count = 0; count < 5; count++) {
            const whole = yield* Api.send(Chat.request(path, { model, ...body }))
            assert.strictEqual(whole.status, 200)
            assert.isTrue(Schema.is(Answer)(answerOf(text(whole.body))), text(whole.body))
            const events = yield* Chat.events(path, { model, ...body, stream: true })
            const parts = events.filter((event) => event.startsWith("{")).map((event) => delta(JSON.parse(event)))
            assert.isTrue(Schema.is(Answer)(answerOf(parts.join(""))), parts.join(""))
          }
        }))
    }

    it.effect("names a schema keyword that no grammar supports", () =>
      Effect.gen(function*() {
        const format = { type: "json_schema", json_schema: { name: "x", schema: { type: "string", pattern: "a" } } }
        const { path } = dialects["chat completions"]
        const { body, status } = yield* Api.send(Chat.request(path, { model, messages, response_format: format }))
        assert.strictEqual(status, 422)
        assert.include(JSON.stringify(body), "which no grammar can enforce")
      }))

    it.effect("offers grammars to chat clients, but not to clients of the Tinker API, which has no field for them", () =>
      Effect.gen(function*() {
        const { capabilities } = yield* ChatModel.resolve(model)
        assert.include(capabilities.sampling ?? [], "grammar")
        const { body } = yield* Api.get("/get_server_capabilities")
        assert.notInclude(JSON.stringify(body), "\"grammar\"")
        assert.include(JSON.stringify(body), "targetPromptLogprobs")
      }))
  })
})
