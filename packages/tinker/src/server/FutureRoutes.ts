/** Routes for the results of accepted requests. */
import type * as Json from "@effect-rl/agent/wire/Json"
import { TinkerError } from "@effect-rl/core"
import type { Sampling } from "@effect-rl/core/backend"
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Option from "effect/Option"
import * as Wire from "../wire/Future.ts"
import * as Gradually from "../wire/Gradually.ts"
import * as PassResult from "../wire/PassResult.ts"
import * as SampleResult from "../wire/SampleResult.ts"
import type { Answer } from "./Answer.ts"
import * as Body from "./Body.ts"
import type { RouteServices } from "./RouteServices.ts"

const protobuf = "application/x-protobuf"

const wantsProtobuf = Effect.map(
  HttpServerRequest.HttpServerRequest,
  ({ headers }) => headers["accept"]?.includes(protobuf) ?? false
)

const binary = (bytes: Uint8Array) => HttpServerResponse.uint8Array(bytes, { contentType: protobuf })

/** Writes JSON with one list in steps, because the list may have millions of numbers. */
const listed = <A, B>(
  rest: object,
  name: string,
  all: ReadonlyArray<A>,
  numbersOf: (one: A) => number,
  json: (one: A) => ReadonlyArray<B>
) =>
  Effect.map(
    Gradually.forEach(all, numbersOf, (one) => Effect.sync(() => json(one).map((part) => JSON.stringify(part)))),
    (texts) =>
      HttpServerResponse.text(`${JSON.stringify(rest).slice(0, -1)},"${name}":[${texts.flat().join(",")}]}`, {
        contentType: "application/json"
      })
  )

const passJson = ({ metrics, outputs }: PassResult.Sent) => {
  const { loss_fn_outputs: _, ...rest } = PassResult.toJson({ metrics, outputs: [] })
  const part = (one: PassResult.SentOutput) => PassResult.toJson({ metrics: {}, outputs: [one] }).loss_fn_outputs
  return listed(rest, "loss_fn_outputs", outputs, ({ logprobs }) => logprobs.length, part)
}

const sampleJson = ({ sequences, ...others }: Sampling.SampleResponse) => {
  const { sequences: _, ...rest } = SampleResult.toJson({ ...others, sequences: [] })
  const part = (one: Sampling.SampleResponse["sequences"][number]) =>
    SampleResult.toJson({ sequences: [one] }).sequences
  return listed(rest, "sequences", sequences, ({ tokens }) => tokens.length, part)
}

const success = (answer: Answer, asProtobuf: boolean) => {
  switch (answer._tag) {
    case "Plain":
      return Effect.succeed(HttpServerResponse.jsonUnsafe(answer.body))
    case "Pass":
      return asProtobuf ? Effect.succeed(binary(PassResult.encode(answer.result))) : passJson(answer.result)
    case "Sample":
      return asProtobuf ? Effect.succeed(binary(SampleResult.encode(answer.response))) : sampleJson(answer.response)
  }
}

/** The error for a defect, whose cause is only logged. */
const unexpected = new TinkerError.TinkerError({
  operation: "server",
  reason: new TinkerError.Unavailable({ detail: "the request failed for a reason of the server's own; see its log" })
})

/** The result of a failed request. The poll itself succeeds. */
const failure = ({ checkpoints }: RouteServices, cause: Cause.Cause<TinkerError.TinkerError>) => {
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

const retrieve = (services: RouteServices) =>
  Effect.gen(function*() {
    const { value: { request_id } } = yield* Body.json(Wire.RetrieveRequest)
    const asProtobuf = yield* wantsProtobuf
    const result = yield* services.futures.poll(request_id)
    if (Option.isNone(result)) return waiting(request_id)
    return Exit.isSuccess(result.value)
      ? yield* success(result.value.value, asProtobuf)
      : yield* failure(services, result.value.cause)
  })

/** Size of the block of request numbers that each client of a shared sampling session has. */
const blockSize = 1_000_000_000

/** Groups the requests to a sampling session by the client that numbered them. */
export const targetOf = (sampler: string, sequence: Json.SequenceId) =>
  `${sampler} ${BigInt(sequence) / BigInt(blockSize)}`

const retrieveMany = ({ futures, sessions }: RouteServices) =>
  Effect.gen(function*() {
    const { value } = yield* Body.json(Wire.RetrieveManyRequest)
    const { prev_cursor = 0, retrieved_request_ids = [], target, timeout } = value
    const { cloned_sampler_id = 0, sampling_session_id } = target
    yield* sessions.sampler(sampling_session_id)
    yield* Effect.forEach(retrieved_request_ids, futures.forget, { discard: true })
    const page = yield* futures.finishedAfter(
      `${sampling_session_id} ${cloned_sampler_id}`,
      prev_cursor,
      typeof timeout === "number" ? Duration.seconds(Math.max(timeout, 0)) : undefined
    )
    return HttpServerResponse.jsonUnsafe(page satisfies typeof Wire.RetrieveManyResponse.Type)
  })

const cancel = ({ futures }: RouteServices) =>
  Effect.gen(function*() {
    const { value: { request_id } } = yield* Body.json(Wire.CancelRequest)
    yield* futures.cancel(request_id)
    return HttpServerResponse.empty()
  })

export const routes = (services: RouteServices) => [
  HttpRouter.route("POST", "/retrieve_future", retrieve(services)),
  HttpRouter.route("POST", "/retrieve_futures", retrieveMany(services)),
  HttpRouter.route("POST", "/cancel_future", cancel(services))
]
