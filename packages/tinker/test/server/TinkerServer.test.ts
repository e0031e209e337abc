import { Script, ScriptedTinker } from "@effect-rl/core/testing"
import * as TinkerServer from "@effect-rl/tinker/server/TinkerServer"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, FileSystem, Layer, Redacted } from "effect"
import { HttpClient, HttpClientRequest } from "effect/http"

const key = "tml-right"

/** A server over real sockets with a scripted backend. */
const server = (options: { readonly apiKeys?: ReadonlyArray<Redacted.Redacted>; readonly maxBodySize?: number } = {}) =>
  Layer.unwrap(Effect.map(
    Effect.flatMap(FileSystem.FileSystem, (fs) => fs.makeTempDirectoryScoped()),
    (folder) => TinkerServer.layer({ checkpoints: { folder, scheme: "scripted" }, ...options })
  )).pipe(
    Layer.provide(ScriptedTinker.layer({})),
    Layer.provideMerge(NodeHttpServer.layerTest)
  )

interface Body {
  readonly [name: string]: unknown
}

const send = (request: HttpClientRequest.HttpClientRequest) =>
  Effect.gen(function*() {
    const client = yield* HttpClient.HttpClient
    const response = yield* client.execute(request)
    const text = yield* response.text
    const body: Body = text === "" ? {} : JSON.parse(text)
    return { status: response.status, headers: response.headers, body }
  })

const postText = (path: string, text: string, headers: Record<string, string> = {}) =>
  send(
    HttpClientRequest.post(`/api/v1${path}`).pipe(
      HttpClientRequest.setHeaders(headers),
      HttpClientRequest.bodyText(text, "application/json")
    )
  )

const post = (path: string, body: Body) => postText(path, JSON.stringify(body))

const get = (path: string) => send(HttpClientRequest.get(`/api/v1${path}`))

const result = (promise: { readonly body: Body }) =>
  Effect.map(post("/retrieve_future", { request_id: promise.body["request_id"] }), ({ body }) => body)

const session = Effect.map(post("/create_session", { tags: [] }), ({ body }) => String(body["session_id"]))

const model = Effect.gen(function*() {
  const session_id = yield* session
  const promise = yield* post("/create_model", {
    session_id,
    model_seq_id: 0,
    base_model: Script.defaultModel,
    lora_config: { rank: 4 }
  })
  return { session_id, model_id: String((yield* result(promise))["model_id"]) }
})

const step = (model_id: string, seq_id: number, learning_rate = 1e-3) =>
  post("/optim_step", { model_id, seq_id, adam_params: { learning_rate } })

const pass = (model_id: string, seq_id: number, tokens: ReadonlyArray<number>) =>
  post("/forward_backward", {
    model_id,
    seq_id,
    forward_backward_input: {
      data: [{
        model_input: { chunks: [{ type: "encoded_text", tokens }] },
        loss_fn_inputs: {
          target_tokens: { data: [5, 6], dtype: "int64", shape: [2] },
          weights: { data: [1, 1], dtype: "float32", shape: [2] }
        }
      }],
      loss_fn: "cross_entropy"
    }
  })

describe("TinkerServer", () => {
  layer(server())((it) => {
    it.effect("a sample has one sequence id per sequence, and its result comes as often as asked", () =>
      Effect.gen(function*() {
        const session_id = yield* session
        const { body: { sampling_session_id } } = yield* post("/create_sampling_session", {
          session_id,
          sampling_session_seq_id: 0,
          base_model: Script.defaultModel
        })
        const sample = (seq_id: string) =>
          postText(
            "/asample",
            `{"sampling_session_id":"${sampling_session_id}","seq_id":${seq_id},"num_samples":2,` +
              `"prompt":{"chunks":[{"type":"encoded_text","tokens":[1,2,3]}]},"sampling_params":{"max_tokens":3,"stop":"x"}}`
          )
        const promise = yield* sample("7")
        assert.strictEqual((promise.body["sample_sequence_ids"] as ReadonlyArray<string>).length, 2)
        const first = yield* result(promise)
        assert.strictEqual((first["sequences"] as ReadonlyArray<unknown>).length, 2)
        assert.deepStrictEqual(yield* result(promise), first)
        const huge = [yield* sample("1000000000000000001"), yield* sample("1000000000000000002")]
        assert.notStrictEqual(huge[0]?.body["request_id"], huge[1]?.body["request_id"])
      }))

    it.effect("requests run in the order of their numbers; what is wrong had its turn", () =>
      Effect.gen(function*() {
        const { model_id } = yield* model
        const third = yield* step(model_id, 3)
        const second = yield* pass(model_id, 2, [99_999_999, 2])
        const first = yield* pass(model_id, 1, [1, 2])
        assert.property((yield* result(first))["metrics"], "loss:sum")
        const refused = yield* result(second)
        assert.strictEqual(refused["category"], "user")
        assert.include(String(refused["error"]), "99999999")
        assert.property(yield* result(third), "metrics")
      }))

    it.effect("a step sent twice is taken once; its number with other content is a conflict", () =>
      Effect.gen(function*() {
        const { model_id } = yield* model
        const once = yield* step(model_id, 1)
        const again = yield* step(model_id, 1)
        assert.strictEqual(again.body["request_id"], once.body["request_id"])
        assert.strictEqual((yield* step(model_id, 1, 5)).status, 409)
      }))

    it.effect("saved weights have paths of this server, which it reads back", () =>
      Effect.gen(function*() {
        const { model_id } = yield* model
        const { path } = yield* result(yield* post("/save_weights", { model_id, seq_id: 1, path: "a" }))
        assert.strictEqual(path, `tinker://${model_id}/weights/a`)
        const loaded = yield* result(yield* post("/load_weights", { model_id, seq_id: 2, path, optimizer: true }))
        assert.strictEqual(loaded["path"], path)
        const missing = `tinker://${model_id}/weights/b`
        const failed = yield* result(yield* post("/load_weights", { model_id, seq_id: 3, path: missing }))
        assert.include(String(failed["error"]), `no checkpoint "${missing}"`)
      }))

    it.effect("a finished session takes its models with it", () =>
      Effect.gen(function*() {
        const { model_id, session_id } = yield* model
        assert.strictEqual((yield* post(`/sessions/${session_id}/finish`, {})).status, 200)
        assert.strictEqual((yield* post("/get_info", { model_id })).status, 404)
        assert.strictEqual((yield* post("/session_heartbeat", { session_id })).status, 404)
      }))

    it.effect("a checkpoint path cannot leave the folder", () =>
      Effect.gen(function*() {
        for (const path of ["tinker://../weights/a", "tinker://a/weights/..", "tinker://a/../b", "/etc/passwd"]) {
          assert.strictEqual((yield* post("/weights_info", { tinker_path: path })).status, 404)
        }
        assert.strictEqual((yield* get("/training_runs/..%2f..%2fetc/checkpoints/weights/a/archive")).status, 404)
      }))

    it.effect("what cannot be read is told with a length, as clients take a 400 without one for a proxy's", () =>
      Effect.gen(function*() {
        const { body, headers, status } = yield* postText("/create_model", "{")
        assert.strictEqual(status, 422)
        assert.isString(body["detail"])
        assert.notStrictEqual(headers["content-length"], undefined)
        assert.strictEqual((yield* post("/create_model", { session_id: "x" })).status, 422)
        assert.strictEqual((yield* post("/session_heartbeat", { session_id: "x" })).status, 404)
        assert.strictEqual((yield* postText("/telemetry", "", { "content-encoding": "zstd" })).status, 415)
      }))
  })

  layer(server({ apiKeys: [Redacted.make("tml-other"), Redacted.make(key)], maxBodySize: 1000 }))((it) => {
    it.effect("only a key of the server lets in", () =>
      Effect.gen(function*() {
        const config = (headers: Record<string, string>) => postText("/client/config", "{}", headers)
        assert.strictEqual((yield* config({ "x-api-key": key })).status, 200)
        assert.strictEqual((yield* config({ "x-api-key": `${key}x` })).status, 401)
        assert.strictEqual((yield* config({})).status, 401)
      }))

    it.effect("a body beyond the limit is refused", () =>
      Effect.gen(function*() {
        const { status } = yield* postText("/create_session", " ".repeat(2000), { "x-api-key": key })
        assert.strictEqual(status, 413)
      }))
  })
})
