import { TinkerError } from "@effect-rl/core"
import { Fault, Script } from "@effect-rl/core/testing"
import type * as Quota from "@effect-rl/tinker/server/Quota"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, layer } from "@effect/vitest"
import { ByteSize, Effect, FileSystem } from "effect"
import { HttpClientRequest } from "effect/http"
import { TestClock } from "effect/testing"
import * as Api from "./Api.ts"

type Method = "GET" | "POST" | "PUT" | "DELETE"

/** Requests of one tenant. */
const tenant = (name: string) => {
  const headers = { "x-api-key": `tml-${name}` }
  const send = (method: Method, path: string, body?: Api.Body) =>
    Api.send(
      body === undefined
        ? Api.request(method, path, headers)
        : HttpClientRequest.bodyText(Api.request(method, path, headers), JSON.stringify(body), "application/json")
    )
  const post = (path: string, body: Api.Body) => send("POST", path, body)
  const result = ({ body }: { readonly body: Api.Body }) =>
    Effect.map(post("/retrieve_future", { request_id: body["request_id"] }), ({ body }) => body)
  return { send, post, result }
}

const alice = tenant("alice")
const bob = tenant("bob")

const status = <E, R>(answer: Effect.Effect<{ readonly status: number }, E, R>) =>
  Effect.map(answer, ({ status }) => status)

const list = (body: Api.Body, key: string) => body[key] as ReadonlyArray<Api.Body>

/** A model owned by Alice with a saved state and a sampler, and a step whose result is ready. */
const work = Effect.gen(function*() {
  const session_id = String((yield* alice.post("/create_session", { display_name: "sums" })).body["session_id"])
  const create = { session_id, model_seq_id: 0, base_model: Script.defaultModel, lora_config: { rank: 4 } }
  const model_id = String((yield* alice.result(yield* alice.post("/create_model", create)))["model_id"])
  const saved = yield* alice.result(yield* alice.post("/save_weights", { model_id, seq_id: 1, path: "final" }))
  const sampler = { session_id, sampling_session_seq_id: 0, base_model: Script.defaultModel }
  const { sampling_session_id } = (yield* alice.post("/create_sampling_session", sampler)).body
  const step = yield* alice.post("/optim_step", { model_id, seq_id: 2, adam_params: { learning_rate: 1e-3 } })
  return { session_id, model_id, path: String(saved["path"]), sampling_session_id, step }
})

const state = (model_id: string) => `/training_runs/${model_id}/checkpoints/weights/final`

describe("a tenant", () => {
  layer(Api.server({ apiKeys: Api.keys("alice=tml-alice,bob=tml-bob") }))((it) => {
    it.effect("finds its own objects in every listing", () =>
      Effect.gen(function*() {
        const { model_id, path, session_id } = yield* work
        const get = (path: string) => Effect.map(alice.send("GET", path), ({ body }) => body)
        assert.include(JSON.stringify(yield* get("/sessions")), session_id)
        const runs = list(yield* get("/training_runs"), "training_runs")
        const run = runs.find(({ training_run_id }) => training_run_id === model_id)
        assert.strictEqual(run?.["model_owner"], "alice")
        const checkpoints = list(yield* get("/checkpoints"), "checkpoints")
        assert.include(checkpoints.map(({ tinker_path }) => tinker_path), path)
        const usage = list(yield* get("/billing/usage/checkpoints/current"), "data")
        assert.include(usage.map(({ user_name }) => user_name), "alice")
        const found = yield* alice.post("/sessions/search", { display_name: "SUM" })
        assert.include(list(found.body, "sessions").map(({ session_id }) => session_id), session_id)
      }))

    it.effect("finds nothing of another tenant, in listings or by name", () =>
      Effect.gen(function*() {
        const { model_id, path, sampling_session_id, session_id, step } = yield* work
        const listings = yield* Effect.all([
          bob.send("GET", "/sessions"),
          bob.send("GET", "/training_runs"),
          bob.send("GET", "/checkpoints"),
          bob.post("/sessions/search", {})
        ])
        assert.deepStrictEqual(listings.map(({ status }) => status), [200, 200, 200, 200])
        assert.notInclude(JSON.stringify(listings.map(({ body }) => body)), session_id)
        const sample = { sampling_session_id, seq_id: 0, prompt: { chunks: [] }, sampling_params: { max_tokens: 1 } }
        const requests = [
          bob.send("GET", `/sessions/${session_id}`),
          bob.post("/session_heartbeat", { session_id }),
          bob.post(`/sessions/${session_id}/finish`, {}),
          bob.post("/get_info", { model_id }),
          bob.post("/optim_step", { model_id, seq_id: 3, adam_params: { learning_rate: 1 } }),
          bob.post("/unload_model", { model_id }),
          bob.post("/asample", sample),
          bob.post("/retrieve_future", { request_id: step.body["request_id"] }),
          bob.post("/cancel_future", { request_id: step.body["request_id"] }),
          bob.post("/retrieve_futures", { target: { type: "sampling_session", sampling_session_id }, timeout: 0 }),
          bob.post("/join_sampling_session", { sampling_session_id }),
          bob.post("/weights_info", { tinker_path: path }),
          bob.send("GET", `/training_runs/${model_id}`),
          bob.send("GET", `/training_runs/${model_id}/checkpoints`),
          bob.send("GET", `${state(model_id)}/archive`),
          bob.send("POST", `${state(model_id)}/publish`),
          bob.send("PUT", `${state(model_id)}/ttl`, { ttl_seconds: 60 }),
          bob.send("DELETE", state(model_id))
        ]
        for (const [index, request] of requests.entries()) assert.strictEqual(yield* status(request), 404, `${index}`)
        assert.property(yield* alice.result(step), "metrics")
      }))

    it.effect("cannot make the server forget another tenant's result", () =>
      Effect.gen(function*() {
        const { step } = yield* work
        const { session_id } = (yield* bob.post("/create_session", {})).body
        const sampler = { session_id, sampling_session_seq_id: 0, base_model: Script.defaultModel }
        const { sampling_session_id } = (yield* bob.post("/create_sampling_session", sampler)).body
        const target = { type: "sampling_session", sampling_session_id }
        const retrieved_request_ids = [step.body["request_id"]]
        assert.property(yield* alice.result(step), "metrics")
        yield* bob.post("/retrieve_futures", { target, retrieved_request_ids, timeout: 0 })
        assert.property(yield* alice.result(step), "metrics")
      }))

    it.effect("gets its own session, whichever idempotency key another tenant sent", () =>
      Effect.gen(function*() {
        const create = (key: string) =>
          Api.post("/create_session", {}, { "x-api-key": `tml-${key}`, "x-idempotency-key": "once" })
        const id = ({ body }: { readonly body: Api.Body }) => body["session_id"]
        const first = id(yield* create("alice"))
        assert.strictEqual(id(yield* create("alice")), first)
        assert.notStrictEqual(id(yield* create("bob")), first)
      }))

    it.effect("cannot load another tenant's weights, and learns nothing of their names", () =>
      Effect.gen(function*() {
        const { path } = yield* work
        const { body } = yield* bob.post("/create_session", {})
        const create = { session_id: body["session_id"], model_seq_id: 0, base_model: Script.defaultModel }
        const { model_id } = yield* bob.result(yield* bob.post("/create_model", create))
        const load = yield* bob.post("/load_weights", { model_id, seq_id: 1, path, optimizer: true })
        const { error } = yield* bob.result(load)
        assert.include(String(error), `no checkpoint "${path}"`)
        assert.notInclude(String(error).replace(path, ""), "tinker://")
      }))

    it.effect("can read what another tenant published, but not change it", () =>
      Effect.gen(function*() {
        const { model_id, path } = yield* work
        assert.strictEqual(yield* status(alice.send("POST", `${state(model_id)}/publish`)), 200)
        assert.strictEqual(yield* status(bob.post("/weights_info", { tinker_path: path })), 200)
        assert.strictEqual(yield* status(bob.send("DELETE", `${state(model_id)}/publish`)), 403)
        assert.strictEqual(yield* status(bob.send("DELETE", state(model_id))), 403)
        assert.strictEqual(yield* status(alice.send("DELETE", `${state(model_id)}/publish`)), 200)
        assert.strictEqual(yield* status(bob.post("/weights_info", { tinker_path: path })), 404)
      }))

    it.effect("sees the storage of its own checkpoints", () =>
      Effect.gen(function*() {
        yield* work
        const owners = ({ body }: { readonly body: Api.Body }) => list(body, "data").map(({ user_name }) => user_name)
        assert.deepStrictEqual(owners(yield* alice.send("GET", "/billing/usage/checkpoints/current")), ["alice"])
        assert.deepStrictEqual(owners(yield* bob.send("GET", "/billing/usage/checkpoints/current")), [])
      }))

    it.effect("reads its own administrative acts in the audit log, and no others", () =>
      Effect.gen(function*() {
        const { model_id, path } = yield* work
        yield* alice.send("PUT", `${state(model_id)}/ttl`, { ttl_seconds: 60 })
        yield* alice.send("DELETE", state(model_id))
        const events = list((yield* alice.send("GET", "/audit")).body, "entries")
          .filter(({ tinker_path }) => tinker_path === path).map(({ event }) => event)
        assert.deepStrictEqual(events, ["checkpoint_ttl_changed", "checkpoint_deleted"])
        assert.deepStrictEqual(list((yield* bob.send("GET", "/audit")).body, "entries"), [])
        const elsewhen = yield* alice.send("GET", "/audit?event_type=checkpoints&day=1999-01-01")
        assert.deepStrictEqual(list(elsewhen.body, "entries"), [])
      }))
  })

  layer(NodeServices.layer)((it) => {
    const apiKeys = Api.keys("alice=tml-alice,bob=tml-bob")

    it.effect("owns a checkpoint whose server was killed before recording it", () =>
      Effect.gen(function*() {
        const fs = yield* FileSystem.FileSystem
        const folder = yield* fs.makeTempDirectoryScoped()
        const faults = [Fault.every("SaveState", Fault.fail(new TinkerError.Unavailable({ detail: "killed" })))]
        const { model_id, path } = yield* Effect.provide(work, Api.server({ apiKeys, folder, script: { faults } }))
        assert.strictEqual(path, "undefined")
        const place = `${folder}/model-0/weights/final`
        yield* fs.makeDirectory(place, { recursive: true })
        const config = { base_model_name_or_path: Script.defaultModel, r: 4, target_modules: ["q_proj"] }
        yield* fs.writeFileString(`${place}/adapter_config.json`, JSON.stringify(config))
        yield* Effect.gen(function*() {
          const paths = ({ body }: { readonly body: Api.Body }) =>
            list(body, "checkpoints").map(({ tinker_path }) => tinker_path)
          const saved = `tinker://${model_id}/weights/final`
          assert.deepStrictEqual(paths(yield* alice.send("GET", "/checkpoints")), [saved])
          assert.deepStrictEqual(paths(yield* bob.send("GET", "/checkpoints")), [])
          for (const tinker_path of [saved, "tinker://model-0/weights/final"]) {
            assert.strictEqual(yield* status(bob.post("/weights_info", { tinker_path })), 404)
          }
        }).pipe(Effect.provide(Api.server({ apiKeys, folder })))
      }))

    it.effect("can read its audit log despite a line that a server left incomplete", () =>
      Effect.gen(function*() {
        const fs = yield* FileSystem.FileSystem
        const folder = yield* fs.makeTempDirectoryScoped()
        yield* Effect.gen(function*() {
          const { model_id } = yield* work
          yield* alice.send("POST", `${state(model_id)}/publish`)
          yield* fs.writeFileString(`${folder}/.tinker/.audit.jsonl`, `{"timestamp":"2026-`, { flag: "a" })
          yield* alice.send("DELETE", `${state(model_id)}/publish`)
          const { body } = yield* alice.send("GET", "/audit")
          assert.deepStrictEqual(list(body, "entries").map(({ event }) => event), [
            "checkpoint_published",
            "checkpoint_unpublished"
          ])
        }).pipe(Effect.provide(Api.server({ apiKeys, folder })))
      }))
  })

  layer(Api.server({ apiKeys: Api.keys("alice=tml-alice,bob=tml-bob"), samplesPerMinute: 1 }))((it) => {
    it.effect("has its own rate limit", () =>
      Effect.gen(function*() {
        const { sampling_session_id } = yield* work
        const sample = {
          sampling_session_id,
          prompt: { chunks: [{ tokens: [1] }] },
          sampling_params: { max_tokens: 1 }
        }
        assert.strictEqual(yield* status(alice.post("/asample", { ...sample, seq_id: 0 })), 200)
        assert.strictEqual(yield* status(alice.post("/asample", { ...sample, seq_id: 1 })), 429)
        assert.strictEqual(yield* status(bob.post("/asample", sample)), 404)
      }))
  })
})

describe("the quota of a tenant", () => {
  const create = (who: typeof alice, session_id: string, model_seq_id: number, rank = 4) =>
    Effect.flatMap(
      who.post("/create_model", { session_id, model_seq_id, base_model: Script.defaultModel, lora_config: { rank } }),
      who.result
    )
  const open = (who: typeof alice) =>
    Effect.map(who.post("/create_session", {}), ({ body }) => String(body["session_id"]))
  const limited = (quota: Partial<Quota.Quota>) =>
    Api.server({ apiKeys: Api.keys("alice=tml-alice,bob=tml-bob"), quota })

  layer(limited({ models: 4 }))((it) => {
    it.effect("limits its models, with half of them per session, and leaves room for others", () =>
      Effect.gen(function*() {
        const [first, second, third] = [yield* open(alice), yield* open(alice), yield* open(alice)]
        for (const session of [first, second]) {
          for (const index of [0, 1]) assert.property(yield* create(alice, session, index), "model_id")
        }
        assert.include(
          (yield* create(alice, first, 2))["error"],
          "the models of the session would be 3, expected at most 2 of 4 (--max-models of the server): unload some"
        )
        const refused = yield* create(alice, third, 0)
        assert.include(refused["error"], "the models of your sessions would be 5, expected at most 4 of 4")
        assert.strictEqual(refused["category"], "user")
        assert.property(yield* create(bob, yield* open(bob), 0), "model_id")
        yield* alice.post(`/sessions/${first}/finish`, {})
        assert.property(yield* create(alice, third, 1), "model_id")
      }))
  })

  layer(limited({ memory: ByteSize.mebibytes(64) }))((it) => {
    it.effect("limits the memory of its snapshots; unused old ones make room for new ones", () =>
      Effect.gen(function*() {
        const session = yield* open(alice)
        const model_id = (yield* create(alice, session, 0, 64))["model_id"]
        const snapshot = (seq_id: number, kind = "snapshot") =>
          Effect.flatMap(
            alice.post("/save_weights_for_sampler", { model_id, seq_id, sampling_session_seq_id: seq_id, kind }),
            alice.result
          )
        for (const seq of [1, 2, 3, 4]) assert.property(yield* snapshot(seq), "sampling_session_id")
        assert.include(
          (yield* snapshot(5))["error"],
          "the models and samplers of the session would be 36.0 MiB, expected at most 32.0 MiB of 64.0 MiB"
        )
        assert.include((yield* create(alice, session, 1, 1))["error"], "the models and samplers of the session")
        yield* TestClock.adjust("90 seconds")
        assert.property(yield* snapshot(6), "sampling_session_id")
        yield* TestClock.adjust("90 seconds")
        assert.property(yield* snapshot(7, "inflight"), "sampling_session_id")
        for (const seq of [8, 9]) assert.property(yield* snapshot(seq), "sampling_session_id")
        assert.property(yield* create(bob, yield* open(bob), 0, 128), "model_id")
        yield* alice.post(`/sessions/${session}/finish`, {})
        for (const next of [yield* open(alice), yield* open(alice)]) {
          assert.property(yield* create(alice, next, 0, 128), "model_id")
        }
      }))
  })

  layer(limited({ memory: ByteSize.mebibytes(64) }))((it) => {
    it.effect("limits the memory of its models, and releases that of a refused one", () =>
      Effect.gen(function*() {
        const [first, second, third] = [yield* open(alice), yield* open(alice), yield* open(alice)]
        assert.property(yield* create(alice, first, 0, 64), "model_id")
        assert.include(
          (yield* create(alice, first, 1, 128))["error"],
          "the models and samplers of the session would be 48.0 MiB, expected at most 32.0 MiB of 64.0 MiB (--max-memory of the server)"
        )
        assert.property(yield* create(alice, first, 2, 64), "model_id")
        assert.property(yield* create(alice, second, 0, 128), "model_id")
        assert.include(
          (yield* create(alice, third, 0, 1))["error"],
          "the models and samplers of your sessions would be 64.3 MiB"
        )
        assert.property(yield* create(bob, yield* open(bob), 0, 128), "model_id")
        yield* alice.post(`/sessions/${second}/finish`, {})
        assert.property(yield* create(alice, third, 1, 128), "model_id")
      }))
  })
})
