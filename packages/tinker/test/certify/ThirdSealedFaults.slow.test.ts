/**
 * Checks that each fault in `ThirdSealedFaults.ts` is visible: requests that a correct server answers correctly are answered wrongly by a
 * server with the fault.
 */
import { Tinker } from "@effect-rl/core"
import * as Engine from "@effect-rl/engine/Engine"
import * as TinkerServer from "@effect-rl/tinker/server/TinkerServer"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, layer } from "@effect/vitest"
import { Context, Effect, FileSystem, Layer } from "effect"
import { HttpClientRequest } from "effect/http"
import type { HttpClient, HttpClientError, HttpServer } from "effect/http"
import * as Api from "../server/Api.ts"
import * as Sockets from "../Sockets.ts"
import * as EngineServer from "./EngineServer.ts"
import * as Fault from "./Fault.ts"
import * as ThirdSealedFaults from "./ThirdSealedFaults.ts"

class Folder extends Context.Service<Folder, string>()("test/ThirdSealedFaults/Folder") {}

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

/** The result of a request that is accepted and succeeds. */
const succeeded = (promise: Effect.Success<ReturnType<typeof Api.post>>) =>
  Effect.flatMap(Api.poll(promise), ({ body, status }) =>
    promise.status === 200 && status === 200 && !("error" in body)
      ? Effect.succeed(body)
      : Effect.die(new Error(`${promise.status} ${JSON.stringify(promise.body)} ${status} ${JSON.stringify(body)}`)))

const numbers = (value: unknown) => value as ReadonlyArray<number>

const listOf = (body: Api.Body, name: string) => body[name] as ReadonlyArray<Api.Body>

const areNear = (left: ReadonlyArray<number>, right: ReadonlyArray<number>, tolerance = 1e-4) =>
  left.length === right.length && left.every((value, t) => Math.abs(value - (right[t] ?? NaN)) < tolerance)

const model = Effect.fnUntraced(function*(lora: Api.Body = {}) {
  const session_id = yield* Api.session
  const promise = yield* Api.createModel(session_id, {
    base_model: EngineServer.model,
    lora_config: { rank: 4, seed: 1, ...lora }
  })
  const model_id = String((yield* succeeded(promise))["model_id"])
  let number = 0
  /** Sends the model's next request. */
  const send = (path: string, body: Api.Body) =>
    Effect.suspend(() => Api.post(path, { model_id, seq_id: ++number, ...body }))
  const ask = (path: string, body: Api.Body) => Effect.flatMap(send(path, body), succeeded)
  return { session_id, model_id, send, ask }
})

type Model = Effect.Success<ReturnType<typeof model>>

const tokens = (length: number, first = 0) => Array.from({ length }, (_, t) => 20 + (37 * (first + t)) % 400)

const textInput = (tokens: ReadonlyArray<number>) => ({ chunks: [{ type: "encoded_text", tokens }] })

const filled = (length: number, value: number) => Array.from({ length }, () => value)

const datum = (fields: Readonly<Record<string, ReadonlyArray<number>>>, first = 0) => {
  const length = Object.values(fields)[0]?.length ?? 0
  const all = tokens(length + 1, first)
  return {
    model_input: textInput(all.slice(0, -1)),
    loss_fn_inputs: {
      target_tokens: { data: all.slice(1), dtype: "int64", shape: [length] },
      ...Object.fromEntries(
        Object.entries(fields).map(([name, data]) => [name, { data, dtype: "float32", shape: [length] }])
      )
    }
  }
}

const weighted = (weights: ReadonlyArray<number>) => datum({ weights })

const logprobsOf = (passed: Api.Body) => {
  const [output] = passed["loss_fn_outputs"] as ReadonlyArray<Readonly<Record<string, Api.Body>>>
  return numbers(output?.["logprobs"]?.["data"])
}

const pass = (
  { ask }: Model,
  data: ReadonlyArray<Api.Body>,
  loss_fn = "cross_entropy",
  loss_fn_config: Api.Body = {}
) => ask("/forward_backward", { forward_backward_input: { data, loss_fn, loss_fn_config } })

const forward = ({ ask }: Model) =>
  Effect.map(
    ask("/forward", { forward_input: { data: [weighted(filled(6, 1))], loss_fn: "cross_entropy" } }),
    logprobsOf
  )

const step = ({ ask }: Model, adam: Api.Body = {}) =>
  ask("/optim_step", { adam_params: { learning_rate: 1e-2, ...adam } })

/** A pass with a zero gradient, because a step needs a pass. */
const nothing = (trained: Model) => pass(trained, [weighted(filled(6, 0))])

const trainedOnce = (trained: Model) => Effect.andThen(pass(trained, [weighted(filled(6, 1))]), step(trained))

/** Whether the effect changes the model. */
const changes = <E, R>(trained: Model, effect: Effect.Effect<unknown, E, R>) =>
  Effect.gen(function*() {
    const before = yield* forward(trained)
    yield* effect
    return !areNear(before, yield* forward(trained), 1e-6)
  })

/** The latest unique number of a sampling session. */
let sessions = 0

const baseSampler = Effect.gen(function*() {
  const { body } = yield* Api.post("/create_sampling_session", {
    session_id: yield* Api.session,
    sampling_session_seq_id: sessions++,
    base_model: EngineServer.model
  })
  let number = 0
  return (prompt: ReadonlyArray<number>, sampling_params: Api.Body, more: Api.Body = {}) =>
    Effect.flatMap(
      Effect.suspend(() =>
        Api.post("/asample", {
          sampling_session_id: body["sampling_session_id"],
          seq_id: number++,
          prompt: textInput(prompt),
          sampling_params,
          ...more
        })
      ),
      succeeded
    )
})

const sequencesOf = (sampled: Api.Body) =>
  listOf(sampled, "sequences") as ReadonlyArray<{
    readonly tokens: ReadonlyArray<number>
    readonly logprobs: ReadonlyArray<number>
    readonly stop_reason: string
  }>

const prompt = tokens(8)

const greedy = { temperature: 0, max_tokens: 8, stop: [] }

/** The greedy continuation, and its length up to the first occurrence of its least likely token. */
const surprise = Effect.fnUntraced(function*(sample: Effect.Success<typeof baseSampler>) {
  const [sequence] = sequencesOf(yield* sample(prompt, greedy))
  if (sequence === undefined) return yield* Effect.die(new Error("nothing was sampled"))
  const index = sequence.logprobs.indexOf(Math.min(...sequence.logprobs))
  const token = sequence.tokens[index] ?? -1
  return { token, length: sequence.tokens.indexOf(token) + 1 }
})

const snapshot = ({ ask }: Model) =>
  Effect.map(
    Effect.suspend(() => ask("/save_weights_for_sampler", { sampling_session_seq_id: sessions++ })),
    (saved) => String(saved["sampling_session_id"])
  )

const checkpointsOf = ({ model_id }: Model) => `/training_runs/${model_id}/checkpoints`

const listed = (trained: Model) =>
  Effect.map(Api.get(checkpointsOf(trained)), ({ body }) => listOf(body, "checkpoints"))

const archive = (trained: Model, id: string) =>
  Effect.gen(function*() {
    const response = yield* Api.execute(Api.request("GET", `${checkpointsOf(trained)}/${id}/archive`))
    return Buffer.from(yield* response.arrayBuffer).toString("base64")
  })

/** Requests a path outside the API. */
const elsewhere = (path: string, body: Api.Body) =>
  HttpClientRequest.bodyText(HttpClientRequest.make("POST")(path), JSON.stringify(body), "application/json")

const chatting = (more: Api.Body) =>
  elsewhere("/oai/api/v1/chat/completions", {
    model: EngineServer.model,
    messages: [{ role: "user", content: "What is 3 + 4?" }],
    temperature: 1,
    seed: 3,
    ...more
  })

const choiceOf = (body: Api.Body) => listOf(body, "choices")[0] as Readonly<Record<string, unknown>> | undefined

const completed = (more: Api.Body) => Effect.map(Api.send(chatting(more)), ({ body }) => choiceOf(body))

const streamed = (more: Api.Body) =>
  Effect.gen(function*() {
    const response = yield* Api.execute(chatting({ ...more, stream: true }))
    return (yield* response.text).split("\n\n").flatMap((event) => {
      if (!event.startsWith("data: {")) return []
      const delta = choiceOf(JSON.parse(event.slice(6)) as Api.Body)?.["delta"] as Api.Body | undefined
      return typeof delta?.["content"] === "string" ? [delta["content"]] : []
    }).join("")
  })

const promptTokens = (more: Api.Body) =>
  Effect.map(
    Api.send(elsewhere("/anthropic/api/v1/messages", {
      model: EngineServer.model,
      max_tokens: 1,
      messages: [{ role: "user", content: "What is 3 + 4?" }],
      ...more
    })),
    ({ body }) => Number((body["usage"] as Api.Body)["input_tokens"])
  )

const pagesOf = (query: string) => Effect.map(Api.get(`/checkpoints?${query}`), ({ body }) => body)

const cursorOf = (page: Api.Body) => page["cursor"] as Readonly<Record<string, number>>

const pathsOf = (page: Api.Body) => listOf(page, "checkpoints").map(({ tinker_path }) => String(tinker_path))

/** A model with this number of checkpoints. */
const withCheckpoints = Effect.fnUntraced(function*(count: number) {
  const trained = yield* model()
  for (let i = 0; i < count; i++) yield* trained.ask("/save_weights_for_sampler", { path: `c${i}` })
  return trained
})

type Promise = Effect.Effect<
  boolean,
  HttpClientError.HttpClientError,
  HttpClient.HttpClient | HttpServer.HttpServer
>

/** Promises, by the fault that breaks them. */
const promises: Readonly<Record<string, Promise>> = {
  cispoClippedLikePpo: Effect.gen(function*() {
    const trained = yield* model()
    const clipped = datum({ logprobs: filled(6, -60), advantages: filled(6, 1) })
    return yield* changes(trained, Effect.andThen(pass(trained, [clipped], "cispo"), step(trained)))
  }),
  forwardDropsGradients: Effect.gen(function*() {
    const trained = yield* model()
    yield* pass(trained, [weighted(filled(6, 1))])
    return yield* changes(trained, step(trained))
  }),
  lastMicroBatchDropped: Effect.gen(function*() {
    const trained = yield* model()
    const data = [...filled(8, 0), 1].map((weight) => weighted(filled(6, weight)))
    return yield* changes(trained, Effect.andThen(pass(trained, data), step(trained)))
  }),
  laterAdamSettingsIgnored: Effect.gen(function*() {
    const trained = yield* model()
    yield* trainedOnce(trained)
    return !(yield* changes(trained, Effect.andThen(nothing(trained), step(trained, { beta1: 0 }))))
  }),
  warmUpStepSkipped: Effect.gen(function*() {
    const trained = yield* model()
    yield* pass(trained, [weighted(filled(6, 1))])
    yield* step(trained, { learning_rate: 0 })
    return !(yield* changes(trained, Effect.andThen(nothing(trained), step(trained, { beta1: 0 }))))
  }),
  unsetClippingIsOne: Effect.gen(function*() {
    const after = Effect.fnUntraced(function*(grad_clip_norm: number) {
      const trained = yield* model()
      yield* pass(trained, [weighted(filled(6, 100))])
      yield* step(trained, { grad_clip_norm, eps: 1 })
      return yield* forward(trained)
    })
    return areNear(yield* after(0), yield* after(1e9))
  }),
  topPIgnoredWithTopK: Effect.gen(function*() {
    const sample = yield* baseSampler
    const [likeliest] = sequencesOf(yield* sample(prompt, { ...greedy, max_tokens: 2 }))
    const params = { ...greedy, max_tokens: 2, temperature: 1.5, top_p: 1e-6, top_k: 50, seed: 1 }
    return sequencesOf(yield* sample(prompt, params, { num_samples: 8 }))
      .every(({ tokens }) => tokens.join() === likeliest?.tokens.join())
  }),
  longStopStringMissed: Effect.gen(function*() {
    const { body } = yield* Api.send(elsewhere("/oai/api/v1/completions", {
      model: EngineServer.model,
      prompt,
      temperature: 0,
      max_tokens: 12
    }))
    const text = String(choiceOf(body)?.["text"])
    const sample = yield* baseSampler
    const lengthOf = Effect.fnUntraced(function*(more: Api.Body) {
      const [sequence] = sequencesOf(yield* sample(prompt, { temperature: 0, max_tokens: 12, ...more }))
      return sequence?.tokens.length ?? 0
    })
    return (yield* lengthOf({ stop: [text.slice(1, 4)] })) < (yield* lengthOf({}))
  }),
  stopOnLastTokenIsLength: Effect.gen(function*() {
    const sample = yield* baseSampler
    const { length, token } = yield* surprise(sample)
    const [stopped] = sequencesOf(yield* sample(prompt, { ...greedy, max_tokens: length, stop: [token] }))
    return stopped?.stop_reason === "stop"
  }),
  stopTokenLogprobZero: Effect.gen(function*() {
    const sample = yield* baseSampler
    const { token } = yield* surprise(sample)
    const [stopped] = sequencesOf(yield* sample(prompt, { ...greedy, stop: [token] }))
    return (stopped?.logprobs.at(-1) ?? 0) < -0.01
  }),
  logprobsOfFirstSample: Effect.gen(function*() {
    const sample = yield* baseSampler
    const params = { max_tokens: 4, seed: 5, stop: [] }
    const second = sequencesOf(yield* sample(prompt, params, { num_samples: 2 }))[1]
    if (second === undefined) return false
    const scored = yield* sample([...prompt, ...second.tokens], { max_tokens: 1 }, { prompt_logprobs: true })
    return areNear(second.logprobs, numbers(scored["prompt_logprobs"]).slice(prompt.length), 0.01)
  }),
  maskedLogprobsZero: Effect.gen(function*() {
    const passed = yield* pass(yield* model(), [weighted([0, 0, 1])])
    return logprobsOf(passed).every((logprob) => logprob < 0)
  }),
  cachedPromptUnscored: Effect.gen(function*() {
    const sample = yield* baseSampler
    const score = Effect.map(
      sample(tokens(20), { max_tokens: 1 }, { prompt_logprobs: true }),
      ({ prompt_logprobs }) => numbers(prompt_logprobs).slice(1)
    )
    return areNear(yield* score, yield* score)
  }),
  topkPromptOfFive: Effect.gen(function*() {
    const sample = yield* baseSampler
    const sampled = yield* sample(prompt, { max_tokens: 1 }, { prompt_logprobs: true, topk_prompt_logprobs: 8 })
    return (sampled["topk_prompt_logprobs"] as ReadonlyArray<ReadonlyArray<unknown>>)[3]?.length === 8
  }),
  promptScoredForOneSampleAlone: Effect.gen(function*() {
    const sample = yield* baseSampler
    const sampled = yield* sample(prompt, { max_tokens: 1 }, { prompt_logprobs: true, num_samples: 2 })
    return Array.isArray(sampled["prompt_logprobs"]) && sampled["prompt_logprobs"].length === prompt.length
  }),
  replacementKeepsLifetime: Effect.gen(function*() {
    const trained = yield* model()
    yield* trained.ask("/save_weights", { path: "kept", ttl_seconds: 3600 })
    yield* trained.ask("/save_weights", { path: "kept", overwrite: true })
    return (yield* listed(trained)).every(({ expires_at }) => (expires_at ?? null) === null)
  }),
  deletedWithNamesake: Effect.gen(function*() {
    const trained = yield* model()
    yield* trained.ask("/save_weights", { path: "same" })
    yield* trained.ask("/save_weights_for_sampler", { path: "same" })
    yield* Api.remove(`${checkpointsOf(trained)}/weights/same`)
    return (yield* listed(trained)).map(({ checkpoint_id }) => checkpoint_id).join() === "sampler_weights/same"
  }),
  archiveOfNewest: Effect.gen(function*() {
    const trained = yield* model()
    yield* trained.ask("/save_weights_for_sampler", { path: "first" })
    const first = yield* archive(trained, "sampler_weights/first")
    yield* trainedOnce(trained)
    yield* trained.ask("/save_weights_for_sampler", { path: "second" })
    return first.length > 0 && (yield* archive(trained, "sampler_weights/first")) === first
  }),
  seqIdRounded: Effect.gen(function*() {
    const { body } = yield* Api.post("/create_sampling_session", {
      session_id: yield* Api.session,
      sampling_session_seq_id: 0,
      base_model: EngineServer.model
    })
    const sample = (seq_id: string, more: string) =>
      Effect.map(
        Api.postText("/asample", Api.sampleText(String(body["sampling_session_id"]), seq_id, more)),
        ({ body }) => body["request_id"]
      )
    const one = yield* sample("700000000000000001", ",\"seed\":1")
    const other = yield* sample("700000000000000002", ",\"seed\":2")
    return typeof one === "string" && typeof other === "string" && one !== other
  }),
  refusedNumberAwaited: Effect.gen(function*() {
    const trained = yield* model()
    const refused = yield* trained.send("/optim_step", { adam_params: { learning_rate: "none" } })
    const { status } = yield* Effect.flatMap(trained.send("/save_weights", { path: "later" }), Api.poll)
    return refused.status >= 400 && status === 200
  }),
  samplesSharedBySamplers: Effect.gen(function*() {
    const trained = yield* model()
    const scores = (sampling_session_id: string) =>
      Effect.map(
        Effect.flatMap(
          Api.post("/asample", {
            sampling_session_id,
            seq_id: 0,
            prompt: textInput(prompt),
            sampling_params: { max_tokens: 1 },
            prompt_logprobs: true
          }),
          succeeded
        ),
        ({ prompt_logprobs }) => numbers(prompt_logprobs).slice(1)
      )
    const before = yield* Effect.flatMap(snapshot(trained), scores)
    yield* trainedOnce(trained)
    return !areNear(before, yield* Effect.flatMap(snapshot(trained), scores))
  }),
  everythingTrained: Effect.gen(function*() {
    const trained = yield* model({ train_mlp: false })
    const { path } = yield* trained.ask("/save_weights", { path: "part" })
    const { body } = yield* Api.post("/weights_info", { tinker_path: path })
    return body["train_mlp"] === false
  }),
  contextOverstated: Effect.gen(function*() {
    const { body } = yield* Api.get("/get_server_capabilities")
    const stated = listOf(body, "supported_models").find(({ model_name }) => model_name === EngineServer.model)
    const sampler_id = yield* Api.post("/create_sampling_session", {
      session_id: yield* Api.session,
      sampling_session_seq_id: 0,
      base_model: EngineServer.model
    })
    const promise = yield* Api.post("/asample", {
      sampling_session_id: sampler_id.body["sampling_session_id"],
      seq_id: 0,
      prompt: textInput(tokens(Number(stated?.["max_context_length"]) - 1)),
      sampling_params: { max_tokens: 1 }
    })
    return promise.status === 200 && !("error" in (yield* Api.result(promise)))
  }),
  lastCheckpointByName: Effect.gen(function*() {
    const trained = yield* model()
    yield* trained.ask("/save_weights", { path: "step-9" })
    yield* trained.ask("/save_weights", { path: "step-10" })
    const { body } = yield* Api.get(`/training_runs/${trained.model_id}`)
    return (body["last_checkpoint"] as Api.Body)["checkpoint_id"] === "weights/step-10"
  }),
  limitOfTenUnsaid: Effect.gen(function*() {
    yield* withCheckpoints(13)
    const first = yield* pagesOf("limit=12")
    const { limit = 0, offset = 0 } = cursorOf(first)
    const second = yield* pagesOf(`limit=12&offset=${offset + limit}`)
    const all = pathsOf(yield* pagesOf("limit=12&offset=10"))
    const walked = [...pathsOf(first), ...pathsOf(second)]
    return all.slice(0, 2).every((path) => walked.includes(path))
  }),
  totalOfPage: Effect.gen(function*() {
    yield* withCheckpoints(2)
    return (cursorOf(yield* pagesOf("limit=1"))["total_count"] ?? 0) > 1
  }),
  pageAfterLastRepeats: Effect.gen(function*() {
    yield* withCheckpoints(1)
    return pathsOf(yield* pagesOf("limit=5&offset=100000")).length === 0
  }),
  chatTruncationIsStop: Effect.map(
    completed({ max_tokens: 1 }),
    (choice) => choice?.["finish_reason"] === "length"
  ),
  chatStreamLosesEnd: Effect.gen(function*() {
    const whole = (yield* completed({ max_tokens: 60 }))?.["message"] as Api.Body
    return (yield* streamed({ max_tokens: 60 })) === whole["content"]
  }),
  anthropicSystemIgnored: Effect.gen(function*() {
    return (yield* promptTokens({ system: "Answer in one word, and in French." })) > (yield* promptTokens({}))
  })
}

layer(engine, { excludeTestServices: true })("the third sealed faults", (it) => {
  it("are thirty, each with a promise that it breaks", () => {
    assert.lengthOf(ThirdSealedFaults.faults, 30)
    assert.sameMembers(ThirdSealedFaults.faults.map(({ id }) => id), Object.keys(promises))
  })

  for (const [id, kept] of Object.entries(promises)) {
    it.effect(`a server without faults keeps the promise that ${id} breaks`, () =>
      Effect.gen(function*() {
        assert.isTrue(yield* kept)
      }).pipe(Effect.provide(server({}))), { concurrent: false })
  }

  for (const fault of ThirdSealedFaults.faults) {
    it.effect(`${fault.id} breaks its promise`, () =>
      Effect.gen(function*() {
        assert.isFalse(yield* promises[fault.id] ?? Effect.succeed(true))
      }).pipe(Effect.provide(server(fault))), { concurrent: false, timeout: 120_000 })
  }
})
