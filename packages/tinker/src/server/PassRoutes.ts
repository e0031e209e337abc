/** Routes for training passes, in protobuf or JSON. */
import { TinkerError } from "@effect-rl/core"
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as Schema from "effect/Schema"
import * as Gradually from "../wire/Gradually.ts"
import * as PassData from "../wire/PassData.ts"
import type * as PassRequest from "../wire/PassRequest.ts"
import * as Answer from "./Answer.ts"
import * as Body from "./Body.ts"
import { Caller } from "./Caller.ts"
import type { Model } from "./ClientSession.ts"
import * as ElementwiseLoss from "./ElementwiseLoss.ts"
import * as GraphPass from "./GraphPass.ts"
import { type HttpRefusal, invalid } from "./HttpRefusal.ts"
import type * as PassWork from "./PassWork.ts"
import type { RouteServices } from "./RouteServices.ts"
import { Strictness } from "./Strictness.ts"
import * as Submission from "./Submission.ts"

/** Memory per token of a sampled result, the unit in which results and requests are measured. */
const bytesPerToken = 16

const nonEmpty = <A>(data: ReadonlyArray<A>) =>
  Arr.isReadonlyArrayNonEmpty(data)
    ? Effect.succeed(data)
    : Effect.fail(new TinkerError.Rejected({ detail: "data is empty, expected at least one datum" }))

/** The session's loss with the id that the request names. */
const graphOf = Effect.fnUntraced(function*({ session }: Model, request: PassRequest.PassRequest) {
  const id = yield* PassData.lossId(request)
  const graph = session.losses.get(id)
  return graph ?? (yield* new TinkerError.Rejected({
    detail: `loss_fn_config.loss_id is "${id}", expected one that create_custom_loss gave in this session`
  }))
})

const runGraph = Effect.fnUntraced(function*(
  { lossThread: thread }: RouteServices,
  model: Model,
  request: PassRequest.PassRequest,
  operation: string
) {
  const { data, graph } = yield* Submission.named(operation)(Effect.gen(function*() {
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

const runNamed = Effect.fnUntraced(function*({ client }: Model, pass: PassRequest.Pass, operation: string) {
  const data = yield* Submission.named(operation)(nonEmpty(pass.data))
  const pending = yield* pass.forwardOnly ? client.forward(data, pass.loss) : client.forwardBackward(data, pass.loss)
  return Effect.flatMap(pending.await, ({ logprobs, metrics }) =>
    Effect.map(
      Gradually.forEach(data, ({ modelInput }) => modelInput.length, (datum, index) =>
        Effect.sync(() => {
          const found = logprobs[index] ?? new Float32Array()
          return {
            logprobs: found,
            ...("candidates" in datum.inputs ? { candidates: datum.inputs.candidates } : {}),
            elementwiseLoss: ElementwiseLoss.of(datum, pass.loss, found)
          }
        })),
      (outputs) => Answer.Pass({ result: { metrics, outputs } })
    ))
})

const decodeReason = Schema.decodeEffect(TinkerError.Reason)

/** Runs a pass. An invalid request also takes its turn, so later requests do not wait for it. */
const run = Effect.fnUntraced(
  function*(services: RouteServices, model: Model, { work }: PassWork.Read, operation: string) {
    switch (work._tag) {
      case "Graph":
        return yield* runGraph(services, model, work.request, operation)
      case "Pass":
        return yield* runNamed(model, work.pass, operation)
      case "Refused": {
        const reason = yield* Effect.orDie(decodeReason(work.reason))
        return yield* Effect.fail(new TinkerError.TinkerError({ operation, reason }))
      }
    }
  }
)

const accept = Effect.fnUntraced(function*(services: RouteServices, read: PassWork.Read) {
  const { bytes, content, forwardOnly, modelId, seqId } = read
  const model = yield* services.sessions.model(modelId)
  const operation = forwardOnly ? "forward" : "forwardBackward"
  return yield* Submission.training(services, {
    operation,
    model,
    sequence: seqId,
    content,
    tokens: Math.ceil(bytes / bytesPerToken),
    submit: run(services, model, read, operation)
  })
})

/** Takes the turn of a refused JSON pass. */
const refused = (services: RouteServices, turn: PassWork.Turn | undefined, refusal: HttpRefusal) =>
  Effect.andThen(turn === undefined ? Effect.void : Submission.passTurn(services, turn), Effect.fail(refusal))

const received = Effect.fnUntraced(function*(services: RouteServices, format: PassWork.Order["format"]) {
  const { tenant = "" } = yield* Caller
  const reply = yield* Body.within((blocks) => services.passThread.read(tenant, { blocks, format }))
  if (reply._tag === "Malformed") return yield* refused(services, reply.turn, invalid(reply.detail))
  const { modelId: model_id, seqId: seq_id, unread } = reply
  if (unread !== undefined) {
    const turn = format === "protobuf" ? undefined : { model_id, seq_id }
    yield* Effect.catch((yield* Strictness).unread(unread), (refusal) => refused(services, turn, refusal))
  }
  return yield* accept(services, reply)
})

const forwardBackward = (services: RouteServices) =>
  Effect.flatMap(
    HttpServerRequest.HttpServerRequest,
    ({ headers }) =>
      received(services, headers["content-type"]?.includes("application/x-protobuf") ? "protobuf" : "forward_backward")
  )

export const routes = (services: RouteServices) => [
  HttpRouter.route("POST", "/forward_backward", forwardBackward(services)),
  HttpRouter.route("POST", "/forward", received(services, "forward"))
]
