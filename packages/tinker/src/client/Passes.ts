/** Training passes: split into chunks on the way there, put together on the way back. */
import { type Datum, type Pending, RequestRules, type TinkerError, type TrainingClient } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as Json from "../wire/Json.ts"
import * as PassRequest from "../wire/PassRequest.ts"
import * as PassResult from "../wire/PassResult.ts"
import * as Chunks from "./Chunks.ts"
import * as Connection from "./Connection.ts"
import * as Futures from "./Futures.ts"
import { named } from "./HttpFailure.ts"
import * as Reduction from "./Reduction.ts"
import type { Submission, TrainingQueue } from "./TrainingQueue.ts"

export interface Parts {
  readonly modelId: string
  readonly limits: RequestRules.Limits
  readonly chunks: Chunks.Limits
  readonly connection: Connection.Connection
  readonly queue: TrainingQueue
}

interface Chunk {
  readonly logprobs: ReadonlyArray<Float32Array>
  readonly metrics: Readonly<Record<string, number>>
}

const malformed = (detail: string) => Effect.fail(new Json.MalformedBody({ detail }))

type Sent = Datum.Datum<Datum.Kind>

/** One log-probability per position, or per candidate of each. */
const logprobsOf = (fields: Readonly<Record<string, PassResult.Field>> | undefined, { inputs, modelInput }: Sent) => {
  const found = fields?.["logprobs"]?.data
  if (!(found instanceof Float32Array)) return malformed("a datum has no log-probabilities")
  return found.length === modelInput.length || found.length === inputs.targetTokens.length
    ? Effect.succeed(found)
    : malformed(`${found.length} log-probabilities of ${modelInput.length} tokens`)
}

const decodeJson = Json.decode(PassResult.Body)

const read = (data: ReadonlyArray<Sent>): Futures.Read<Chunk> => (result) =>
  Effect.gen(function*() {
    const { metrics, outputs } = "json" in result
      ? PassResult.fromJson(yield* decodeJson(result.json))
      : yield* PassResult.decode(result.bytes)
    if (outputs.length !== data.length) return yield* malformed(`${outputs.length} outputs of ${data.length} datums`)
    return { metrics, logprobs: yield* Effect.forEach(data, (datum, index) => logprobsOf(outputs[index], datum)) }
  })

const combine = (chunks: ReadonlyArray<Chunk>): TrainingClient.ForwardBackwardOutput => ({
  logprobs: chunks.flatMap(({ logprobs }) => logprobs),
  metrics: Reduction.combine(chunks.map(({ logprobs, metrics }) => ({ count: logprobs.length, metrics })))
})

const chunkSubmission =
  ({ connection }: Parts, whole: PassRequest.PassRequest, sent: ReadonlyArray<Sent>): Submission<Chunk> =>
  (nextSeqId) => {
    const request = HttpClientRequest.post("/forward_backward").pipe(
      HttpClientRequest.bodyUint8Array(PassRequest.encode({ ...whole, seqId: nextSeqId() }), Connection.protobuf)
    )
    return Futures.promised(connection, request, read(sent))
  }

/** All chunks are posted before the first result is asked for. */
const together =
  (chunks: ReadonlyArray<Submission<Chunk>>): Submission<TrainingClient.ForwardBackwardOutput> => (nextSeqId) =>
    Effect.map(
      Effect.forEach(chunks, (chunk) => chunk(nextSeqId)),
      (results) => Effect.map(Effect.forEach(results, (result) => result), combine)
    )

const chunksOf = (parts: Parts, pass: Omit<PassRequest.Pass, "modelId" | "seqId">) => {
  const whole = PassRequest.fromPass({ ...pass, modelId: parts.modelId, seqId: 0 })
  let done = 0
  return Chunks.split(whole.data, parts.chunks).map((data) => {
    const sent = pass.data.slice(done, done += data.length)
    return chunkSubmission(parts, { ...whole, data: [...data] }, sent)
  })
}

/** Checks the data and sends them. */
export const submit = (
  parts: Parts,
  operation: "forward" | "forwardBackward",
  pass: Pick<PassRequest.Pass, "data" | "loss">
): Effect.Effect<Pending.Pending<TrainingClient.ForwardBackwardOutput>, TinkerError.TinkerError> =>
  named(operation)(RequestRules.pass(pass.data, pass.loss, parts.limits)).pipe(
    Effect.andThen(Effect.suspend(() => {
      const forwardOnly = operation === "forward"
      const chunks = chunksOf(parts, { ...pass, forwardOnly })
      const change = forwardOnly ? "none" : chunks.length === 1 ? "whole" : "piecewise"
      return parts.queue.submit({ operation, submission: together(chunks), change })
    }))
  )
