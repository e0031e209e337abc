import { TinkerError } from "@effect-rl/core"
import { Fault, LeakAudit, Script } from "@effect-rl/core/testing"
import { Caller } from "@effect-rl/tinker/server/Caller"
import * as ClientSessions from "@effect-rl/tinker/server/ClientSessions"
import * as Quota from "@effect-rl/tinker/server/Quota"
import { assert, describe, it, layer } from "@effect/vitest"
import { Array, Effect, Metric } from "effect"
import { TestClock } from "effect/testing"
import * as Api from "./Api.ts"

const held = Effect.flatMap(LeakAudit.LeakAudit, ({ counts }) => Effect.map(counts, LeakAudit.live))

const snapshot = (model_id: string, seq_id: number) =>
  Effect.map(
    Effect.flatMap(Api.saveForSampler(model_id, seq_id), Api.result),
    ({ sampling_session_id }) => String(sampling_session_id)
  )

/** A backend that runs out of memory at this snapshot, counted from 0. */
const fullAt = (call: number) =>
  Fault.call(
    "Snapshot",
    call,
    Fault.fail(new TinkerError.Unavailable({ lacks: "memory", detail: "the memory is full" }))
  )

/** A backend that creates sampling clients only after other requests have arrived. */
const slowToSample = Fault.every(
  "CreateSamplingClient",
  (call) => Effect.andThen(TestClock.withLive(Effect.sleep("50 millis")), call)
)

/** The number of snapshots that servers in this process dropped for lack of memory. */
const dropped = Effect.map(
  Metric.snapshot,
  (all) =>
    all.reduce(
      (sum, { attributes, id, state }) =>
        id === "tinker_server_snapshots_dropped" && attributes?.["reason"] === "memory" && "count" in state
          ? sum + Number(state.count)
          : sum,
      0
    )
)

describe("the samplers of a session", () => {
  layer(Api.server())((it) => {
    it.effect("are released individually when the client asks", () =>
      Effect.gen(function*() {
        const { model_id, session_id } = yield* Api.model
        const sampler = yield* snapshot(model_id, 1)
        assert.deepStrictEqual((yield* Api.get(`/sessions/${session_id}`)).body, {
          training_run_ids: [model_id],
          sampler_ids: [sampler],
          user_metadata: {},
          display_name: null
        })
        assert.strictEqual((yield* Api.remove(`/samplers/${sampler}`)).status, 204)
        assert.deepStrictEqual(yield* held, { TrainingClient: 1 })
        assert.strictEqual((yield* Api.sample(sampler, 0)).status, 404)
        const unloaded = yield* Api.result(yield* Api.post("/unload_model", { model_id }))
        assert.strictEqual(unloaded["model_id"], model_id)
        assert.deepStrictEqual(yield* held, {})
        assert.strictEqual((yield* Api.step(model_id, 2)).status, 404)
      }))
  })

  layer(Api.server())((it) => {
    it.effect("remain for a model's newest snapshots and for those in use, because clients do not say when they no longer need one", () =>
      Effect.gen(function*() {
        const { model_id, session_id } = yield* Api.model
        const snapshots = []
        for (let seq_id = 1; seq_id <= 20; seq_id++) snapshots.push(yield* snapshot(model_id, seq_id))
        const [first = "", second = ""] = snapshots
        for (let minute = 0; minute < 32; minute++) {
          yield* TestClock.adjust("1 minute")
          yield* Api.post("/session_heartbeat", { session_id })
          if (minute % 10 === 0) yield* Api.sample(first, minute)
        }
        assert.deepStrictEqual(yield* held, { TrainingClient: 1, SamplingClient: 17 })
        assert.strictEqual((yield* Api.sample(first, 99)).status, 200)
        assert.strictEqual((yield* Api.sample(second, 99)).status, 404)
      }))
  })

  layer(Api.server({ script: { faults: [fullAt(3)] } }))((it) => {
    it.effect("make room if memory is full: unused snapshots are dropped, the least recently used first", () =>
      Effect.gen(function*() {
        const { model_id } = yield* Api.model
        const [first, second, third] = [
          yield* snapshot(model_id, 1),
          yield* snapshot(model_id, 2),
          yield* snapshot(model_id, 3)
        ]
        yield* TestClock.adjust("2 minutes")
        yield* Api.result(yield* Api.sample(first, 1))
        const before = yield* dropped
        const fourth = yield* snapshot(model_id, 4)
        const kept = yield* Effect.filter(
          [first, second, third, fourth],
          (id) => Effect.map(Api.get(`/samplers/${id}`), ({ status }) => status === 200)
        )
        assert.deepStrictEqual(kept, [first, third, fourth])
        assert.strictEqual((yield* dropped) - before, 1)
      }))
  })

  layer(Api.server())((it) => {
    it.effect("are shared by all requests that name the same weights, until unused for a while", () =>
      Effect.gen(function*() {
        const body = {
          base_model: Script.defaultModel,
          prompt: { chunks: [{ type: "encoded_text", tokens: [1, 2] }] },
          sampling_params: { max_tokens: 2 }
        }
        for (const _ of [1, 2]) assert.property(yield* Api.result(yield* Api.post("/asample", body)), "sequences")
        assert.deepStrictEqual(yield* held, { SamplingClient: 1 })
        yield* TestClock.adjust("6 minutes")
        assert.deepStrictEqual(yield* held, {})
        assert.strictEqual((yield* Api.post("/asample", { ...body, base_model: "nobody" })).status, 404)
        assert.strictEqual((yield* Api.post("/asample", { ...body, model_path: "x" })).status, 404)
      }))
  })

  layer(Api.server({ script: { faults: [slowToSample] } }))((it) => {
    it.effect("share one set of weights if several first requests name it at once", () =>
      Effect.gen(function*() {
        const body = {
          base_model: Script.defaultModel,
          prompt: { chunks: [{ type: "encoded_text", tokens: [1, 2] }] },
          sampling_params: { max_tokens: 2 }
        }
        const ask = Effect.flatMap(Api.post("/asample", body), Api.result)
        const answers = yield* Effect.forEach([1, 2, 3], () => ask, { concurrency: "unbounded" })
        for (const answer of answers) assert.property(answer, "sequences")
        assert.deepStrictEqual(yield* held, { SamplingClient: 1 })
      }))
  })
})

describe("a session search", () => {
  layer(Api.server())((it) => {
    const named = (display_name: string, user_metadata = {}) =>
      Effect.map(
        Api.post("/create_session", { display_name, user_metadata }),
        ({ body }) => String(body["session_id"])
      )
    const search = Effect.fnUntraced(function*(query: Api.Body) {
      const { body } = yield* Api.post("/sessions/search", query)
      const found = body["sessions"] as ReadonlyArray<Api.Body>
      return { ids: found.map(({ session_id }) => String(session_id)), found, cursor: body["next_cursor"] }
    })

    it.effect("finds them by words in their names, by metadata and by how they ended", () =>
      Effect.gen(function*() {
        const first = yield* named("Sums of two digits", { task: "sums" })
        const second = yield* named("sums of three", { task: "sums", lr: "1e-4" })
        yield* named("Other")
        assert.deepStrictEqual((yield* search({ display_name: "SUMS of" })).ids, [second, first])
        assert.deepStrictEqual((yield* search({ display_name: "digits sums" })).ids, [first])
        assert.deepStrictEqual((yield* search({ session_id: first })).ids, [first])
        assert.deepStrictEqual((yield* search({ user_metadata: { lr: "1e-4" } })).ids, [second])
        yield* Api.post(`/sessions/${first}/finish`, { reason: { type: "errored" }, detail: "out of data" })
        const errored = { statuses: [{ type: "client_finished", reasons: ["errored"] }] }
        const { found, ids } = yield* search(errored)
        assert.deepStrictEqual(ids, [first])
        const status = { type: "client_finished", reason: { type: "errored" }, detail: "out of data" }
        assert.deepInclude(found[0], { status, checkpoints_count: 0, display_name: "Sums of two digits" })
      }))

    it.effect("continues after the last session of the previous page", () =>
      Effect.gen(function*() {
        const ids = yield* Effect.forEach(["a", "b", "c"], (letter) => named(`page ${letter}`))
        const first = yield* search({ display_name: "page", limit: 2 })
        const second = yield* search({ display_name: "page", limit: 2, cursor: first.cursor })
        assert.deepStrictEqual([...first.ids, ...second.ids], ids.reverse())
        assert.isNull(second.cursor)
      }))

    it.effect("refuses filters by project and by another user, which this server does not support", () =>
      Effect.gen(function*() {
        for (
          const [query, said] of [
            [{ project_ids: ["p"] }, "this server has no projects"],
            [{ owner: { type: "user", owner_urns: ["u"] } }, "owner.type is \"user\", expected own or accessible"]
          ] as const
        ) {
          const { body, status } = yield* Api.post("/sessions/search", query)
          assert.strictEqual(status, 400)
          assert.include(String(body["detail"]), said)
        }
      }))
  })
})

describe("the sessions of a tenant", () => {
  it.effect("are limited to ten thousand, regardless of other tenants", () =>
    Effect.gen(function*() {
      const sessions = yield* ClientSessions.make(() => Effect.void, Quota.usual)
      const open = (tenant: string, id: string) =>
        Effect.provideService(Effect.result(sessions.create(id)), Caller, { tenant })
      const opened = yield* Effect.forEach(Array.range(1, 10_000), (number) => open("alice", `a${number}`))
      assert.isTrue(opened.every(({ _tag }) => _tag === "Success"))
      assert.propertyVal(yield* open("bob", "b1"), "_tag", "Success")
      const refused = yield* open("alice", "a10001")
      assert.deepInclude(refused._tag === "Failure" ? refused.failure : {}, {
        status: 429,
        detail: "10000 sessions are open: finish some"
      })
    }))
})
