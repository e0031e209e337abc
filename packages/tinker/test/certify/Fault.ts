/** A fault of a server: a change of its backend, or of the requests and responses in front of it. */
import type { Loss, Tinker, TinkerError } from "@effect-rl/core"
import type { Datum, Sampling, SamplingClient, TrainingClient } from "@effect-rl/core/backend"
import { Effect, Layer, Option, Schema } from "effect"
import type { NonEmptyReadonlyArray } from "effect/Array"
import { HttpServer, HttpServerRequest, HttpServerResponse } from "effect/http"

/** A request as received; its path includes the query. */
export interface Asked {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
}

export interface Answered {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
}

export type Handler = (asked: Asked) => Effect.Effect<Answered>

export type Backend = Tinker.Tinker["Service"]

/** A fault. Both functions are called once per server, and may keep state for it. */
export interface Fault {
  readonly id: string
  readonly sentence: string
  readonly backend?: (tinker: Backend) => Backend
  readonly wire?: (handler: Handler) => Handler
}

/** Changes every training client. */
export const training =
  (change: (client: TrainingClient.TrainingClient, tinker: Backend) => TrainingClient.TrainingClient) =>
  (tinker: Backend): Backend => ({
    ...tinker,
    createLoraTrainingClient: (options) =>
      Effect.map(tinker.createLoraTrainingClient(options), (client) => change(client, tinker)),
    createTrainingClientFromState: (path, options) =>
      Effect.map(tinker.createTrainingClientFromState(path, options), (client) => change(client, tinker))
  })

/** Changes every sampling client, including those that training clients create. */
export const sampling =
  (change: (client: SamplingClient.SamplingClient, tinker: Backend) => SamplingClient.SamplingClient) =>
  (tinker: Backend): Backend => ({
    ...training((client) => ({
      ...client,
      saveWeightsAndGetSamplingClient: Effect.map(
        client.saveWeightsAndGetSamplingClient,
        (sampler) => change(sampler, tinker)
      )
    }))(tinker),
    createSamplingClient: (from) => Effect.map(tinker.createSamplingClient(from), (client) => change(client, tinker))
  })

type Sample = (request: Sampling.SampleRequest) => Effect.Effect<Sampling.SampleResponse, TinkerError.TinkerError>

/** Changes the answer to every sampling request. */
export const sample = (change: (sample: Sample, client: SamplingClient.SamplingClient) => Sample) =>
  sampling((client) => ({ ...client, sample: change(client.sample, client) }))

/** Changes sampling requests. */
export const asking = (change: (request: Sampling.SampleRequest) => Sampling.SampleRequest) =>
  sample((sample) => (request) => sample(change(request)))

/** Changes the parameters of sampling requests. */
export const params = (change: (params: Sampling.SamplingParams) => Sampling.SamplingParams) =>
  asking((request) => ({ ...request, params: change(request.params) }))

/** Changes each sampled sequence. */
export const sequences = (
  change: (
    sequence: Sampling.SampledTokens,
    request: Sampling.SampleRequest,
    index: number,
    all: ReadonlyArray<Sampling.SampledTokens>
  ) => Sampling.SampledTokens
) =>
  sample((sample) => (request) =>
    Effect.map(sample(request), (response) => ({
      ...response,
      sequences: response.sequences.map((sequence, index, all) => change(sequence, request, index, all))
    }))
  )

/** The object without the named keys. */
export const without = <A extends object, K extends keyof A>(from: A, ...names: ReadonlyArray<K>): Omit<A, K> => {
  const rest = { ...from }
  for (const name of names) delete rest[name]
  return rest
}

type Data<K extends Datum.Kind> = NonEmptyReadonlyArray<Datum.Datum<K>>

type Output = TrainingClient.ForwardBackwardOutput

/** Changes the data of passes with gradients. The outputs are those of the changed pass. */
export const data = (
  change: <K extends Datum.Kind>(data: Data<K>, loss: Loss.Loss<K>) => Data<K>
) =>
  training((client) => ({
    ...client,
    forwardBackward: (data, loss, options) => client.forwardBackward(change(data, loss), loss, options)
  }))

/** Changes the data of passes with gradients, but returns the outputs for the original data. */
export const gradient = (
  change: <K extends Datum.Kind>(data: Data<K>, loss: Loss.Loss<K>) => Data<K>
) =>
  training((client) => ({
    ...client,
    forwardBackward: Effect.fnUntraced(function*(data, loss, options) {
      const reported = yield* client.forward(data, loss)
      const pass = yield* client.forwardBackward(change(data, loss), loss, options)
      return { await: Effect.andThen(pass.await, reported.await) }
    })
  }))

/** Changes the loss of every pass. */
export const losses = (change: <K extends Datum.Kind>(loss: Loss.Loss<K>) => Loss.Loss<K>) =>
  training((client) => ({
    ...client,
    forward: (data, loss) => client.forward(data, change(loss)),
    forwardBackward: (data, loss, options) => client.forwardBackward(data, change(loss), options)
  }))

/** Changes what passes return, with and without gradients. */
export const outputs = (
  change: <K extends Datum.Kind>(output: Output, data: Data<K>, loss: Loss.Loss<K>) => Output
) =>
  training((client) => ({
    ...client,
    forward: (data, loss) =>
      Effect.map(client.forward(data, loss), (pass) => ({
        await: Effect.map(pass.await, (output) => change(output, data, loss))
      })),
    forwardBackward: (data, loss, options) =>
      Effect.map(client.forwardBackward(data, loss, options), (pass) => ({
        await: Effect.map(pass.await, (output) => change(output, data, loss))
      }))
  }))

/** Changes the settings of every optimizer step. */
export const adam = (
  change: (params: Parameters<TrainingClient.TrainingClient["optimStep"]>[0]) => typeof params
) => training((client) => ({ ...client, optimStep: (params) => client.optimStep(change(params)) }))

/** The loss inputs besides the targets: the weights or the advantages. */
export const signalOf = <K extends Datum.Kind>({ inputs }: Datum.Datum<K>): Float32Array => {
  const any: Datum.Inputs[Datum.Kind] = inputs
  return "advantages" in any ? any.advantages : any.weights
}

/** The datum with another signal. */
export const withSignal = <K extends Datum.Kind>(
  datum: Datum.Datum<K>,
  change: (value: number, index: number, all: Float32Array) => number
): Datum.Datum<K> => {
  const changed = signalOf(datum).map((value, index, all) => change(value, index, all))
  return {
    ...datum,
    inputs: { ...datum.inputs, ...("advantages" in datum.inputs ? { advantages: changed } : { weights: changed }) }
  }
}

/** Changes every datum of a non-empty list. */
export const each = <K extends Datum.Kind>(
  [first, ...others]: Data<K>,
  change: (datum: Datum.Datum<K>, index: number) => Datum.Datum<K>
): Data<K> => [change(first, 0), ...others.map((datum, index) => change(datum, index + 1))]

const Fields = Schema.fromJsonString(Schema.Record(Schema.String, Schema.Unknown))

/** The fields of a JSON body; empty for anything else. */
export const fieldsOf = ({ body }: { readonly body: Uint8Array }): Readonly<Record<string, unknown>> =>
  Option.getOrElse(Schema.decodeUnknownOption(Fields)(new TextDecoder().decode(body)), () => ({}))

const encoded = (value: unknown) => new TextEncoder().encode(JSON.stringify(value))

/** The same message with a JSON body. */
export const withBody = <A extends Asked | Answered>(message: A, body: unknown): A => {
  const bytes = encoded(body)
  return { ...message, headers: { ...message.headers, "content-length": String(bytes.length) }, body: bytes }
}

/** A response that the server makes itself. */
export const json = (status: number, body: unknown): Answered => ({
  status,
  headers: { "content-type": "application/json" },
  body: encoded(body)
})

/** Without the query. */
export const pathOf = ({ path }: Asked) => path.replace(/\?.*$/, "").replace(/^\/api\/v1/, "")

/** Changes JSON requests for one path. */
export const requests =
  (path: string, change: (fields: Readonly<Record<string, unknown>>) => Readonly<Record<string, unknown>>) =>
  (handler: Handler): Handler =>
  (asked) => handler(pathOf(asked) === path ? withBody(asked, change(fieldsOf(asked))) : asked)

/** Changes successful JSON responses to requests whose path matches the pattern. */
export const responses = (
  path: RegExp,
  change: (fields: Readonly<Record<string, unknown>>, asked: Asked) => Readonly<Record<string, unknown>>
) =>
(handler: Handler): Handler =>
(asked) =>
  Effect.map(
    handler(asked),
    (answered) =>
      path.test(pathOf(asked)) && answered.status === 200 && answered.headers["content-type"]?.includes("json") === true
        ? withBody(answered, change(fieldsOf(answered), asked))
        : answered
  )

const toAsked = Effect.fnUntraced(function*(request: HttpServerRequest.HttpServerRequest) {
  const body = new Uint8Array(yield* Effect.orDie(request.arrayBuffer))
  return { method: request.method, path: request.url, headers: { ...request.headers }, body } satisfies Asked
})

const toRequest = ({ body, headers, method, path }: Asked) =>
  HttpServerRequest.fromWeb(
    new Request(`http://127.0.0.1${path}`, {
      method,
      headers,
      ...(method === "GET" || method === "HEAD" ? {} : { body: body.slice() })
    })
  )

const toAnswered = (response: HttpServerResponse.HttpServerResponse) =>
  Effect.map(Effect.promise(() => HttpServerResponse.toWeb(response).arrayBuffer()), (body): Answered => ({
    status: response.status,
    headers: {
      ...response.headers,
      ...("contentType" in response.body && response.body.contentType !== undefined
        ? { "content-type": response.body.contentType }
        : {})
    },
    body: new Uint8Array(body)
  }))

const toResponse = ({ body, headers, status }: Answered) =>
  body.length === 0
    ? HttpServerResponse.empty({ status, headers: without(headers, "content-length") })
    : HttpServerResponse.uint8Array(body, {
      status,
      headers: without(headers, "content-length"),
      contentType: headers["content-type"] ?? "application/octet-stream"
    })

/** The server's HTTP listener, with the fault between the socket and the routes. */
export const listener = (
  { wire }: Pick<Fault, "wire">
): Layer.Layer<HttpServer.HttpServer, never, HttpServer.HttpServer> =>
  Layer.effect(
    HttpServer.HttpServer,
    Effect.map(HttpServer.HttpServer, (server) => {
      if (wire === undefined) return server
      return HttpServer.make({
        address: server.address,
        serve: (app, middleware) => {
          const handler = wire((asked) =>
            app.pipe(
              Effect.provideService(HttpServerRequest.HttpServerRequest, toRequest(asked)),
              Effect.flatMap(toAnswered),
              Effect.scoped,
              Effect.orDie
            )
          )
          const served = Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) =>
            Effect.map(Effect.flatMap(toAsked(request), handler), toResponse))
          return middleware === undefined ? server.serve(served) : server.serve(served, middleware)
        }
      })
    })
  )
