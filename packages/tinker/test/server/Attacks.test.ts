/** Requests that are cheap to send but would be expensive for a careless server. */
import { TinkerError } from "@effect-rl/core"
import type { Sampling } from "@effect-rl/core/backend"
import { Script } from "@effect-rl/core/testing"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, layer } from "@effect/vitest"
import { Deferred, Effect, FileSystem, Ref } from "effect"
import { HttpClientRequest } from "effect/http"
import { TestClock } from "effect/testing"
import { zstdCompressSync } from "node:zlib"
import * as Api from "./Api.ts"

const prompt = { chunks: [{ type: "encoded_text", tokens: [1, 2, 3] }] }

const sample = (sampling_session_id: string, seq_id: number, more: Api.Body = {}, params: Api.Body = {}) =>
  Api.post("/asample", {
    sampling_session_id,
    seq_id,
    prompt,
    sampling_params: { max_tokens: 3, ...params },
    ...more
  })

const detail = ({ body }: { readonly body: Api.Body }) => String(body["detail"])

const statuses = (answers: ReadonlyArray<{ readonly status: number }>) => answers.map(({ status }) => status)

const sampled = ({ numSamples = 1 }: Sampling.SampleRequest): Sampling.SampleResponse => ({
  sequences: Array.from({ length: numSamples }, () => ({
    tokens: Int32Array.of(7),
    logprobs: Float32Array.of(-1),
    stopReason: "stop" as const
  }))
})

/** A script whose samples finish when the gate opens. */
const slow = (gate: Deferred.Deferred<void>): Script.Script => ({
  sample: (request) => Effect.as(Deferred.await(gate), sampled(request))
})

describe("a request to sample", () => {
  layer(Api.server())((it) => {
    it.effect("may have a bounded number of stops", () =>
      Effect.gen(function*() {
        const sampler = yield* Api.sampler(yield* Api.session)
        const stop = Array.from({ length: 500_000 }, (_, index) => `${index}`)
        const refused = yield* sample(sampler, 0, {}, { stop })
        assert.strictEqual(refused.status, 422)
        assert.include(detail(refused), "sampling_params.stop has 500000 entries, expected at most 1000")
        const long = yield* sample(sampler, 1, {}, { stop: ["x".repeat(100_000)] })
        assert.include(detail(long), "sampling_params.stop has 100000 characters")
        assert.strictEqual((yield* sample(sampler, 2, {}, { stop: ["x"] })).status, 200)
      }))

    it.effect("may request a bounded number of tokens", () =>
      Effect.gen(function*() {
        const sampler = yield* Api.sampler(yield* Api.session)
        const large = yield* sample(sampler, 0, { num_samples: 10_000 }, { max_tokens: 1000 })
        assert.strictEqual(large.status, 422)
        assert.include(detail(large), "num_samples 10000 and max_tokens 1000")
        const unsaid = yield* sample(sampler, 1, { num_samples: 10_000 }, { max_tokens: null })
        assert.include(detail(unsaid), "num_samples 10000 and max_tokens 509")
        const prompts = { prompt: { chunks: [{ tokens: Array.from({ length: 250_000 }, () => 1) }] } }
        const candidates = yield* sample(sampler, 2, { ...prompts, prompt_logprobs: true, topk_prompt_logprobs: 20 })
        assert.include(detail(candidates), "a prompt of 250000 tokens ask for 52")
        const ofSamples = yield* sample(sampler, 2, { num_samples: 5000, topk_sample_logprobs: 20 }, {
          max_tokens: 100
        })
        assert.include(detail(ofSamples), "num_samples 5000 and max_tokens 100")
        const scored = yield* sample(sampler, 2, { prompt_logprobs: true, topk_prompt_logprobs: 2_000_000_000 })
        assert.strictEqual(scored.status, 400)
        assert.include(detail(scored), "topk_prompt_logprobs is 2000000000, expected 0 to 20")
      }))

    it.effect("is refused with the field's name if it sets a field that no backend supports", () =>
      Effect.gen(function*() {
        const sampler = yield* Api.sampler(yield* Api.session)
        const fields = {
          target_prompt_logprobs: { data: [1, 2], dtype: "int64", shape: [2, 1] },
          prompt_alt_tokens_k: 2,
          record_stability_info: true
        }
        for (const [field, value] of Object.entries(fields)) {
          const refused = yield* sample(sampler, 0, { [field]: value })
          assert.strictEqual(refused.status, 400)
          assert.include(detail(refused), `${field} is not supported`)
        }
      }))

    it.effect("scores only the last tokens of its prompt if it asks for that", () =>
      Effect.gen(function*() {
        const sampler = yield* Api.sampler(yield* Api.session)
        const scored = (prompt_logprobs_last_n: number, seq_id: number) =>
          sample(sampler, seq_id, { prompt_logprobs: true, topk_prompt_logprobs: 1, prompt_logprobs_last_n })
        const result = yield* Api.result(yield* scored(1, 0))
        const logprobs = result["prompt_logprobs"] as ReadonlyArray<number | null>
        assert.deepStrictEqual(logprobs.map((value) => value === null), [true, true, false])
        const topk = result["topk_prompt_logprobs"] as ReadonlyArray<unknown>
        assert.deepStrictEqual(topk.map((row) => row === null), [true, true, false])
        for (const wrong of [0, 3]) {
          assert.include(detail(yield* scored(wrong, 1)), `prompt_logprobs_last_n is ${wrong}, expected 1 to 2`)
        }
        assert.include(detail(yield* sample(sampler, 1, { prompt_logprobs_last_n: 1 })), "without prompt_logprobs")
      }))
  })

  layer(NodeServices.layer)((it) => {
    it.effect("is asked to slow down if its tenant holds half of the tokens, while other tenants are served", () =>
      Effect.gen(function*() {
        const gate = yield* Deferred.make<void>()
        const apiKeys = Api.keys("alice=tml-alice,bob=tml-bob")
        yield* Effect.gen(function*() {
          const large = { num_samples: 8192 }
          const ask = Effect.fnUntraced(function*(key: string, count: number) {
            const headers = { "x-api-key": key }
            const session_id = String((yield* Api.post("/create_session", {}, headers)).body["session_id"])
            const created = { session_id, sampling_session_seq_id: 0, base_model: Script.defaultModel }
            const { body } = yield* Api.post("/create_sampling_session", created, headers)
            return yield* Effect.forEach(
              Array.from({ length: count }, (_, index) => index),
              (seq_id) =>
                Api.post("/asample", {
                  sampling_session_id: body["sampling_session_id"],
                  seq_id,
                  prompt,
                  sampling_params: { max_tokens: 500 },
                  ...large
                }, headers)
            )
          })
          const alice = statuses(yield* ask("tml-alice", 6))
          assert.deepStrictEqual(alice, [200, 200, 200, 200, 429, 429])
          assert.deepStrictEqual(statuses(yield* ask("tml-bob", 1)), [200])
          const headers = { "x-api-key": "tml-alice" }
          const session_id = String((yield* Api.post("/create_session", {}, headers)).body["session_id"])
          const created = { session_id, model_seq_id: 0, base_model: Script.defaultModel, lora_config: { rank: 4 } }
          const { body: { model_id } } = yield* Api.post("/create_model", created, headers)
          const step = { model_id, seq_id: 1, adam_params: { learning_rate: 1 } }
          assert.strictEqual((yield* Api.post("/optim_step", step, headers)).status, 200)
          const pass = JSON.stringify(Api.passBody(String(model_id), 2, [1, 2]))
          const padded = yield* Api.postText("/forward_backward", pass + " ".repeat(8_000_000), headers)
          assert.strictEqual(padded.status, 429)
          assert.strictEqual((yield* Api.postText("/forward_backward", pass, headers)).status, 200)
        }).pipe(
          Effect.ensuring(Deferred.succeed(gate, undefined)),
          Effect.provide(Api.server({ apiKeys, script: slow(gate) }))
        )
      }))

    it.effect("runs concurrently with those of other sessions, however many samples the first requested", () =>
      Effect.gen(function*() {
        const gate = yield* Deferred.make<void>()
        const script: Script.Script = {
          sample: (request) =>
            Effect.as((request.params.maxTokens > 3) ? Deferred.await(gate) : Effect.void, sampled(request))
        }
        yield* Effect.gen(function*() {
          const greedy = yield* Api.sampler(yield* Api.session)
          const modest = yield* Api.sampler(yield* Api.session)
          for (let seq_id = 0; seq_id < 4; seq_id++) {
            yield* sample(greedy, seq_id, { num_samples: 2000 }, { max_tokens: 400 })
          }
          assert.lengthOf((yield* Api.result(yield* sample(modest, 0)))["sequences"] as ReadonlyArray<unknown>, 1)
        }).pipe(Effect.ensuring(Deferred.succeed(gate, undefined)), Effect.provide(Api.server({ script })))
      }))

    it.effect("stops when its client cancels it, or its session ends", () =>
      Effect.gen(function*() {
        const interrupted = yield* Ref.make(0)
        const script: Script.Script = {
          sample: () => Effect.onInterrupt(Effect.never, () => Ref.update(interrupted, (count) => count + 1))
        }
        yield* Effect.gen(function*() {
          const session_id = yield* Api.session
          const sampler = yield* Api.sampler(session_id)
          const cancelled = yield* sample(sampler, 0)
          assert.strictEqual(
            (yield* Api.post("/cancel_future", { request_id: cancelled.body["request_id"] })).status,
            204
          )
          assert.include(String((yield* Api.result(cancelled))["error"]), "cancelled")
          const abandoned = yield* sample(sampler, 1)
          yield* Api.post(`/sessions/${session_id}/finish`, {})
          assert.include(String((yield* Api.result(abandoned))["error"]), "cancelled")
          assert.strictEqual((yield* Api.post("/cancel_future", { request_id: "unknown" })).status, 404)
          assert.strictEqual(yield* Ref.get(interrupted), 2)
        }).pipe(Effect.provide(Api.server({ script })))
      }))
  })
})

describe("a name and metadata, which a server keeps,", () => {
  layer(Api.server())((it) => {
    it.effect("have bounded lengths", () =>
      Effect.gen(function*() {
        const { model_id, session_id } = yield* Api.model
        const long = { note: "x".repeat(20_000) }
        const metadata = [
          yield* Api.post("/create_session", { user_metadata: long }),
          yield* Api.createModel(session_id, { model_seq_id: 1, user_metadata: long }),
          yield* Api.post("/save_weights", { model_id, seq_id: 1, path: "a", user_metadata: long }),
          yield* Api.saveForSampler(model_id, 2, { path: "a", user_metadata: long })
        ]
        for (const refused of metadata) {
          assert.strictEqual(refused.status, 422)
          assert.include(detail(refused), "Expected at most 16384 characters")
        }
        const display_name = "x".repeat(1001)
        for (const path of ["/create_session", "/sessions/search"]) {
          const refused = yield* Api.post(path, { display_name })
          assert.strictEqual(refused.status, 422)
          assert.include(detail(refused), "display_name")
        }
        const statuses = Array.from({ length: 21 }, () => ({ type: "active" }))
        assert.strictEqual((yield* Api.post("/sessions/search", { statuses })).status, 422)
        yield* Api.post(`/sessions/${session_id}/finish`, { detail: "y".repeat(20_000) })
        const { body } = yield* Api.post("/sessions/search", { session_id })
        const [found] = body["sessions"] as ReadonlyArray<{ status: { detail: string } }>
        assert.lengthOf(found?.status.detail ?? "", 16_384)
      }))
  })
})

describe("a body", () => {
  layer(Api.server({ maxBodySize: 64 * 1024 * 1024 }))((it) => {
    it.effect("decompresses to a bounded multiple of its size", () =>
      Effect.gen(function*() {
        const bomb = zstdCompressSync(`{"tags":["${" ".repeat(32 * 1024 * 1024)}"]}`)
        assert.isBelow(bomb.length, 16_384)
        const { body, status } = yield* Api.send(HttpClientRequest.bodyUint8Array(
          Api.request("POST", "/forward_backward", { "content-encoding": "zstd" }),
          bomb,
          "application/json"
        ))
        assert.strictEqual(status, 413)
        assert.include(String(body["detail"]), "too large")
      }))

    it.effect("cannot claim more cells than it sends values for", () =>
      Effect.gen(function*() {
        const { model_id } = yield* Api.model
        const sparse = {
          dtype: "int64",
          data: [],
          shape: [1, 2 ** 26],
          sparse_crow_indices: [0, 0],
          sparse_col_indices: []
        }
        const pass = yield* Api.post("/forward_backward", {
          model_id,
          seq_id: 1,
          forward_backward_input: {
            data: [{ model_input: prompt, loss_fn_inputs: { target_tokens: sparse } }],
            loss_fn: "cross_entropy"
          }
        })
        assert.include(String((yield* Api.result(pass))["error"]), "shape is [1, 67108864], expected 3 rows")
      }))
  })
})

describe("an id", () => {
  layer(Api.server())((it) => {
    it.effect("of a model is never reused, either after the model is unloaded or in another session", () =>
      Effect.gen(function*() {
        const { model_id, session_id } = yield* Api.model
        yield* Api.result(yield* Api.post("/unload_model", { model_id }))
        assert.strictEqual((yield* Api.step(model_id, 1)).status, 404)
        yield* TestClock.adjust("4 minutes")
        yield* Api.post("/session_heartbeat", { session_id })
        for (let minute = 0; minute < 12; minute++) {
          yield* TestClock.adjust("1 minute")
          yield* Api.post("/session_heartbeat", { session_id })
        }
        const again = yield* Api.result(yield* Api.createModel(session_id, { lora_config: { rank: 8 } }))
        assert.include(String(again["error"]), `"${model_id}" was used before`)
        const next = yield* Api.result(yield* Api.createModel(session_id, { model_seq_id: 1 }))
        assert.notStrictEqual(next["model_id"], model_id)
        assert.notStrictEqual((yield* Api.model).model_id, model_id)
      }))
  })

  layer(NodeServices.layer)((it) => {
    it.effect("of a model that was not saved is unknown to the next server", () =>
      Effect.gen(function*() {
        const fs = yield* FileSystem.FileSystem
        const folder = yield* fs.makeTempDirectoryScoped()
        const first = yield* Effect.provide(Api.model, Api.server({ folder }))
        yield* Effect.gen(function*() {
          const second = yield* Api.model
          assert.notStrictEqual(second.model_id, first.model_id)
          assert.strictEqual((yield* Api.step(first.model_id, 1)).status, 404)
        }).pipe(Effect.provide(Api.server({ folder })))
      }))
  })
})

describe("a lifetime", () => {
  layer(NodeServices.layer)((it) => {
    it.effect("beyond ten years is refused, and one recorded by an earlier server does not break listings", () =>
      Effect.gen(function*() {
        const fs = yield* FileSystem.FileSystem
        const folder = yield* fs.makeTempDirectoryScoped()
        yield* Effect.gen(function*() {
          const { model_id } = yield* Api.model
          const refused = yield* Api.saved(model_id, 1, "a", { ttl_seconds: 9e12 })
          assert.include(String(refused["error"]), "ttl_seconds is 9000000000000, expected 1 to 315360000")
          yield* Api.saved(model_id, 2, "b", { ttl_seconds: 60 })
          const ttl = `/training_runs/${model_id}/checkpoints/weights/b/ttl`
          assert.strictEqual((yield* Api.put(ttl, { ttl_seconds: 9e12 })).status, 400)
        }).pipe(Effect.provide(Api.server({ folder })))
        const files = yield* fs.readDirectory(`${folder}/.tinker`, { recursive: true })
        const record = `${folder}/.tinker/${files.find((file) => file.endsWith("b.json"))}`
        const text = yield* fs.readFileString(record)
        yield* fs.writeFileString(record, text.replace(/"expiresMillis":\d+/, "\"expiresMillis\":9000000000000000"))
        const { body, status } = yield* Effect.provide(Api.get("/checkpoints"), Api.server({ folder }))
        assert.strictEqual(status, 200)
        assert.lengthOf(body["checkpoints"] as ReadonlyArray<unknown>, 1)
      }))
  })
})

describe("a backend that has failed", () => {
  layer(NodeServices.layer)((it) => {
    it.effect("is named by every answer to /healthz, and once by the log", () =>
      Effect.gen(function*() {
        const isWell = yield* Ref.make(true)
        const failed = new TinkerError.Unavailable({ detail: "a compute thread crashed" })
        const health = Effect.flatMap(Ref.get(isWell), (isWell) => isWell ? Effect.void : Effect.fail(failed))
        const lines = yield* Api.logged(
          Effect.gen(function*() {
            assert.strictEqual((yield* Api.get("/healthz")).status, 200)
            yield* Ref.set(isWell, false)
            for (let minute = 0; minute < 3; minute++) {
              yield* TestClock.adjust("1 minute")
              const { body, status } = yield* Api.get("/healthz")
              assert.strictEqual(status, 503)
              assert.deepStrictEqual(body, { status: "failed", detail: "a compute thread crashed" })
            }
          }).pipe(Effect.provide(Api.server({ script: { health } })))
        )
        assert.deepStrictEqual(lines, ["the backend has failed, and this server with it: a compute thread crashed"])
      }))
  })
})

describe("silent sessions", () => {
  layer(NodeServices.layer)((it) => {
    it.effect("end together, with one line in the log", () =>
      Effect.gen(function*() {
        const lines = yield* Api.logged(
          Effect.gen(function*() {
            const sessions = yield* Effect.forEach(Array.from({ length: 20 }), () => Api.session)
            yield* TestClock.adjust("6 minutes")
            for (const session_id of sessions) {
              assert.strictEqual((yield* Api.post("/session_heartbeat", { session_id })).status, 404)
            }
          }).pipe(Effect.provide(Api.server()))
        )
        assert.lengthOf(lines, 1)
        assert.match(lines[0] ?? "", /^ended sessions that were silent for five minutes: (\S+, ){4}\S+ and 15 more$/)
      }))
  })
})
