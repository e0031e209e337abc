/** What API clients rely on in the server's answers, one numbered requirement per test. */
import { TinkerError } from "@effect-rl/core"
import type { Script } from "@effect-rl/core/testing"
import * as PassResult from "@effect-rl/tinker/wire/PassResult"
import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import { HttpClientRequest } from "effect/http"
import { bytes, hex } from "../../Vectors.ts"
import * as Api from "../Api.ts"

const failing = new TinkerError.Unavailable({ detail: "the machine is on fire" })

const script: Script.Script = {
  optimStep: ({ learningRate }) => learningRate === 666 ? Effect.fail(failing) : { grad_norm: NaN, update_norm: 0.5 },
  forwardBackward: ({ data }) => ({
    logprobs: data.map(({ modelInput }) => new Float32Array(modelInput.length).fill(-0.5)),
    metrics: { "loss:sum": 1.5, bare: 1, "two:many:colons": 1, "clock:mean": 2 }
  })
}

const protobuf = "application/x-protobuf"

const retrieve = (promise: { readonly body: Api.Body }, accept: string) =>
  Api.execute(HttpClientRequest.bodyText(
    Api.request("POST", "/retrieve_future", { accept }),
    JSON.stringify({ request_id: promise.body["request_id"] }),
    "application/json"
  ))

/** The pass from the specification's byte vector, with one additional field of an unknown number. */
const passWithUnknownField = (model_id: string, seq_id: number) => {
  const id = hex(new TextEncoder().encode(model_id))
  const length = model_id.length.toString(16).padStart(2, "0")
  const datum =
    "1a88010a100a0e0a0c01000000020000000300000012300a0d7461726765745f746f6b656e73121f0a1802000000000000000300" +
    "00000000000004000000000000001802220103121f0a086c6f6770726f627312130a0c00000000000000bf000080be180122010312210a0a61" +
    "6476616e746167657312130a0c000000000000803f0000803f18012201032213696d706f7274616e63655f73616d706c696e67"
  return bytes(`0a${length}${id}10${seq_id.toString(16).padStart(2, "0")}${datum}9a060401020304`)
}

const sendProtobuf = (content: Uint8Array) =>
  Api.send(HttpClientRequest.bodyUint8Array(Api.request("POST", "/forward_backward"), content, protobuf))

describe("the server", () => {
  layer(Api.server({ script }))((it) => {
    it.effect("1. ignores keys and fields it does not know", () =>
      Effect.gen(function*() {
        const { model_id } = yield* Api.model
        const step = yield* Api.post("/optim_step", {
          model_id,
          seq_id: 1,
          adam_params: { learning_rate: 1e-3, dimuon: true },
          colour: "red"
        })
        assert.property(yield* Api.result(step), "metrics")
        const pass = yield* sendProtobuf(passWithUnknownField(model_id, 2))
        assert.property(yield* Api.result(pass), "loss_fn_outputs")
      }))

    it.effect("2. gives every request a text id", () =>
      Effect.gen(function*() {
        const { model_id, session_id } = yield* Api.model
        const sampler = yield* Api.sampler(session_id)
        for (
          const { body } of [
            yield* Api.createModel(session_id, { model_seq_id: 1 }),
            yield* Api.step(model_id, 1),
            yield* Api.pass(model_id, 2, [1, 2]),
            yield* Api.post("/save_weights", { model_id, seq_id: 3, path: "two" }),
            yield* Api.saveForSampler(model_id, 4),
            yield* Api.sample(sampler, 0),
            yield* Api.post("/unload_model", { model_id })
          ]
        ) assert.isString(body["request_id"])
      }))

    it.effect("3. answers in protobuf to clients that accept it, and in JSON to others", () =>
      Effect.gen(function*() {
        const { model_id, session_id } = yield* Api.model
        const pass = yield* Api.pass(model_id, 1, [1, 2])
        const sample = yield* Api.sample(yield* Api.sampler(session_id), 0)
        for (const promise of [pass, sample]) {
          for (const accept of [protobuf, `${protobuf}, application/json`]) {
            assert.include((yield* retrieve(promise, accept)).headers["content-type"], protobuf)
          }
          for (const accept of ["application/json", "*/*"]) {
            assert.include((yield* retrieve(promise, accept)).headers["content-type"], "application/json")
          }
        }
      }))

    it.effect("4. returns only metrics with exactly one colon, including loss:sum and the number of data", () =>
      Effect.gen(function*() {
        const { model_id } = yield* Api.model
        const pass = yield* Api.pass(model_id, 1, [1, 2])
        assert.deepStrictEqual((yield* Api.result(pass))["metrics"], { "loss:sum": 1.5, "clock:mean": 2 })
        const content = yield* (yield* retrieve(pass, protobuf)).arrayBuffer
        const { metrics, outputs } = yield* PassResult.decode(new Uint8Array(content))
        assert.deepStrictEqual(metrics, { "loss:sum": 1.5, "clock:mean": 2 })
        assert.lengthOf(outputs, 1)
      }))

    it.effect("5. omits numbers that JSON cannot represent", () =>
      Effect.gen(function*() {
        const { model_id } = yield* Api.model
        assert.deepStrictEqual((yield* Api.result(yield* Api.step(model_id, 1)))["metrics"], { update_norm: 0.5 })
      }))

    it.effect("6. distinguishes ids that a double cannot distinguish", () =>
      Effect.gen(function*() {
        const sampler = yield* Api.sampler(yield* Api.session)
        const sample = (seq_id: string) => Api.postText("/asample", Api.sampleText(sampler, seq_id))
        const one = yield* sample("1000000000000000001")
        const other = yield* sample("1000000000000000002")
        assert.notStrictEqual(one.body["request_id"], other.body["request_id"])
        assert.strictEqual((yield* sample("1000000000000000002")).body["request_id"], other.body["request_id"])
      }))

    it.effect("7. sends a 400 with its length, because clients attribute one without a length to a proxy", () =>
      Effect.gen(function*() {
        const { headers, status } = yield* Api.post("/create_sampling_session", {
          session_id: yield* Api.session,
          sampling_session_seq_id: 0
        })
        assert.strictEqual(status, 400)
        assert.isAbove(Number(headers["content-length"]), 0)
      }))

    it.effect("9. reports a failure as a result, with the category of its cause", () =>
      Effect.gen(function*() {
        const { model_id } = yield* Api.model
        const server = yield* Api.poll(yield* Api.step(model_id, 1, 666))
        assert.strictEqual(server.status, 200)
        assert.deepInclude(server.body, { category: "server" })
        assert.include(String(server.body["error"]), "on fire")
        const user = yield* Api.poll(yield* Api.step(model_id, 2, -1))
        assert.strictEqual(user.status, 200)
        assert.deepInclude(user.body, { category: "user" })
      }))

    it.effect("14. accepts a single stop text in place of a list", () =>
      Effect.gen(function*() {
        const sampler = yield* Api.sampler(yield* Api.session)
        for (const [index, stop] of [`"x"`, `["x"]`, `[3]`].entries()) {
          const promise = yield* Api.postText("/asample", Api.sampleText(sampler, String(index), `,"stop":${stop}`))
          assert.property(yield* Api.result(promise), "sequences")
        }
      }))

    it.effect("15. finds checkpoints by ids with a slash, and models by ids with colons", () =>
      Effect.gen(function*() {
        const { model_id, session_id } = yield* Api.model
        yield* Api.saved(model_id, 1, "0001")
        const { status } = yield* Api.put(`/training_runs/${model_id}/checkpoints/weights/0001/ttl`, {
          ttl_seconds: 60
        })
        assert.strictEqual(status, 200)
        const path = `tinker://${model_id}/weights/0001`
        const load = yield* Api.post("/load_weights", { session_id, model_seq_id: 7, path, optimizer: true })
        const { model_id: named } = yield* Api.result(load)
        assert.strictEqual(named, `${session_id}:train:7`)
        assert.strictEqual((yield* Api.post("/get_info", { model_id: named })).status, 200)
        assert.strictEqual((yield* Api.remove(`/training_runs/${model_id}/checkpoints/weights/0001`)).status, 204)
      }))

    it.effect("17. announces an id for every sequence of a sample", () =>
      Effect.gen(function*() {
        const sampler = yield* Api.sampler(yield* Api.session)
        const promise = yield* Api.sample(sampler, 0)
        const ids = promise.body["sample_sequence_ids"]
        assert.isTrue(Array.isArray(ids) && ids.length === 2 && ids.every((id) => typeof id === "string"))
        assert.lengthOf((yield* Api.result(promise))["sequences"] as ReadonlyArray<unknown>, 2)
      }))

    it.effect("18. assumes that all layers are trained if a request does not say, and reports the rank", () =>
      Effect.gen(function*() {
        const session_id = yield* Api.session
        const configs = [{ rank: 8 }, { rank: 8, train_mlp: false, train_router: true }]
        for (const [model_seq_id, lora_config] of configs.entries()) {
          const { model_id } = yield* Api.result(yield* Api.createModel(session_id, { model_seq_id, lora_config }))
          const { body } = yield* Api.post("/get_info", { model_id })
          assert.deepInclude(body, { is_lora: true, lora_rank: 8 })
          const { path } = yield* Api.saved(String(model_id), 1, "state")
          const { body: weights } = yield* Api.post("/weights_info", { tinker_path: path })
          assert.deepInclude(weights, { lora_rank: 8, train_attn: true, train_mlp: model_seq_id === 0 })
        }
      }))
  })
})
