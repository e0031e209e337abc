/** Checks that each fault in `SecondFaults.ts` breaks a promise of the API that a correct server keeps. */
import { Tinker } from "@effect-rl/core"
import * as Engine from "@effect-rl/engine/Engine"
import * as TinkerServer from "@effect-rl/tinker/server/TinkerServer"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, layer } from "@effect/vitest"
import { Context, Effect, FileSystem, Layer } from "effect"
import type { HttpClient, HttpClientError } from "effect/http"
import * as Api from "../server/Api.ts"
import * as Sockets from "../Sockets.ts"
import * as EngineServer from "./EngineServer.ts"
import * as Fault from "./Fault.ts"
import * as SecondFaults from "./SecondFaults.ts"

class Folder extends Context.Service<Folder, string>()("test/SecondFaults/Folder") {}

/** One engine that several servers use in turn. */
const engine = Layer.unwrap(Effect.map(Folder, (checkpoints) => Engine.layerOptions({ checkpoints, workers: 1 }))).pipe(
  Layer.provideMerge(
    Layer.effect(Folder, Effect.flatMap(FileSystem.FileSystem, (fs) => fs.makeTempDirectoryScoped()))
  ),
  Layer.provideMerge(NodeServices.layer)
)

const server = (fault: Pick<Fault.Fault, "backend" | "wire">) =>
  Layer.unwrap(
    Effect.map(Folder, (folder) => TinkerServer.layer({ checkpoints: { folder, scheme: "engine" } }))
  ).pipe(
    Layer.provide(Layer.effect(Tinker.Tinker, Effect.map(Tinker.Tinker, fault.backend ?? ((tinker) => tinker)))),
    Layer.provide(Fault.listener(fault)),
    Layer.provideMerge(Sockets.layerTest)
  )

const numbers = (value: unknown) => value as ReadonlyArray<number>

const isNear = (left: number, right: number, tolerance = 1e-3) => Math.abs(left / right - 1) < tolerance

const areNear = (left: ReadonlyArray<number>, right: ReadonlyArray<number>) =>
  left.length === right.length && left.every((value, t) => Math.abs(value - (right[t] ?? NaN)) < 1e-4)

/** The result of a request that is accepted and succeeds. */
const succeeded = (promise: Effect.Success<ReturnType<typeof Api.post>>) =>
  Effect.tap(Api.result(promise), (body) =>
    promise.status === 200 && !("error" in body)
      ? Effect.void
      : Effect.die(new Error(`${promise.status} ${JSON.stringify(promise.body)} ${JSON.stringify(body)}`)))

/** The latest unique request number. */
let counted = 0

const model = Effect.fnUntraced(function*() {
  const session_id = yield* Api.session
  const promise = yield* Api.createModel(session_id, {
    base_model: EngineServer.model,
    lora_config: { rank: 4, seed: 1 }
  })
  const model_id = String((yield* succeeded(promise))["model_id"])
  let number = 0
  /** Sends the model's next request. */
  const send = (path: string, body: Api.Body) => Api.post(path, { model_id, seq_id: ++number, ...body })
  const ask = (path: string, body: Api.Body) => Effect.flatMap(send(path, body), succeeded)
  return { session_id, model_id, send, ask }
})

type Model = Effect.Success<ReturnType<typeof model>>

const tokens = (length: number) => Array.from({ length }, (_, t) => 20 + (37 * t) % 400)

const inputOf = (chunks: ReadonlyArray<ReadonlyArray<number>>) => ({
  chunks: chunks.map((tokens) => ({ type: "encoded_text", tokens }))
})

const datum = (length: number, fields: Readonly<Record<string, ReadonlyArray<number>>>, first = 0) => {
  const all = tokens(first + length + 1).slice(first)
  return {
    model_input: inputOf([all.slice(0, -1)]),
    loss_fn_inputs: {
      target_tokens: { data: all.slice(1), dtype: "int64", shape: [length] },
      ...Object.fromEntries(
        Object.entries(fields).map(([name, data]) => [name, { data, dtype: "float32", shape: [length] }])
      )
    }
  }
}

const filled = (length: number, value: number) => Array.from({ length }, () => value)

const weighted = (length: number, first = 0) => datum(length, { weights: filled(length, 1) }, first)

const pass = (
  { ask }: Model,
  data: ReadonlyArray<Api.Body>,
  loss_fn = "cross_entropy",
  loss_fn_config: Readonly<Record<string, number>> = {}
) => ask("/forward_backward", { forward_backward_input: { data, loss_fn, loss_fn_config } })

const outputOf = (passed: Api.Body, field: string, index = 0) => {
  const outputs = passed["loss_fn_outputs"] as ReadonlyArray<Readonly<Record<string, Api.Body>>>
  return numbers(outputs[index]?.[field]?.["data"])
}

const metricOf = (body: Api.Body, name: string) => Number((body["metrics"] as Api.Body)[name])

const step = ({ ask }: Model, adam_params: Readonly<Record<string, number>> = {}) =>
  ask("/optim_step", { adam_params: { learning_rate: 1e-2, ...adam_params } })

const train = (model: Model, first = 0) => Effect.andThen(pass(model, [weighted(8, first)]), step(model))

const forward = ({ ask }: Model) =>
  Effect.map(
    ask("/forward", { forward_input: { data: [weighted(8)], loss_fn: "cross_entropy" } }),
    (passed) => outputOf(passed, "logprobs")
  )

const snapshot = ({ ask }: Model) =>
  Effect.map(
    ask("/save_weights_for_sampler", { sampling_session_seq_id: ++counted }),
    (saved) => String(saved["sampling_session_id"])
  )

const base = Effect.gen(function*() {
  const session_id = yield* Api.session
  const body = { session_id, sampling_session_seq_id: 0, base_model: EngineServer.model }
  return String((yield* Api.post("/create_sampling_session", body)).body["sampling_session_id"])
})

const sample = (sampling_session_id: string, sampling_params: Api.Body, more: Api.Body = {}) =>
  Effect.flatMap(
    Api.post("/asample", {
      sampling_session_id,
      seq_id: ++counted,
      prompt: inputOf([tokens(8)]),
      sampling_params: { stop: [], ...sampling_params },
      ...more
    }),
    succeeded
  )

interface Sequence {
  readonly tokens: ReadonlyArray<number>
  readonly logprobs: ReadonlyArray<number>
  readonly stop_reason: string
}

const sequencesOf = (sampled: Api.Body) => sampled["sequences"] as ReadonlyArray<Sequence>

const drawn = (sampler: string, sampling_params: Api.Body, more: Api.Body = {}) =>
  Effect.map(
    sample(sampler, { max_tokens: 16, ...sampling_params }, more),
    (sampled) => sequencesOf(sampled).map(({ tokens }) => tokens.join(" "))
  )

const first = (sampled: Api.Body): Sequence =>
  sequencesOf(sampled)[0] ?? { tokens: [], logprobs: [], stop_reason: "nothing was sampled" }

/** A greedy answer, and a position after 0 whose token does not occur earlier in it. */
const greedy = Effect.fnUntraced(function*(sampler: string) {
  const { tokens } = first(yield* sample(sampler, { max_tokens: 16, temperature: 0 }))
  const place = tokens.findIndex((token, t) => t > 0 && tokens.indexOf(token) === t)
  return { tokens, place, at: tokens[place] ?? NaN }
})

const scores = (sampler: string, chunk = tokens(8), more: Api.Body = {}) =>
  Effect.map(
    sample(sampler, { max_tokens: 1 }, { prompt: inputOf([chunk]), prompt_logprobs: true, ...more }),
    (sampled) => numbers(sampled["prompt_logprobs"]).slice(1)
  )

/** Whether the two effects return different values. */
const differ = <A, E, R>(left: Effect.Effect<A, E, R>, right: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.all([left, right]), ([left, right]) => JSON.stringify(left) !== JSON.stringify(right))

const gradNorm = (model: Model) => Effect.map(step(model), (stepped) => metricOf(stepped, "grad_norm"))

/** Data for a policy loss in which every ratio is `ratio`. */
const policy = Effect.fnUntraced(function*(model: Model, ratio: number, advantage: number) {
  const logprobs = (yield* forward(model)).map((logprob) => logprob - Math.log(ratio))
  return datum(8, { logprobs, advantages: filled(8, advantage) })
})

const savedTwice = Effect.fnUntraced(function*() {
  const trained = yield* model()
  const paths: Array<string> = []
  for (const path of ["first", "second"]) {
    paths.push(String((yield* trained.ask("/save_weights_for_sampler", { path }))["path"]))
    yield* train(trained)
  }
  return paths
})

type Kept = Effect.Effect<boolean, HttpClientError.HttpClientError, HttpClient.HttpClient>

/** The promise that each fault breaks, by the fault's name. */
const promises: Readonly<Record<string, Kept>> = {
  seedZeroIsNone: Effect.gen(function*() {
    const sampler = yield* base
    return !(yield* differ(drawn(sampler, { seed: 0 }), drawn(sampler, { seed: 0 })))
  }),
  seedsAsFloat32: Effect.gen(function*() {
    const sampler = yield* base
    return yield* differ(drawn(sampler, { seed: 2 ** 24 }), drawn(sampler, { seed: 2 ** 24 + 1 }))
  }),
  samplesRepeatAfterEight: Effect.gen(function*() {
    const sampled = yield* drawn(yield* base, { seed: 5 }, { num_samples: 16 })
    return new Set(sampled).size > 8
  }),
  unseededAnswersRepeated: Effect.gen(function*() {
    const sampler = yield* base
    return yield* differ(drawn(sampler, {}, { num_samples: 4 }), drawn(sampler, {}, { num_samples: 4 }))
  }),
  filteredLogprobs: Effect.gen(function*() {
    const sampler = yield* base
    const sampled = first(yield* sample(sampler, { max_tokens: 16, seed: 1, top_k: 5 }))
    const scored = yield* scores(sampler, [...tokens(8), ...sampled.tokens])
    return areNear(sampled.logprobs, scored.slice(-sampled.tokens.length))
  }),
  topkHoldsOwnToken: Effect.gen(function*() {
    const sampler = yield* base
    const most = (count: number) =>
      Effect.map(
        sample(sampler, { max_tokens: 1 }, { topk_prompt_logprobs: count }),
        (sampled) =>
          (sampled["topk_prompt_logprobs"] as ReadonlyArray<ReadonlyArray<unknown> | null>)
            .map((list) => list?.slice(0, 2))
      )
    return !(yield* differ(most(2), most(3)))
  }),
  stopsAfterFourIgnored: Effect.gen(function*() {
    const sampler = yield* base
    const { at, place } = yield* greedy(sampler)
    const sampled = yield* sample(sampler, { max_tokens: 16, temperature: 0, stop: [500, 501, 502, 503, at] })
    return first(sampled).tokens.length === place + 1
  }),
  stopAtLimitIsLength: Effect.gen(function*() {
    const sampler = yield* base
    const { at, place } = yield* greedy(sampler)
    const sampled = yield* sample(sampler, { max_tokens: place + 1, temperature: 0, stop: [at] })
    return first(sampled).stop_reason === "stop"
  }),
  firstTokenNeverStops: Effect.gen(function*() {
    const sampler = yield* base
    const { tokens: [stop] } = yield* greedy(sampler)
    return first(yield* sample(sampler, { max_tokens: 16, temperature: 0, stop: [stop] })).tokens.length === 1
  }),
  contextOffByOne: Effect.gen(function*() {
    const sampler = yield* base
    const { tokens: [stop] } = yield* greedy(sampler)
    const { body } = yield* Api.get("/get_server_capabilities")
    const [found] = (body["supported_models"] as ReadonlyArray<Api.Body>).filter(({ model_name }) =>
      model_name === EngineServer.model
    )
    const max_tokens = Number(found?.["max_context_length"]) - 8
    return (yield* Api.post("/asample", {
      sampling_session_id: sampler,
      prompt: inputOf([tokens(8)]),
      sampling_params: { max_tokens, temperature: 0, stop: [stop] }
    })).status === 200
  }),
  snapshotRingOfTwo: Effect.gen(function*() {
    const trained = yield* model()
    const old = yield* snapshot(trained)
    const before = yield* scores(old)
    for (let saves = 1; saves < 3; saves++) yield* Effect.andThen(train(trained), snapshot(trained))
    return areNear(yield* scores(old), before)
  }),
  referenceIsPolicy: Effect.gen(function*() {
    const trained = yield* model()
    const reference = yield* base
    const before = yield* scores(reference)
    yield* Effect.andThen(train(trained), snapshot(trained))
    return areNear(yield* scores(reference), before)
  }),
  promptsKeepOldWeights: Effect.gen(function*() {
    const trained = yield* model()
    const before = yield* scores(yield* snapshot(trained), tokens(32))
    yield* train(trained)
    return !areNear(yield* scores(yield* snapshot(trained), tokens(32)), before)
  }),
  samplesSharedAcrossSessions: Effect.gen(function*() {
    const trained = yield* model()
    const before = yield* scores(yield* snapshot(trained), tokens(8), { seq_id: 0 })
    yield* train(trained)
    return !areNear(yield* scores(yield* snapshot(trained), tokens(8), { seq_id: 0 }), before)
  }),
  samplingSessionsShared: Effect.gen(function*() {
    const found: Array<unknown> = []
    const paths = yield* savedTwice()
    for (const model_path of paths) {
      const body = { session_id: yield* Api.session, sampling_session_seq_id: 0, model_path }
      const id = String((yield* Api.post("/create_sampling_session", body)).body["sampling_session_id"])
      found.push((yield* Api.get(`/samplers/${id}`)).body["model_path"])
    }
    return found.join() === paths.join()
  }),
  remainderDropped: Effect.gen(function*() {
    const [whole, pieces] = [yield* model(), yield* model()]
    const data = Array.from({ length: 9 }, (_, index) => weighted(6, index))
    yield* pass(whole, data)
    yield* Effect.andThen(pass(pieces, data.slice(0, 8)), pass(pieces, data.slice(8)))
    return isNear(yield* gradNorm(whole), yield* gradNorm(pieces))
  }),
  ratiosTruncated: Effect.gen(function*() {
    const [sampled, supervised] = [yield* model(), yield* model()]
    yield* pass(sampled, [yield* policy(sampled, 5, 1)], "importance_sampling")
    yield* pass(supervised, [datum(8, { weights: filled(8, 5) })])
    return isNear(yield* gradNorm(sampled), yield* gradNorm(supervised))
  }),
  lossConfigCached: Effect.gen(function*() {
    const trained = yield* model()
    const data = [yield* policy(trained, 1.65, 1)]
    yield* pass(trained, data, "ppo")
    const wide = yield* pass(trained, data, "ppo", { clip_low_threshold: 0.5, clip_high_threshold: 3 })
    return isNear(metricOf(wide, "loss:sum"), -8 * 1.65)
  }),
  chunksApart: Effect.gen(function*() {
    const trained = yield* model()
    const whole = weighted(8)
    const cut = { ...whole, model_input: inputOf([tokens(8).slice(0, 3), tokens(8).slice(3)]) }
    const passed = yield* pass(trained, [whole, cut])
    return areNear(outputOf(passed, "logprobs", 0), outputOf(passed, "logprobs", 1))
  }),
  refusedPassCounts: Effect.gen(function*() {
    const trained = yield* model()
    const invalid = { ...weighted(8), model_input: inputOf([filled(8, 9999)]) }
    const refused = yield* trained.send("/forward_backward", {
      forward_backward_input: { data: [weighted(8), invalid], loss_fn: "cross_entropy" }
    })
    assert.property(yield* Api.result(refused), "error")
    return (yield* gradNorm(trained)) === 0
  }),
  signalsInBfloat16: Effect.gen(function*() {
    const trained = yield* model()
    const passed = yield* pass(trained, [yield* policy(trained, 1.1, 0.3)], "importance_sampling")
    return isNear(metricOf(passed, "loss:sum"), -8 * 1.1 * 0.3, 1e-4)
  }),
  sharedGradient: Effect.gen(function*() {
    const [one, other] = [yield* model(), yield* model()]
    yield* pass(one, [weighted(8)])
    return (yield* gradNorm(other)) === 0
  }),
  weightDecayOutsideRate: Effect.gen(function*() {
    const norm = Effect.fnUntraced(function*(learning_rate: number) {
      const trained = yield* model()
      yield* train(trained)
      const decayed = yield* step(trained, { learning_rate, weight_decay: 0.1, beta1: 0, beta2: 0 })
      return metricOf(decayed, "update_norm")
    })
    return isNear(yield* norm(2e-3), 2 * (yield* norm(1e-3)))
  }),
  betasOfFirstStep: Effect.gen(function*() {
    const norm = Effect.fnUntraced(function*(beta1: number) {
      const trained = yield* model()
      yield* Effect.andThen(train(trained), pass(trained, [weighted(8, 5)]))
      return metricOf(yield* step(trained, { beta1 }), "update_norm")
    })
    return yield* differ(norm(0.9), norm(0))
  }),
  stepCountForgotten: Effect.gen(function*() {
    const [trained, resumed] = [yield* model(), yield* model()]
    for (let steps = 0; steps < 3; steps++) yield* train(trained, steps)
    const { path } = yield* trained.ask("/save_weights", { path: "third" })
    yield* resumed.ask("/load_weights", { path, optimizer: true })
    const norm = (model: Model) => Effect.map(train(model, 3), (stepped) => metricOf(stepped, "update_norm"))
    return isNear(yield* norm(trained), yield* norm(resumed))
  }),
  overwriteKeepsOld: Effect.gen(function*() {
    const [trained, loaded] = [yield* model(), yield* model()]
    yield* trained.ask("/save_weights", { path: "latest" })
    yield* train(trained)
    const { path } = yield* trained.ask("/save_weights", { path: "latest", overwrite: true })
    yield* loaded.ask("/load_weights", { path, optimizer: false })
    return areNear(yield* forward(loaded), yield* forward(trained))
  }),
  arrivalOrder: Effect.gen(function*() {
    const trained = yield* model()
    const early = yield* trained.send("/optim_step", { seq_id: 2, adam_params: {} })
    yield* trained.ask("/forward_backward", {
      seq_id: 1,
      forward_backward_input: { data: [weighted(8)], loss_fn: "cross_entropy" }
    })
    return metricOf(yield* succeeded(early), "grad_norm") > 0
  }),
  retriedSnapshotConflicts: Effect.gen(function*() {
    const trained = yield* model()
    const save = (sampling_session_seq_id: number) =>
      trained.send("/save_weights_for_sampler", { seq_id: 1, sampling_session_seq_id })
    return !(yield* differ(
      Effect.map(save(0), ({ body }) => body["request_id"]),
      Effect.map(save(1), ({ body }) => body["request_id"])
    ))
  }),
  offsetCountsPages: Effect.gen(function*() {
    for (let models = 0; models < 4; models++) yield* model()
    const idsOf = (query: string) =>
      Effect.map(
        Api.get(`/training_runs?${query}`),
        ({ body }) => (body["training_runs"] as ReadonlyArray<Api.Body>).map(({ training_run_id }) => training_run_id)
      )
    return !(yield* differ(
      idsOf("limit=2&offset=1"),
      Effect.map(idsOf("limit=4"), (all) => all.slice(1, 3))
    ))
  }),
  ttlNeverRemoved: Effect.gen(function*() {
    const trained = yield* model()
    yield* trained.ask("/save_weights", { path: "kept", ttl_seconds: 3600 })
    const checkpoints = `/training_runs/${trained.model_id}/checkpoints`
    yield* Api.put(`${checkpoints}/weights/kept/ttl`, { ttl_seconds: null })
    const { body } = yield* Api.get(checkpoints)
    return (body["checkpoints"] as ReadonlyArray<Api.Body>).every(({ expires_at }) => expires_at === undefined)
  })
}

layer(engine, { excludeTestServices: true })("the second faults", (it) => {
  it.effect("a server without faults keeps every promise that a fault breaks", () =>
    Effect.gen(function*() {
      assert.sameMembers(SecondFaults.faults.map(({ id }) => id), Object.keys(promises))
      for (const [id, kept] of Object.entries(promises)) assert.isTrue(yield* kept, id)
    }).pipe(Effect.provide(server({}))), { concurrent: false })

  it.effect(
    "each fault breaks its promise",
    () =>
      Effect.forEach(SecondFaults.faults, (fault) =>
        (promises[fault.id] ?? Effect.succeed(true)).pipe(
          Effect.provide(server(fault)),
          Effect.map((kept) => assert.isFalse(kept, fault.id))
        )),
    { concurrent: false }
  )
})
