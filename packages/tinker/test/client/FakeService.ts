/** An in-memory service with one model, whose answers can be lost, delayed or truncated. */
import * as PassRequest from "@effect-rl/tinker/wire/PassRequest"
import * as PassResult from "@effect-rl/tinker/wire/PassResult"
import * as SampleResult from "@effect-rl/tinker/wire/SampleResult"
import { Clock, type Duration, Effect, Layer, Schema } from "effect"
import { HttpClient, HttpClientError, type HttpClientRequest, HttpClientResponse } from "effect/http"
import { zstdDecompressSync } from "node:zlib"

type Body = Readonly<Record<string, unknown>>

/** What happens to a request; without a fault it is answered. */
export type Fault = "lost" | "unanswered" | "silent" | "torn" | {
  readonly status: number
  readonly retryAfter?: number
}

/** Selects the fault for the `index`-th request to `path`. */
export type Faults = (path: string, index: number) => Fault | undefined

/** The first `times` requests to a path fail. */
export const first = (at: string, fault: Fault, times = 1): Faults => (path, index) =>
  path === at && index < times ? fault : undefined

export interface Received {
  readonly method: string
  readonly path: string
  readonly query: Readonly<Record<string, string>>
  readonly body: Readonly<Record<string, unknown>>
  readonly headers: Readonly<Record<string, string | undefined>>
  /** Clock time in milliseconds. */
  readonly at: number
}

/** Overrides of the service's answers, by path. */
export type Routes = Readonly<Record<string, (body: Body, request: Received) => Response | undefined>>

export interface Options {
  readonly faults?: Faults
  /** The client configuration that the service reports. */
  readonly config?: object
  readonly routes?: Routes
  /** How long a request to `path` takes. */
  readonly delay?: (path: string) => Duration.Input | undefined
  /** Called with 1 when a request begins and with −1 when it ends. */
  readonly observe?: (change: 1 | -1) => void
}

export interface FakeService {
  readonly received: Array<Received>
  /** Sequence numbers of the optimizer steps that were carried out. */
  readonly steps: Array<unknown>
  readonly layer: Layer.Layer<HttpClient.HttpClient>
}

const Json = Schema.fromJsonString(Schema.Record(Schema.String, Schema.Unknown))
const decodeJson = Schema.decodeUnknownEffect(Json)

export const json = (value: unknown, status = 200) => Response.json(value, { status })

const protobuf = (bytes: Uint8Array<ArrayBufferLike>) =>
  new Response(new Uint8Array(bytes), { headers: { "content-type": "application/x-protobuf" } })

const model = {
  model_name: "fake",
  max_context_length: 100
}

const floats = (tensor: PassRequest.PassRequest["data"][number]["lossFnInputs"][string] | undefined) =>
  tensor?.encoding.case === "dense"
    ? Array.from(new Float32Array(new Uint8Array(tensor.encoding.value).buffer))
    : undefined

const readBody = Effect.fnUntraced(function*({ body, headers }: HttpClientRequest.HttpClientRequest) {
  if (body._tag !== "Uint8Array") return {}
  if (headers["content-type"] !== "application/x-protobuf") {
    return yield* Effect.orDie(decodeJson(new TextDecoder().decode(body.body)))
  }
  const bytes = headers["content-encoding"] === "zstd" ? zstdDecompressSync(body.body) : body.body
  const { data, forwardOnly, modelId, seqId } = yield* Effect.orDie(PassRequest.decode(bytes))
  const weights = data.map(({ lossFnInputs }) => floats(lossFnInputs["weights"]))
  return { model_id: modelId, seq_id: seqId, datums: data.length, forwardOnly, weights }
})

const sequence = { tokens: Int32Array.of(1, 2), logprobs: Float32Array.of(-1, -2), stopReason: "stop" as const }

/** Creates the service. Its passes return log-probabilities for three tokens per datum. */
export const make = (options: Options = {}): FakeService => {
  const { config = { fwdbwd_max_chunk_len: 2 }, delay = () => undefined, faults = () => undefined } = options
  const { observe = () => {}, routes = {} } = options
  const received: Array<Received> = []
  const steps: Array<unknown> = []
  const futures = new Map<string, () => Response>()
  const once = new Map<string, string>()
  const saved = new Set<string>()
  const counts = new Map<string, number>()

  const promise = (result: () => Response, key?: string) => {
    const known = key === undefined ? undefined : once.get(key)
    const id = known ?? `future-${futures.size}`
    if (known === undefined) futures.set(id, result)
    if (key !== undefined) once.set(key, id)
    return json({ request_id: id })
  }

  const training = (body: Body, result: () => Response, effect: () => void = () => {}) => {
    const key = `${String(body["model_id"])} ${String(body["seq_id"])}`
    if (!once.has(key)) effect()
    return promise(result, key)
  }

  /** Saves are not idempotent, as on some services. */
  const save = (kind: string, body: Body) => {
    const id = `${kind}/${String(body["path"])}`
    if (saved.has(id)) return json({ detail: `${id} exists` }, 409)
    saved.add(id)
    return promise(() => json({ path: `tinker://model/${id}` }))
  }

  const answer = (path: string, body: Body): Response => {
    switch (path) {
      case "/client/config":
        return json(config)
      case "/client/dynamic_config":
        return json({ detail: "Not Found" }, 404)
      case "/create_session":
        return json({ session_id: "session" })
      case "/session_heartbeat":
        return json({ type: "session_heartbeat" })
      case "/get_server_capabilities":
        return json({ supported_models: [model] })
      case "/create_model":
        return promise(() => json({ model_id: "model" }), `model ${String(body["model_seq_id"])}`)
      case "/weights_info":
        return json({ base_model: "fake", is_lora: true, lora_rank: 8 })
      case "/load_weights":
        return promise(() => json({ type: "load_weights" }))
      case "/create_sampling_session":
        return json({ sampling_session_id: "sampler" })
      case "/forward_backward": {
        const outputs = Array.from(
          { length: Number(body["datums"]) },
          () => ({ logprobs: Float32Array.of(-1, -2, -3) })
        )
        return training(body, () => protobuf(PassResult.encode({ outputs, metrics: { "loss:sum": 6 } })))
      }
      case "/optim_step":
        return training(body, () => json({ metrics: { grad_norm: 1 } }), () => steps.push(body["seq_id"]))
      case "/save_weights":
        return save("weights", body)
      case "/save_weights_for_sampler":
        return promise(() => json({ sampling_session_id: "sampler" }))
      case "/training_runs/model/checkpoints":
        return json({
          checkpoints: Array.from(saved, (id) => ({
            checkpoint_id: id,
            checkpoint_type: "training",
            time: "2026-01-01T00:00:00Z",
            tinker_path: `tinker://model/${id}`
          }))
        })
      case "/asample":
        return promise(
          () => protobuf(SampleResult.encode({ sequences: [sequence] })),
          `sample ${String(body["seq_id"])}`
        )
      case "/unload_model":
        return json({ request_id: "none" })
      case "/retrieve_future":
        return futures.get(String(body["request_id"]))?.() ?? json({ detail: "no such promise" }, 404)
      default:
        return json({ detail: `no ${path}` }, 404)
    }
  }

  const respond = Effect.fnUntraced(function*(request: HttpClientRequest.HttpClientRequest, url: URL) {
    const path = url.pathname.replace("/prefix/api/v1", "")
    const length = delay(path)
    if (length !== undefined) yield* Effect.sleep(length)
    const index = counts.get(path) ?? 0
    counts.set(path, index + 1)
    const fault = faults(path, index)
    const reset = new HttpClientError.HttpClientError({
      reason: new HttpClientError.TransportError({ request, description: "connection reset" })
    })
    if (fault === "lost") return yield* reset
    const body = yield* readBody(request)
    const arrived: Received = {
      method: request.method,
      path,
      query: Object.fromEntries(url.searchParams),
      body,
      headers: { ...request.headers },
      at: yield* Clock.currentTimeMillis
    }
    received.push(arrived)
    if (typeof fault === "object") {
      const { retryAfter, status } = fault
      const headers = retryAfter === undefined ? {} : { "retry-after": String(retryAfter) }
      return HttpClientResponse.fromWeb(request, Response.json({ detail: "faulty" }, { status, headers }))
    }
    const response = routes[path]?.(body, arrived) ?? answer(path, body)
    if (fault === "unanswered") return yield* reset
    if (fault === "silent") return yield* Effect.never
    if (fault === "torn") {
      const whole = yield* Effect.promise(() => response.arrayBuffer())
      const torn = whole.slice(0, Math.max(whole.byteLength - 3, 0))
      return HttpClientResponse.fromWeb(request, new Response(torn, { headers: response.headers }))
    }
    return HttpClientResponse.fromWeb(request, response)
  })

  const client = HttpClient.make((request, url) =>
    Effect.acquireUseRelease(
      Effect.sync(() => observe(1)),
      () => respond(request, url),
      () => Effect.sync(() => observe(-1))
    )
  )

  return { received, steps, layer: Layer.succeed(HttpClient.HttpClient, client) }
}
