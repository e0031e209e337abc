/** Requests from official clients that are easily misread, and the answers to them. */
import { Script, TestTokenizer } from "@effect-rl/core/testing"
import * as Engine from "@effect-rl/engine/Engine"
import * as TinkerServer from "@effect-rl/tinker/server/TinkerServer"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, FileSystem, Layer } from "effect"
import * as Sockets from "../Sockets.ts"
import * as Api from "./Api.ts"

const detail = ({ body }: { readonly body: Api.Body }) => String(body["detail"])

/** The error of a result. */
const failure = (promise: { readonly body: Api.Body }) =>
  Effect.map(Api.result(promise), (body) => String(body["error"]))

const sample = (sampling_session_id: string, prompt: ReadonlyArray<object>, more: Api.Body = {}) =>
  Api.post("/asample", {
    sampling_session_id,
    prompt: { chunks: prompt },
    sampling_params: { max_tokens: 3 },
    ...more
  })

/** The engine as the server's backend. */
const engine = Layer.unwrap(Effect.map(
  Effect.flatMap(FileSystem.FileSystem, (fs) => fs.makeTempDirectoryScoped()),
  (folder) =>
    TinkerServer.layer({ checkpoints: { folder, scheme: "engine" } }).pipe(
      Layer.provide(Engine.layerOptions({ checkpoints: folder, workers: 0 }))
    )
)).pipe(Layer.provide(TestTokenizer.layer()), Layer.provideMerge(Sockets.layerTest))

describe("the server with official clients", () => {
  layer(Api.server())((it) => {
    it.effect("recognizes chunks without a type by their other keys, as SDKs up to 0.16.1 send them", () =>
      Effect.gen(function*() {
        const { model_id, session_id } = yield* Api.model
        const body = Api.passBody(model_id, 1, [1, 2])
        const untyped = JSON.parse(JSON.stringify(body).replace("\"type\":\"encoded_text\",", ""))
        assert.property(yield* Api.result(yield* Api.post("/forward_backward", untyped)), "loss_fn_outputs")
        const sampler = yield* Api.sampler(session_id)
        assert.property(yield* Api.result(yield* sample(sampler, [{ tokens: [1, 2] }])), "sequences")
        const image = yield* sample(sampler, [{ data: "AAAA", format: "png", expected_tokens: 1 }, { tokens: [1] }])
        assert.property(yield* Api.result(image), "sequences")
      }))

    it.effect("refuses, by name, an image without a number of positions", () =>
      Effect.gen(function*() {
        const sampler = yield* Api.sampler(yield* Api.session)
        const promise = yield* sample(sampler, [{ tokens: [1] }, { type: "image", data: "AAAA", format: "png" }])
        assert.include(yield* failure(promise), "chunks[1] is an image without expected_tokens: give the number")
      }))

    it.effect("refuses, by name, an unsupported optimizer of a model, a step and a loaded state", () =>
      Effect.gen(function*() {
        const { model_id, session_id } = yield* Api.model
        const created = yield* Api.createModel(session_id, { model_seq_id: 1, optimizer_config: { type: "dimuon" } })
        assert.include(yield* failure(created), "optimizer_config.type is \"dimuon\", expected \"adamw\"")
        const step = yield* Api.post("/optim_step", {
          model_id,
          seq_id: 1,
          optimizer_params: { type: "dimuon", learning_rate: 1e-3 }
        })
        assert.include(yield* failure(step), "optimizer_params.type is \"dimuon\", expected adam_params")
        const { path } = yield* Api.saved(model_id, 2, "state")
        const optimizer = { path, optimizer_config: { type: "dimuon" } }
        const late = yield* Api.post("/load_weights", { model_id, seq_id: 3, ...optimizer })
        assert.include(yield* failure(late), "optimizer_config.type is \"dimuon\", expected \"adamw\"")
        const loaded = yield* Api.post("/load_weights", { session_id, model_seq_id: 2, ...optimizer })
        assert.strictEqual(loaded.status, 400)
        assert.include(detail(loaded), "optimizer_config.type is \"dimuon\", expected \"adamw\"")
      }))

    it.effect("accepts the base model next to a checkpoint's path, and refuses any other, naming both", () =>
      Effect.gen(function*() {
        const { model_id, session_id } = yield* Api.model
        const { path } = yield* Effect.flatMap(Api.saveForSampler(model_id, 1, { path: "final" }), Api.result)
        const create = (sampling_session_seq_id: number, base_model: string) =>
          Api.post("/create_sampling_session", { session_id, sampling_session_seq_id, base_model, model_path: path })
        const both = yield* create(8, Script.defaultModel)
        const sampler = String(both.body["sampling_session_id"])
        assert.property(yield* Api.result(yield* sample(sampler, [{ tokens: [1, 2] }])), "sequences")
        const other = yield* create(9, "nobody/else")
        assert.strictEqual(other.status, 400)
        assert.include(
          detail(other),
          `base_model is "nobody/else", expected "${Script.defaultModel}", the base model of ${path}`
        )
      }))

    it.effect("knows a model created from a state by one id for model, run and session", () =>
      Effect.gen(function*() {
        const { model_id: source, session_id } = yield* Api.model
        const { path } = yield* Api.saved(source, 1, "state")
        const promise = yield* Api.post("/load_weights", { session_id, model_seq_id: 1, path })
        const model_id = String((yield* Api.result(promise))["model_id"])
        const saved = yield* Api.saved(model_id, 1, "own")
        assert.strictEqual(saved["path"], `tinker://${model_id}/weights/own`)
        const run = yield* Api.get(`/training_runs/${model_id}`)
        assert.strictEqual(run.body["training_run_id"], model_id)
        const { body } = yield* Api.get(`/training_runs/${model_id}/checkpoints`)
        const ids = (body["checkpoints"] as ReadonlyArray<Api.Body>).map(({ checkpoint_id }) => checkpoint_id)
        assert.deepStrictEqual(ids, ["weights/own"])
        const session = yield* Api.get(`/sessions/${session_id}`)
        assert.deepStrictEqual(session.body["training_run_ids"], [source, model_id])
      }))

    it.effect("reports how many candidates a position may have", () =>
      Effect.gen(function*() {
        const sampler = yield* Api.sampler(yield* Api.session)
        for (const field of ["topk_prompt_logprobs", "topk_sample_logprobs"]) {
          for (const asked of [21, -1]) {
            const refused = yield* sample(sampler, [{ tokens: [1, 2] }], { [field]: asked })
            assert.strictEqual(refused.status, 400)
            assert.include(detail(refused), `${field} is ${asked}, expected 0 to 20`)
          }
        }
      }))

    it.effect("refuses to list the checkpoints of an unknown run, and returns an empty list for a run without any", () =>
      Effect.gen(function*() {
        const { model_id } = yield* Api.model
        assert.deepInclude(yield* Api.get(`/training_runs/${model_id}/checkpoints`), { body: { checkpoints: [] } })
        const unknown = yield* Api.get("/training_runs/nobody/checkpoints")
        assert.strictEqual(unknown.status, 404)
        assert.include(detail(unknown), "no training run \"nobody\"")
      }))

    it.effect("returns an empty list for an ended run that lost its checkpoints, and answers 404 with the reason for the run itself", () =>
      Effect.gen(function*() {
        const { model_id, session_id } = yield* Api.model
        yield* Api.saved(model_id, 1, "only")
        yield* Api.remove(`/training_runs/${model_id}/checkpoints/weights/only`)
        yield* Api.post(`/sessions/${session_id}/finish`, {})
        const list = yield* Api.get(`/training_runs/${model_id}/checkpoints`)
        assert.deepInclude(list, { status: 200, body: { checkpoints: [] } })
        const run = yield* Api.get(`/training_runs/${model_id}`)
        assert.strictEqual(run.status, 404)
        assert.include(detail(run), "has ended, and its checkpoints are gone")
      }))

    it.effect("refuses filters by project, because it has no projects", () =>
      Effect.gen(function*() {
        const listings = ["/training_runs", "/checkpoints", "/sessions", "/audit", "/billing/usage/checkpoints/current"]
        for (const path of listings) {
          const refused = yield* Api.get(`${path}?project_id=p`)
          assert.strictEqual(refused.status, 400, path)
          assert.include(detail(refused), "project_id is given: this server has no projects")
        }
      }))

    it.effect("lists the newest session first", () =>
      Effect.gen(function*() {
        const first = yield* Api.session
        const second = yield* Api.session
        const { body } = yield* Api.get("/sessions")
        const ours = (body["sessions"] as ReadonlyArray<string>).filter((id) => [first, second].includes(id))
        assert.deepStrictEqual(ours, [second, first])
      }))
  })

  layer(Api.server())((it) => {
    it.effect("reports checkpoint storage, without prices", () =>
      Effect.gen(function*() {
        const { model_id } = yield* Api.model
        for (const seq_id of [1, 2]) yield* Api.saved(model_id, seq_id, `s${seq_id}`)
        const { body } = yield* Api.get("/billing/usage/checkpoints/current")
        const { checkpoints } = (yield* Api.get("/checkpoints")).body as {
          readonly checkpoints: ReadonlyArray<{ readonly size_bytes: number }>
        }
        const size_bytes = checkpoints.reduce((sum, checkpoint) => sum + checkpoint.size_bytes, 0)
        assert.deepStrictEqual(body, {
          data: [{
            user_name: "local",
            checkpoint_count: 2,
            size_bytes,
            size_gigabytes: size_bytes / 1e9
          }]
        })
      }))
  })

  layer(engine, { excludeTestServices: true })((it) => {
    const base_model = "effect-rl/tiny-64"

    it.effect("supports ranks of 64 and 128, which recipes use, and names a checkpoint of another rank by its client path", () =>
      Effect.gen(function*() {
        const session_id = yield* Api.session
        const create = Effect.fnUntraced(function*(model_seq_id: number, rank: number) {
          const promise = yield* Api.createModel(session_id, { model_seq_id, base_model, lora_config: { rank } })
          return String((yield* Api.result(promise))["model_id"])
        })
        const model_id = yield* create(0, 128)
        const { path } = yield* Api.saved(model_id, 1, "state")
        const promise = yield* Api.post("/load_weights", { model_id: yield* create(1, 64), seq_id: 1, path })
        const error = yield* failure(promise)
        assert.include(error, `tinker://${model_id}/weights/state has rank 128`)
        assert.notInclude(error, "engine://")
      }))

    it.effect("answers K targets at each position with log-probabilities (N, K) and losses (N)", () =>
      Effect.gen(function*() {
        const created = yield* Api.createModel(yield* Api.session, { base_model, lora_config: { rank: 4 } })
        const model_id = String((yield* Api.result(created))["model_id"])
        const outputs = Effect.fnUntraced(
          function*(seq_id: number, shape: ReadonlyArray<number>, targets: object, weights: object) {
            const loss_fn_inputs = {
              target_tokens: { data: targets, dtype: "int64", shape },
              weights: { data: weights, dtype: "float32", shape }
            }
            const data = [{ model_input: { chunks: [{ tokens: [1, 2, 3] }] }, loss_fn_inputs }]
            const body = yield* Api.result(
              yield* Api.post("/forward", { model_id, seq_id, forward_input: { data, loss_fn: "cross_entropy" } })
            )
            return (body["loss_fn_outputs"] as ReadonlyArray<
              Record<string, { data: Array<number>; shape: Array<number> }>
            >)[0]
          }
        )
        const weights = [0.25, 0.75, 1, 0, 0.5, 0.5]
        const both = yield* outputs(1, [3, 2], [4, 5, 6, 7, 8, 9], weights)
        const first = yield* outputs(2, [3], [4, 6, 8], [1, 1, 1])
        const second = yield* outputs(3, [3], [5, 7, 9], [1, 1, 1])
        assert.deepStrictEqual(both?.["logprobs"]?.shape, [3, 2])
        const logprobs = both?.["logprobs"]?.data ?? []
        const expected = [0, 1, 2].flatMap((t) => [first?.["logprobs"]?.data[t], second?.["logprobs"]?.data[t]])
        logprobs.forEach((logprob, i) => assert.closeTo(logprob, expected[i] ?? NaN, 1e-5))
        assert.deepStrictEqual(both?.["elementwise_loss"]?.shape, [3])
        const lossAt = (t: number) =>
          -[0, 1].reduce((sum, k) => sum + (weights[2 * t + k] ?? NaN) * (logprobs[2 * t + k] ?? NaN), 0)
        both?.["elementwise_loss"]?.data.forEach((loss, t) => assert.closeTo(loss, lossAt(t), 1e-5))
      }))
  })
})
