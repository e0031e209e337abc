import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, FileSystem, Layer } from "effect"
import { HttpClientRequest } from "effect/http"
import * as Api from "../Api.ts"
import * as Chat from "./Chat.ts"

/** Checkpoints as written by the engine: two of the served model, and one of a model that is not served. */
const folder = Effect.gen(function*() {
  const fs = yield* FileSystem.FileSystem
  const folder = yield* fs.makeTempDirectoryScoped()
  for (const [run, model] of [["run-1", Chat.model], ["run-2", Chat.model], ["run-3", "some/other"]]) {
    const place = `${folder}/${run}/sampler_weights/final`
    yield* fs.makeDirectory(place, { recursive: true })
    const config = { base_model_name_or_path: model, r: 4, target_modules: ["q_proj"] }
    yield* fs.writeFileString(`${place}/adapter_config.json`, JSON.stringify(config))
    yield* fs.writeFileString(`${place}/adapter_model.safetensors`, "weights")
  }
  return folder
})

const path = (run: string) => `tinker://${run}/sampler_weights/final`

const names = new Map([["engine://tiny-0/sampler_weights/final", path("run-1")], ["runs/x@10", path("run-1")]])

const served = Layer.unwrap(Effect.map(
  folder,
  (folder) => Api.server({ script: Chat.answering("Hello"), checkpoints: { folder, scheme: "scripted", names } })
)).pipe(Layer.provide(NodeServices.layer))

const get = (path: string) => Api.send(HttpClientRequest.get(path))

const tokens = (model: string) =>
  Api.send(Chat.request("/anthropic/api/v1/messages/count_tokens", {
    model,
    messages: [{ role: "user", content: "Hi" }]
  }))

describe("a named checkpoint", () => {
  layer(served)((it) => {
    it.effect("is a model under each of its names and its path", () =>
      Effect.gen(function*() {
        const { body } = yield* tokens(Chat.model)
        for (const model of [...names.keys(), path("run-1"), `${Chat.model};runs/x@10`]) {
          assert.deepStrictEqual(yield* Effect.map(tokens(model), ({ body }) => body), body, model)
        }
        assert.strictEqual((yield* tokens("runs/x@11")).status, 404)
      }))

    it.effect("is listed by the last of its names, together with base models and other checkpoints", () =>
      Effect.gen(function*() {
        const { body } = yield* get("/oai/api/v1/models")
        const listed = body["data"] as ReadonlyArray<Api.Body>
        assert.deepStrictEqual(listed.map(({ id }) => id), [Chat.model, "runs/x@10", path("run-2")])
        assert.deepStrictEqual(listed.map(({ context_length }) => context_length), [4096, 4096, 4096])
        const one = yield* get(`/anthropic/api/v1/models/${encodeURIComponent("runs/x@10")}`)
        assert.strictEqual(one.body["id"], "runs/x@10")
      }))
  })
})
