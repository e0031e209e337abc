/** Training passes, in protobuf or JSON. */
import { TinkerError } from "@effect-rl/core"
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as PassData from "../wire/PassData.ts"
import * as PassRequest from "../wire/PassRequest.ts"
import * as PassRequestJson from "../wire/PassRequestJson.ts"
import * as Unknown from "../wire/Unknown.ts"
import * as Accept from "./Accept.ts"
import * as Answer from "./Answer.ts"
import * as Body from "./Body.ts"
import * as ElementwiseLoss from "./ElementwiseLoss.ts"
import * as GraphPass from "./GraphPass.ts"
import type { Parts } from "./Parts.ts"
import { invalid } from "./Refusal.ts"
import type { Model } from "./Session.ts"
import { Strictness } from "./Strictness.ts"

interface Received {
  readonly request: PassRequest.PassRequest
  readonly content: string
  /** The size of the body. */
  readonly bytes: number
}

/** The memory of one token of a sampled result, which results and requests are measured in. */
const bytesPerToken = 16

const nonEmpty = <A>(data: ReadonlyArray<A>) =>
  Arr.isReadonlyArrayNonEmpty(data)
    ? Effect.succeed(data)
    : Effect.fail(new TinkerError.Rejected({ detail: "data is empty, expected at least one datum" }))

/** The loss that the model's session has under this id. */
const graphOf = Effect.fnUntraced(function*({ session }: Model, request: PassRequest.PassRequest) {
  const id = yield* PassData.lossId(request)
  const graph = session.losses.get(id)
  return graph ?? (yield* new TinkerError.Rejected({
    detail: `loss_fn_config.loss_id is "${id}", expected one that create_custom_loss gave in this session`
  }))
})

const runGraph = Effect.fnUntraced(function*(
  { lossThread: thread }: Parts,
  model: Model,
  request: PassRequest.PassRequest,
  operation: string
) {
  const { data, graph } = yield* Accept.named(operation)(Effect.gen(function*() {
    const graph = yield* graphOf(model, request)
    return { graph, data: yield* Effect.flatMap(PassData.toGraphData(request, graph), nonEmpty) }
  }))
  const { client, session: { tenant: caller = "" } } = model
  const pending = yield* GraphPass.submit({ client, thread, caller, forwardOnly: request.forwardOnly }, data, graph)
  return Effect.map(
    pending.await,
    ({ logprobs, metrics }) => Answer.Pass({ result: { metrics, outputs: logprobs.map((logprobs) => ({ logprobs })) } })
  )
})

/** An invalid request uses its turn as well, so that later ones do not wait for it. */
const run = Effect.fnUntraced(function*(
  parts: Parts,
  model: Model,
  request: PassRequest.PassRequest,
  operation: string
) {
  if (request.lossFn === "custom") return yield* runGraph(parts, model, request, operation)
  const pass = yield* Accept.named(operation)(PassData.toPass(request))
  const data = yield* Accept.named(operation)(nonEmpty(pass.data))
  const { client } = model
  const pending = yield* pass.forwardOnly ? client.forward(data, pass.loss) : client.forwardBackward(data, pass.loss)
  return Effect.map(pending.await, ({ logprobs, metrics }) =>
    Answer.Pass({
      result: {
        metrics,
        outputs: data.map((datum, index) => {
          const found = logprobs[index] ?? new Float32Array()
          return {
            logprobs: found,
            ...("candidates" in datum.inputs ? { candidates: datum.inputs.candidates } : {}),
            elementwiseLoss: ElementwiseLoss.of(datum, pass.loss, found)
          }
        })
      }
    }))
})

const accept = Effect.fnUntraced(function*(parts: Parts, { bytes, content, request }: Received) {
  const model = yield* parts.sessions.model(request.modelId)
  const operation = request.forwardOnly ? "forward" : "forwardBackward"
  return yield* Accept.training(parts, {
    operation,
    model,
    sequence: request.seqId,
    content,
    tokens: Math.ceil(bytes / bytesPerToken),
    submit: run(parts, model, request, operation)
  })
})

const malformed = Effect.mapError(({ message }: { readonly message: string }) => invalid(message))

const fromProtobuf = Effect.gen(function*() {
  const bytes = yield* Body.bytes
  const request = yield* malformed(PassRequest.decode(bytes))
  const unread = Unknown.find(request)
  if (unread !== undefined) yield* (yield* Strictness).unread(unread)
  return { request, content: Accept.digest(bytes), bytes: bytes.length }
})

const readBody = Body.parse(PassRequestJson.ForwardBackwardBody)
const readForwardBody = Body.parse(PassRequestJson.ForwardBody)

const fromJson = (text: string) =>
  Effect.flatMap(
    readBody(text),
    (body) => malformed(PassRequestJson.toRequest(body, body.forward_backward_input, false))
  )

const fromForwardJson = (text: string) =>
  Effect.flatMap(
    readForwardBody(text),
    (body) => malformed(PassRequestJson.toRequest(body, body.forward_input, true))
  )

const received = (parts: Parts, decode: typeof fromJson) =>
  Effect.map(Accept.body(parts, decode), ({ content, length, value }) => ({ request: value, content, bytes: length }))

const forwardBackward = (parts: Parts) =>
  HttpServerRequest.HttpServerRequest.pipe(
    Effect.flatMap(({ headers }) =>
      headers["content-type"]?.includes("application/x-protobuf") ? fromProtobuf : received(parts, fromJson)
    ),
    Effect.flatMap((received) => accept(parts, received))
  )

export const routes = (parts: Parts) => [
  HttpRouter.route("POST", "/forward_backward", forwardBackward(parts)),
  HttpRouter.route(
    "POST",
    "/forward",
    Effect.flatMap(received(parts, fromForwardJson), (received) => accept(parts, received))
  )
]
