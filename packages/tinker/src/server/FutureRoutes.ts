/** Results of accepted requests. */
import { TinkerError } from "@effect-rl/core"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Option from "effect/Option"
import * as Wire from "../wire/Future.ts"
import * as PassResult from "../wire/PassResult.ts"
import * as SampleResult from "../wire/SampleResult.ts"
import type { Answer } from "./Answer.ts"
import * as Body from "./Body.ts"
import type { Parts } from "./Parts.ts"

const protobuf = "application/x-protobuf"

const wantsProtobuf = Effect.map(
  HttpServerRequest.HttpServerRequest,
  ({ headers }) => headers["accept"]?.includes(protobuf) ?? false
)

const binary = (bytes: Uint8Array) => HttpServerResponse.uint8Array(bytes, { contentType: protobuf })

const success = (answer: Answer, asProtobuf: boolean) => {
  switch (answer._tag) {
    case "Plain":
      return HttpServerResponse.jsonUnsafe(answer.body)
    case "Pass":
      return asProtobuf
        ? binary(PassResult.encode(answer.result))
        : HttpServerResponse.jsonUnsafe(PassResult.toJson(answer.result))
    case "Sample":
      return asProtobuf
        ? binary(SampleResult.encode(answer.response))
        : HttpServerResponse.jsonUnsafe(SampleResult.toJson(answer.response))
  }
}

/** The reason of a defect is in the log. */
const unexpected = new TinkerError.TinkerError({
  operation: "server",
  reason: new TinkerError.Unavailable({ detail: "the request failed for a reason of the server's own; see its log" })
})

/** A failed request is a result: the poll itself went well. */
const failure = ({ checkpoints }: Parts, cause: Cause.Cause<TinkerError.TinkerError>) => {
  const error = Option.getOrElse(Cause.findErrorOption(cause), () => unexpected)
  return Effect.map(
    Effect.orDie(Wire.encodeFailed(Wire.failed(checkpoints.paths.clientError(error).reason))),
    (body) => HttpServerResponse.jsonUnsafe(body)
  )
}

const waiting = (request_id: string) =>
  HttpServerResponse.jsonUnsafe(
    { type: "try_again", request_id, queue_state: "active" } satisfies typeof Wire.TryAgain.Type,
    { status: 408 }
  )

const retrieve = (parts: Parts) =>
  Effect.gen(function*() {
    const { value: { request_id } } = yield* Body.json(Wire.RetrieveRequest)
    const asProtobuf = yield* wantsProtobuf
    const result = yield* parts.futures.poll(request_id)
    if (Option.isNone(result)) return waiting(request_id)
    return Exit.isSuccess(result.value)
      ? success(result.value.value, asProtobuf)
      : yield* failure(parts, result.value.cause)
  })

const cancel = ({ futures }: Parts) =>
  Effect.gen(function*() {
    const { value: { request_id } } = yield* Body.json(Wire.CancelRequest)
    yield* futures.cancel(request_id)
    return HttpServerResponse.empty()
  })

export const routes = (parts: Parts) => [
  HttpRouter.route("POST", "/retrieve_future", retrieve(parts)),
  HttpRouter.route("POST", "/cancel_future", cancel(parts))
]
