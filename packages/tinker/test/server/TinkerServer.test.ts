import { Call } from "@effect-rl/core/testing"
import * as ApiKeys from "@effect-rl/tinker/server/ApiKeys"
import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import { HttpClientRequest } from "effect/http"
import { zstdCompressSync } from "node:zlib"
import * as Api from "./Api.ts"

const key = "tml-right"

const keys = ApiKeys.parse(`tml-other,${key}`)

const compressed = (path: string, text: string) =>
  Api.send(HttpClientRequest.bodyUint8Array(
    Api.request("POST", path, { "content-encoding": "zstd" }),
    zstdCompressSync(text),
    "application/json"
  ))

describe("TinkerServer", () => {
  layer(Api.server())((it) => {
    it.effect("saved weights have paths of this server, which it can read", () =>
      Effect.gen(function*() {
        const { model_id } = yield* Api.model
        const { path } = yield* Api.saved(model_id, 1, "a")
        assert.strictEqual(path, `tinker://${model_id}/weights/a`)
        const load = (seq_id: number, path: unknown) =>
          Effect.flatMap(Api.post("/load_weights", { model_id, seq_id, path, optimizer: true }), Api.result)
        assert.strictEqual((yield* load(2, path))["path"], path)
        const missing = `tinker://${model_id}/weights/b`
        assert.include(String((yield* load(3, missing))["error"]), `no checkpoint "${missing}"`)
      }))

    it.effect("a published checkpoint is loaded without a token", () =>
      Effect.gen(function*() {
        const { model_id } = yield* Api.model
        const { path } = yield* Api.saved(model_id, 1, "a")
        const load = (seq_id: number, token: string | null) =>
          Effect.flatMap(
            Api.post("/load_weights", { model_id, seq_id, path, weights_access_token: token }),
            Api.result
          )
        assert.include(String((yield* load(2, "secret"))["error"]), "weights_access_token is given, expected none")
        assert.strictEqual((yield* load(3, null))["path"], path)
      }))

    it.effect("a model created from a checkpoint has the checkpoint's optimizer only if requested", () =>
      Effect.gen(function*() {
        const { model_id, session_id } = yield* Api.model
        const { path } = yield* Api.saved(model_id, 1, "a")
        const states = Call.CallLog.use(({ calls }) =>
          Effect.map(calls, (all) => all.filter(({ _tag }) => _tag === "CreateTrainingClientFromState").length)
        )
        const before = yield* states
        const begin = (model_seq_id: number, optimizer: boolean) =>
          Effect.flatMap(Api.post("/load_weights", { session_id, model_seq_id, path, optimizer }), Api.result)
        assert.strictEqual((yield* begin(1, false))["path"], path)
        assert.strictEqual(yield* states, before)
        assert.strictEqual((yield* begin(2, true))["path"], path)
        assert.strictEqual(yield* states, before + 1)
      }))

    it.effect("the body of a training pass may have six million bytes", () =>
      Effect.gen(function*() {
        const { model_id } = yield* Api.model
        const body = JSON.stringify(Api.passBody(model_id, 1, [1, 2])) + " ".repeat(6_000_000)
        const answer = yield* Effect.flatMap(Api.postText("/forward_backward", body), Api.result)
        assert.property(answer, "loss_fn_outputs")
      }))

    it.effect("finishing a session frees its models", () =>
      Effect.gen(function*() {
        const { model_id, session_id } = yield* Api.model
        assert.strictEqual((yield* Api.post(`/sessions/${session_id}/finish`, {})).status, 200)
        assert.strictEqual((yield* Api.post("/get_info", { model_id })).status, 404)
        assert.strictEqual((yield* Api.post("/session_heartbeat", { session_id })).status, 404)
      }))

    it.effect("a checkpoint path cannot leave the folder", () =>
      Effect.gen(function*() {
        for (const path of ["tinker://../weights/a", "tinker://a/weights/..", "tinker://a/../b", "/etc/passwd"]) {
          assert.strictEqual((yield* Api.post("/weights_info", { tinker_path: path })).status, 404)
        }
        const escaped = "/training_runs/..%2f..%2fetc/checkpoints/weights/a"
        assert.strictEqual((yield* Api.get(`${escaped}/archive`)).status, 404)
        assert.strictEqual((yield* Api.remove(escaped)).status, 404)
        assert.strictEqual((yield* Api.put(`${escaped}/ttl`, { ttl_seconds: 5 })).status, 404)
      }))

    it.effect("an unreadable body is refused, and the error names the field", () =>
      Effect.gen(function*() {
        const { body, status } = yield* Api.postText("/create_model", "{")
        assert.strictEqual(status, 422)
        assert.isString(body["detail"])
        assert.strictEqual((yield* Api.post("/create_model", { session_id: "x" })).status, 422)
        assert.strictEqual((yield* Api.post("/session_heartbeat", { session_id: "x" })).status, 404)
        const sampler = yield* Api.sampler(yield* Api.session)
        for (const num_samples of [0, -1, 1e12]) {
          const { body, status } = yield* Api.post("/asample", {
            ...JSON.parse(Api.sampleText(sampler, "1")),
            num_samples
          })
          assert.strictEqual(status, 422)
          assert.include(String(body["detail"]), `num_samples is ${num_samples}`)
        }
      }))

    it.effect("an unsupported route is answered with an explanatory error", () =>
      Effect.gen(function*() {
        for (const path of ["/auth/token", "/training_runs"]) {
          const { body, status } = yield* Api.post(path, {})
          assert.strictEqual(status, 404, path)
          assert.match(String(body["detail"]), /on this server$|^this server has no/)
        }
        assert.strictEqual((yield* Api.get("/billing/usage/events")).status, 404)
      }))

    it.effect("telemetry of any shape is accepted", () =>
      Effect.gen(function*() {
        assert.deepStrictEqual((yield* Api.postText("/telemetry", "?")).body, { status: "accepted" })
      }))

    it.effect("a web page in a browser on this machine is refused", () =>
      Effect.gen(function*() {
        assert.strictEqual(
          (yield* Api.post("/create_session", {}, { origin: "https://elsewhere.example" })).status,
          403
        )
      }))
  })

  layer(Api.server({ maxBodySize: 1000, compressPasses: true }))((it) => {
    it.effect("compressed bodies are read, up to the limit on their decompressed size", () =>
      Effect.gen(function*() {
        assert.isTrue((yield* Api.post("/client/config", {})).body["proto_compress_fwdbwd"])
        const { body, status } = yield* compressed("/create_session", `{"tags":[]}`)
        assert.strictEqual(status, 200)
        assert.isString(body["session_id"])
        assert.strictEqual((yield* compressed("/create_session", " ".repeat(2000))).status, 413)
        assert.strictEqual((yield* compressed("/create_session", `{"tags":"${"\0".repeat(100_000)}"}`)).status, 413)
      }))

    it.effect("a body with a false content encoding is refused", () =>
      Effect.gen(function*() {
        const packed = (encoding: string) => Api.postText("/create_session", "{}", { "content-encoding": encoding })
        assert.strictEqual((yield* packed("zstd")).status, 422)
        const { headers, status } = yield* packed("br")
        assert.strictEqual(status, 415)
        assert.strictEqual(headers["accept-encoding"], "zstd")
      }))

    it.effect("a body above the size limit is refused", () =>
      Effect.gen(function*() {
        assert.strictEqual((yield* Api.postText("/create_session", " ".repeat(2000))).status, 413)
      }))
  })

  layer(Api.server({ apiKeys: keys, samplesPerMinute: 1 }))((it) => {
    const withKey = { "x-api-key": key }

    it.effect("requests need one of the server's keys, except the health check", () =>
      Effect.gen(function*() {
        const config = (headers: Record<string, string>) => Api.postText("/client/config", "{}", headers)
        assert.strictEqual((yield* config(withKey)).status, 200)
        assert.strictEqual((yield* config({ "x-api-key": `${key}x` })).status, 401)
        assert.strictEqual((yield* config({ "x-api-key": "tml-righ" })).status, 401)
        assert.strictEqual((yield* config({})).status, 401)
        assert.deepStrictEqual((yield* Api.get("/healthz")).body, { status: "ok" })
      }))

    it.effect("each key has its own rate limit", () =>
      Effect.gen(function*() {
        const body = JSON.parse(Api.sampleText("nobody's", "1"))
        const sample = (key: string) =>
          Effect.map(Api.post("/asample", body, { "x-api-key": key }), ({ status }) => status)
        assert.strictEqual(yield* sample(key), 404)
        assert.strictEqual(yield* sample(key), 429)
        assert.strictEqual(yield* sample("tml-other"), 404)
      }))
  })
})
