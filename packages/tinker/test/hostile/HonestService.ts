/**
 * The answers of a well-behaved service, and a record of what it did. A numbered request is carried out once, however often it arrives. It
 * is carried out on arrival without waiting for smaller numbers, so only the client can ensure the order; `OwnServer` waits for them.
 */
import * as Json from "@effect-rl/agent/wire/Json"
import type { ModelInput, Sampling } from "@effect-rl/core/backend"
import * as Future from "@effect-rl/tinker/wire/Future"
import * as PassData from "@effect-rl/tinker/wire/PassData"
import * as PassRequest from "@effect-rl/tinker/wire/PassRequest"
import * as PassResult from "@effect-rl/tinker/wire/PassResult"
import * as Sample from "@effect-rl/tinker/wire/Sample"
import * as SampleResult from "@effect-rl/tinker/wire/SampleResult"
import { Effect, Schema } from "effect"

export interface Request {
  readonly method: string
  /** Below `/api/v1`. */
  readonly path: string
  /** The kind of work whose result is requested. */
  readonly kind: string | undefined
  readonly isProtobuf: boolean
  readonly body: Uint8Array
}

export interface Reply {
  readonly status: number
  readonly body: Uint8Array
  /** The protobuf message type of the body, if any. */
  readonly protobuf?: "pass" | "sample"
}

/** What was done to a model. */
export interface Deed {
  readonly model: string
  /** The sequence number, if the service uses it. */
  readonly sequence?: number
  /** `step` with a learning rate, `learn` with a datum's first target, or a save. */
  readonly what: string
}

export interface HonestService {
  readonly answer: (request: Request) => Effect.Effect<Reply>
  /** In order of execution. */
  readonly deeds: Effect.Effect<ReadonlyArray<Deed>>
}

export const contextLength = 100

/** The log-probabilities of a datum, derived from its targets. */
export const logprobsOf = (targetTokens: Int32Array) => Float32Array.from(targetTokens, (token) => -1 - token % 7)

export const promptLogprobsOf = ({ length }: ModelInput.ModelInput) =>
  Float32Array.from({ length }, (_, t) => t === 0 ? NaN : -t)

/** The answer to a sampling request, derived from its seed. */
export const responseTo = ({ numSamples = 1, params, prompt, promptLogprobs }: Sampling.SampleRequest) => {
  const seed = params.seed ?? 0
  const response: Sampling.SampleResponse = {
    sequences: Array.from({ length: numSamples }, (_, index) => ({
      tokens: Int32Array.of(seed, index, 7).slice(0, params.maxTokens),
      logprobs: Float32Array.of(-0.5, -index - 1, -2).slice(0, params.maxTokens),
      stopReason: "stop" as const
    })),
    ...(promptLogprobs === true
      ? { promptLogprobs: promptLogprobsOf(prompt) }
      : {})
  }
  return response
}

const encoder = new TextEncoder()

export const json = (value: unknown, status = 200): Reply => ({
  status,
  body: encoder.encode(JSON.stringify(value))
})

/** A very long id, because services choose the length of their ids. */
export const longId = "9".repeat(3000)

const notFound = (what: string) => json({ detail: `no ${what}` }, 404)

const Body = Schema.Record(Schema.String, Schema.Unknown)
const decodeBody = Json.decodeText(Body)
const decodeMany = Json.decodeText(Future.RetrieveManyRequest)
const decodeSample = Json.decodeText(Sample.SampleRequest)

/** Small limits, so a few requests reach them. */
const limits = { fwdbwd_max_chunk_len: 2, sample_max_concurrent_requests: 3 }

/** Client configuration options that a service may set. */
export interface Wishes {
  readonly parallel_fwdbwd_chunks?: boolean
  readonly proto_compress_fwdbwd?: boolean
  readonly sample_use_retrieve_futures?: boolean
}

export const make = (wishes: Wishes = {}): HonestService => {
  const deeds: Array<Deed> = []
  const futures = new Map<string, Reply>()
  const accepted = new Map<string, string>()
  const saved = new Set<string>()
  /** Ids of finished samples by sampler, in the order in which they arrived. */
  const finished = new Map<string, Array<string>>()
  let created = 0

  /** Carries out a request the first time its key is seen. */
  const once = (key: string, carryOut: () => Reply) => {
    const known = accepted.get(key)
    const id = known ?? `future-${futures.size}`
    if (known === undefined) {
      accepted.set(key, id)
      futures.set(id, carryOut())
    }
    return json({ request_id: id })
  }

  const pass = Effect.fnUntraced(function*(body: Uint8Array) {
    const { data, forwardOnly, modelId, seqId } = yield* PassData.toPass(yield* PassRequest.decode(body))
    return once(`${modelId} ${seqId}`, () => {
      for (const { inputs } of forwardOnly ? [] : data) {
        deeds.push({ model: modelId, sequence: seqId, what: `learn ${inputs.targetTokens[0]}` })
      }
      const outputs = data.map(({ inputs }) => ({ logprobs: logprobsOf(inputs.targetTokens) }))
      return {
        status: 200,
        protobuf: "pass",
        body: PassResult.encode({ outputs, metrics: { "loss:sum": data.length } })
      }
    })
  })

  const sample = Effect.fnUntraced(function*(text: string) {
    const request = yield* decodeSample(text)
    const asked = yield* Sample.toRequest(request, contextLength)
    const sampler = request.sampling_session_id ?? ""
    return once(`sample ${sampler} ${request.seq_id}`, () => {
      finished.set(sampler, [...finished.get(sampler) ?? [], `future-${futures.size}`])
      return { status: 200, protobuf: "sample", body: SampleResult.encode(responseTo(asked)) }
    })
  })

  const training = (body: Readonly<Record<string, unknown>>, what: string, result: object) => {
    const [model, sequence] = [String(body["model_id"]), Number(body["seq_id"])]
    return once(`${model} ${sequence}`, () => {
      deeds.push({ model, sequence, what })
      return json(result)
    })
  }

  const learningRate = ({ adam_params }: Readonly<Record<string, unknown>>) =>
    typeof adam_params === "object" && adam_params !== null && "learning_rate" in adam_params
      ? adam_params.learning_rate
      : undefined

  const save = (body: Readonly<Record<string, unknown>>) => {
    const id = `weights/${String(body["path"])}`
    saved.add(id)
    return training(body, `save ${String(body["path"])}`, { path: `tinker://${String(body["model_id"])}/${id}` })
  }

  const listed = ({ prev_cursor = 0, target }: typeof Future.RetrieveManyRequest.Type) => {
    const ids = finished.get(target.sampling_session_id) ?? []
    const completions = ids.slice(prev_cursor).map((request_id) => ({ request_id, state: "finished" }))
    return json({ completions, cursor: ids.length })
  }

  const plain = (path: string, body: Readonly<Record<string, unknown>>): Reply => {
    switch (path) {
      case "/client/config":
        return json({ ...limits, ...wishes })
      case "/create_session":
        return json({ session_id: "session" })
      case "/session_heartbeat":
        return json({ type: "session_heartbeat" })
      case "/get_server_capabilities":
        return json({ supported_models: [{ model_name: "honest", max_context_length: contextLength }] })
      case "/create_model":
        return once(`model ${String(body["model_seq_id"])}`, () => json({ model_id: `model-${created++}` }))
      case "/create_sampling_session":
        return json({ sampling_session_id: `sampler-${String(body["sampling_session_seq_id"])}` })
      case "/optim_step":
        return training(body, `step ${String(learningRate(body))}`, { metrics: { grad_norm: 1 } })
      case "/save_weights":
        return save(body)
      case "/save_weights_for_sampler":
        return training(body, "snapshot", {
          sampling_session_id: `sampler-${String(body["sampling_session_seq_id"])}`
        })
      case "/unload_model":
        return json({ request_id: "unload" })
      case "/retrieve_future":
        return futures.get(String(body["request_id"]).replace(longId, "")) ?? notFound("such promise")
      default:
        return path.endsWith("/checkpoints")
          ? json({
            checkpoints: Array.from(saved, (id) => ({
              checkpoint_id: id,
              checkpoint_type: "training",
              time: "2026-01-01T00:00:00Z",
              tinker_path: `tinker://model/${id}`
            }))
          })
          : notFound(path)
    }
  }

  const answer: HonestService["answer"] = Effect.fnUntraced(function*({ body, isProtobuf, path }) {
    if (isProtobuf) return yield* pass(body)
    const text = new TextDecoder().decode(body)
    if (path === "/asample") return yield* sample(text)
    if (path === "/retrieve_futures") return listed(yield* decodeMany(text))
    return plain(path, text === "" ? {} : yield* decodeBody(text))
  }, Effect.orDie)

  return { answer, deeds: Effect.sync(() => deeds) }
}
