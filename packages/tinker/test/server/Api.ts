/** A server over real sockets with a scripted backend, and requests for it. */
import { Script, ScriptedTinker, TestTokenizer } from "@effect-rl/core/testing"
import * as ApiKeys from "@effect-rl/tinker/server/ApiKeys"
import * as TinkerServer from "@effect-rl/tinker/server/TinkerServer"
import { Effect, FileSystem, Layer, Logger } from "effect"
import { HttpClient, HttpClientRequest } from "effect/http"
import * as Sockets from "../Sockets.ts"

export interface Options extends Partial<TinkerServer.TinkerServerOptions> {
  readonly script?: Script.Script
  /** The checkpoint folder. Default: a new folder. */
  readonly folder?: string
}

export const keys = ApiKeys.parse

const newFolder = Effect.flatMap(FileSystem.FileSystem, (fs) => fs.makeTempDirectoryScoped())

export const server = ({ folder, script = {}, ...options }: Options = {}) =>
  Layer.unwrap(Effect.map(
    folder === undefined ? newFolder : Effect.succeed(folder),
    (folder) => TinkerServer.layer({ checkpoints: { folder, scheme: "scripted" }, ...options })
  )).pipe(
    Layer.provideMerge(ScriptedTinker.layer(script)),
    Layer.provide(TestTokenizer.layer()),
    Layer.provideMerge(Sockets.layerTest)
  )

export interface Body {
  readonly [name: string]: unknown
}

export const execute = (request: HttpClientRequest.HttpClientRequest) =>
  Effect.flatMap(HttpClient.HttpClient, (client) => client.execute(request))

export const send = (request: HttpClientRequest.HttpClientRequest) =>
  Effect.gen(function*() {
    const response = yield* execute(request)
    const text = yield* response.text
    const body: Body = text === "" ? {} : JSON.parse(text)
    return { status: response.status, headers: response.headers, body }
  })

type Headers = Readonly<Record<string, string>>

export const request = (method: "GET" | "HEAD" | "POST" | "PUT" | "DELETE", path: string, headers: Headers = {}) =>
  HttpClientRequest.setHeaders(HttpClientRequest.make(method)(`/api/v1${path}`), headers)

export const postText = (path: string, text: string, headers: Headers = {}) =>
  send(HttpClientRequest.bodyText(request("POST", path, headers), text, "application/json"))

export const post = (path: string, body: Body, headers: Headers = {}) => postText(path, JSON.stringify(body), headers)

export const put = (path: string, body: Body) =>
  send(HttpClientRequest.bodyText(request("PUT", path), JSON.stringify(body), "application/json"))

export const get = (path: string, headers: Headers = {}) => send(request("GET", path, headers))

export const remove = (path: string) => send(request("DELETE", path))

export const poll = (promise: { readonly body: Body }) =>
  post("/retrieve_future", { request_id: promise.body["request_id"] })

export const result = (promise: { readonly body: Body }) => Effect.map(poll(promise), ({ body }) => body)

export const session = Effect.map(post("/create_session", { tags: [] }), ({ body }) => String(body["session_id"]))

export const createModel = (session_id: string, more: Body = {}) =>
  post("/create_model", {
    session_id,
    model_seq_id: 0,
    base_model: Script.defaultModel,
    lora_config: { rank: 4 },
    ...more
  })

export const model = Effect.gen(function*() {
  const session_id = yield* session
  const promise = yield* createModel(session_id)
  return { session_id, model_id: String((yield* result(promise))["model_id"]) }
})

export const step = (model_id: string, seq_id: number, learning_rate = 1e-3) =>
  post("/optim_step", { model_id, seq_id, adam_params: { learning_rate } })

export const passBody = (model_id: string, seq_id: number, tokens: ReadonlyArray<number>): Body => ({
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

export const pass = (model_id: string, seq_id: number, tokens: ReadonlyArray<number>) =>
  post("/forward_backward", passBody(model_id, seq_id, tokens))

export const sampler = (session_id: string, sampling_session_seq_id = 0) =>
  Effect.map(
    post("/create_sampling_session", { session_id, sampling_session_seq_id, base_model: Script.defaultModel }),
    ({ body }) => String(body["sampling_session_id"])
  )

/** A sampling request as text, whose ids may have more digits than a double. */
export const sampleText = (sampling_session_id: string, seq_id: string, more = "") =>
  `{"sampling_session_id":"${sampling_session_id}","seq_id":${seq_id},"num_samples":2,` +
  `"prompt":{"chunks":[{"type":"encoded_text","tokens":[1,2,3]}]},"sampling_params":{"max_tokens":3${more}}}`

export const sample = (sampling_session_id: string, seq_id: number) =>
  postText("/asample", sampleText(sampling_session_id, String(seq_id)))

export const saveForSampler = (model_id: string, seq_id: number, more: Body = {}) =>
  post("/save_weights_for_sampler", { model_id, seq_id, sampling_session_seq_id: seq_id, ...more })

export const saved = (model_id: string, seq_id: number, path: string, more: Body = {}) =>
  Effect.flatMap(post("/save_weights", { model_id, seq_id, path, ...more }), result)

const isOfTestClock = (line: string) => line.startsWith("A test is using time")

/** The lines logged while `use` runs. Excludes the warning of the test clock if a test takes more than a second of real time. */
export const logged = Effect.fnUntraced(function*<A, E, R>(use: Effect.Effect<A, E, R>) {
  const lines: Array<string> = []
  const logger = Logger.make(({ message }) => void lines.push(String(message)))
  yield* Effect.provide(use, Logger.layer([logger]))
  return lines.filter((line) => !isOfTestClock(line))
})
