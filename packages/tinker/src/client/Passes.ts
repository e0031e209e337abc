/** Splits training passes into chunks and combines their results. */
import * as Json from "@effect-rl/agent/wire/Json"
import { Loss, type TinkerError } from "@effect-rl/core"
import {
  CustomLoss,
  type Datum,
  LossGraphPass,
  type Pending,
  RequestRules,
  type TrainingClient
} from "@effect-rl/core/backend"
import { LossGraph } from "@effect-rl/core/losses"
import type { NonEmptyReadonlyArray } from "effect/Array"
import * as Effect from "effect/Effect"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as Result from "effect/Result"
import * as PassRequest from "../wire/PassRequest.ts"
import * as PassResult from "../wire/PassResult.ts"
import * as Answer from "./Answer.ts"
import type { Budget } from "./Budget.ts"
import * as Chunks from "./Chunks.ts"
import type { Negotiated } from "./ClientConfig.ts"
import * as Connection from "./Connection.ts"
import type { CustomLosses } from "./CustomLosses.ts"
import type { Dialect } from "./Dialect.ts"
import * as Futures from "./Futures.ts"
import * as Logprob from "./Logprob.ts"
import * as Reduction from "./Reduction.ts"
import { type TrainingQueue, Unchanged, type Work } from "./TrainingQueue.ts"
import { named, type WireError } from "./WireError.ts"
import * as Zstd from "./Zstd.ts"

/** State shared by all training clients of a session. */
export interface Shared {
  readonly futures: Futures.Futures
  readonly config: Negotiated
  readonly dialect: Dialect
  readonly losses: CustomLosses
  /** Limits the bytes of passes in flight. */
  readonly bytes: Budget
}

export interface Parts extends Shared {
  readonly modelId: string
  readonly limits: RequestRules.Limits
  readonly queue: TrainingQueue
}

interface Chunk {
  readonly logprobs: ReadonlyArray<Float32Array>
  readonly metrics: Readonly<Record<string, number>>
}

const malformed = (detail: string) => Effect.fail(new Json.MalformedBody({ detail }))

/** The expected shape of the answer to a datum. */
interface Sent {
  readonly positions: number
  readonly targets: number
  /** Whether the loss reads the log-probability at a position. */
  readonly counts: (at: number) => boolean
}

const sentDatum = ({ inputs, modelInput }: Datum.Datum<Datum.Kind>): Sent => {
  const weights = "weights" in inputs ? inputs.weights : inputs.mask
  return {
    positions: modelInput.length,
    targets: inputs.targetTokens.length,
    counts: (at) => weights[at] !== 0
  }
}

const sentGraphDatum = ({ modelInput, targetTokens }: TrainingClient.GraphDatum): Sent => ({
  positions: modelInput.length,
  targets: targetTokens.length,
  counts: () => true
})

type Fields = Readonly<Record<string, PassResult.Field>>

/**
 * The log-probabilities in an output: one per position, or one per candidate at each position. Fails if they are
 * missing, of another length, or invalid where the loss reads them.
 */
const logprobsOf = (fields: Fields | undefined, { counts, positions, targets }: Sent) => {
  const found = fields?.["logprobs"]?.data
  if (!(found instanceof Float32Array)) return malformed("a datum has no log-probabilities")
  if (found.length !== positions && found.length !== targets) {
    return malformed(`${found.length} log-probabilities of ${positions} tokens`)
  }
  const at = found.findIndex((logprob, at) => !Logprob.isKnown(logprob) && (logprob > 0 || counts(at)))
  return at < 0
    ? Effect.succeed(found)
    : malformed(`${found[at]} as the log-probability of target ${at}, ${Logprob.expected}`)
}

const total = (values: Float32Array) => values.reduce((sum, value) => sum + value, 0)

/** Adds the total loss for servers that report only per-token losses. */
const withLoss = (metrics: Chunk["metrics"], outputs: ReadonlyArray<Fields>): Chunk["metrics"] => {
  if ("loss:sum" in metrics) return metrics
  const losses = outputs.flatMap(({ elementwise_loss }) =>
    elementwise_loss?.data instanceof Float32Array ? [total(elementwise_loss.data)] : []
  )
  return losses.length === outputs.length
    ? { ...metrics, "loss:sum": losses.reduce((sum, loss) => sum + loss, 0) }
    : metrics
}

const decodeJson = Json.decode(PassResult.Body)

const read = (data: ReadonlyArray<Sent>): Futures.Read<Chunk> => (result) =>
  Effect.gen(function*() {
    const { metrics, outputs } = "json" in result
      ? PassResult.fromJson(yield* decodeJson(result.json))
      : yield* PassResult.decode(result.bytes)
    if (outputs.length !== data.length) return yield* malformed(`${outputs.length} outputs of ${data.length} datums`)
    const logprobs = yield* Effect.forEach(data, (datum, index) => logprobsOf(outputs[index], datum))
    return { logprobs, metrics: withLoss(metrics, outputs) }
  })

const combine = (chunks: ReadonlyArray<Chunk>): TrainingClient.ForwardBackwardOutput => ({
  logprobs: chunks.flatMap(({ logprobs }) => logprobs),
  metrics: Reduction.combine(chunks.map(({ logprobs, metrics }) => ({ count: logprobs.length, metrics })))
})

const compressed = Effect.fnUntraced(function*(plain: Uint8Array) {
  const post = HttpClientRequest.post("/forward_backward")
  const frame = yield* Zstd.compress(plain)
  return frame === undefined
    ? HttpClientRequest.bodyUint8Array(post, plain, Answer.protobuf)
    : post.pipe(
      HttpClientRequest.bodyUint8Array(frame, Answer.protobuf),
      HttpClientRequest.setHeader("content-encoding", "zstd")
    )
})

const requestOf = ({ config }: Parts, request: PassRequest.PassRequest) => {
  const plain = PassRequest.encode(request)
  return config.compressesPasses
    ? compressed(plain)
    : Effect.succeed(
      HttpClientRequest.bodyUint8Array(HttpClientRequest.post("/forward_backward"), plain, Answer.protobuf)
    )
}

type Awaiting<A> = Effect.Effect<A, WireError>

/** Posts one chunk under a sequence number. */
type Post = (seqId: number) => Effect.Effect<Awaiting<Chunk>, WireError>

const chunkPost = (parts: Parts, whole: PassRequest.PassRequest, sent: ReadonlyArray<Sent>): Post => (seqId) => {
  const kind = whole.forwardOnly ? "Forward" : "ForwardBackward"
  const size = whole.data.reduce((bytes, datum) => bytes + Chunks.datumBytes(datum), 0)
  return requestOf(parts, { ...whole, seqId }).pipe(
    Effect.flatMap((request) => Futures.promised(parts.futures, kind, request, read(sent))),
    parts.bytes.use(size)
  )
}

type Posted = Result.Result<Awaiting<Chunk>, WireError>

const isOutOfReach = (result: Posted) => Result.isFailure(result) && result.failure.isTransient

const one = (post: Post, seqId: number): Effect.Effect<Posted> => Effect.result(post(seqId))

const inOrder = Effect.fnUntraced(function*(posts: ReadonlyArray<Post>, firstSeqId: number) {
  const results: Array<Posted> = []
  for (const [index, post] of posts.entries()) {
    const result = yield* one(post, firstSeqId + index)
    results.push(result)
    if (isOutOfReach(result)) break
  }
  return results
})

/** Posts the first chunk last, because services start processing when it arrives. */
const together = Effect.fnUntraced(function*(posts: ReadonlyArray<Post>, firstSeqId: number) {
  const [first, ...others] = posts
  const rest = yield* Effect.forEach(others, (post, index) => one(post, firstSeqId + index + 1), {
    concurrency: "unbounded"
  })
  return first === undefined || rest.some(isOutOfReach) ? rest : [yield* one(first, firstSeqId), ...rest]
})

/** Posts all chunks, including those after a refused one, because a service waits for missing sequence numbers. */
const posted = ({ config }: Parts, posts: ReadonlyArray<Post>, firstSeqId: number) =>
  config.sendsChunksTogether ? together(posts, firstSeqId) : inOrder(posts, firstSeqId)

const submission =
  (parts: Parts, posts: ReadonlyArray<Post>) =>
  (nextSeqId: () => number): Effect.Effect<Awaiting<TrainingClient.ForwardBackwardOutput>, WireError> =>
    Effect.gen(function*() {
      const { options } = parts.futures.connection
      const [firstSeqId = 0] = posts.map(nextSeqId)
      const results = yield* Effect.forEach(
        yield* posted(parts, posts, firstSeqId),
        (result) => Effect.fromResult(result)
      )
      return Effect.map(Effect.forEach(results, (result) => result), combine).pipe(
        Connection.within(options, options.deadline)
      )
    })

const split = (parts: Parts, whole: PassRequest.PassRequest, sent: ReadonlyArray<Sent>): ReadonlyArray<Post> => {
  let done = 0
  return Chunks.split(whole.data, parts.config.chunks).map((data) =>
    chunkPost(parts, { ...whole, data: [...data] }, sent.slice(done, done += data.length))
  )
}

const postsOf = (parts: Parts, pass: Omit<PassRequest.Pass, "modelId" | "seqId">): ReadonlyArray<Post> =>
  split(
    parts,
    PassRequest.fromPass({ ...pass, modelId: parts.modelId, seqId: 0 }, parts.dialect.sendsMask),
    pass.data.map(sentDatum)
  )

/** Validates the data and submits a pass. */
export const submit = (
  parts: Parts,
  operation: "forward" | "forwardBackward",
  pass: Pick<PassRequest.Pass, "data" | "loss">
): Effect.Effect<Pending.Pending<TrainingClient.ForwardBackwardOutput>, TinkerError.TinkerError> => {
  const { dialect, limits, queue } = parts
  return RequestRules.pass(pass.data, pass.loss, limits).pipe(
    Effect.andThen(dialect.loss(pass.loss, pass.data, limits.capabilities.lossReduction)),
    named(operation),
    Effect.andThen(Effect.suspend(() => {
      const forwardOnly = operation === "forward"
      const posts = postsOf(parts, { ...pass, forwardOnly })
      const change = forwardOnly ? "none" : posts.length === 1 ? "whole" : "piecewise"
      return queue.submit({ operation, submission: submission(parts, posts), change })
    }))
  )
}

/**
 * Validates the data and submits a forward-backward pass through a loss that the service computes. The inputs of a graph are checked here
 * only if the graph comes from a loss expression; other graphs are checked by the service.
 */
export const submitGraph = Effect.fnUntraced(function*(
  parts: Parts,
  data: LossGraphPass.Data,
  graph: LossGraph.LossGraph
) {
  const { limits, losses, modelId, queue } = parts
  const operation = "forwardBackwardGraph"
  yield* named(operation)(RequestRules.pass(LossGraphPass.weighted(data), Loss.crossEntropy, limits))
  if (Result.isSuccess(LossGraph.compile(graph))) yield* named(operation)(LossGraphPass.check(data, graph))
  const posts = (lossId: string) =>
    split(parts, PassRequest.fromGraphPass(data, lossId, modelId), data.map(sentGraphDatum))
  const change = posts("").length === 1 ? "whole" : "piecewise"
  return yield* queue.submit<TrainingClient.ForwardBackwardOutput, TinkerError.TinkerError>({
    operation,
    change,
    submission: (nextSeqId) =>
      losses.idOf(graph).pipe(
        named(operation),
        Effect.mapError((error) => new Unchanged(error)),
        Effect.flatMap((lossId) => submission(parts, posts(lossId))(nextSeqId))
      )
  })
})

type Weighted = NonEmptyReadonlyArray<Datum.Datum<"WeightedTokens">>

/**
 * Validates the data, submits a forward pass, runs the caller's function, and submits a forward-backward pass. Both passes get consecutive
 * sequence numbers when the request is queued.
 */
export const submitCustom = Effect.fnUntraced(function*<E, R>(
  parts: Parts,
  data: Weighted,
  loss: TrainingClient.CustomLoss<E, R>
) {
  const { dialect, limits, queue } = parts
  const operation = "forwardBackwardCustom"
  yield* named(operation)(RequestRules.pass(data, Loss.crossEntropy, limits))
  yield* named(operation)(dialect.loss(Loss.crossEntropy, data, limits.capabilities.lossReduction))
  const context = yield* Effect.context<R>()
  const passOf = (data: Weighted, forwardOnly: boolean) =>
    submission(parts, postsOf(parts, { data, loss: Loss.crossEntropy, forwardOnly }))
  const both: Work<TrainingClient.ForwardBackwardOutput, E | TinkerError.TinkerError>["submission"] = (
    nextSeqId,
    watchdog
  ) =>
    Effect.gen(function*() {
      const forward = Effect.flatten(passOf(data, true)(nextSeqId))
      const second = yield* watchdog.watch(forward).pipe(
        named(operation),
        Effect.flatMap(({ logprobs }) => CustomLoss.secondPass(data, loss, logprobs)),
        Effect.mapError((error) => new Unchanged(error)),
        Effect.provide(context)
      )
      return Effect.map(yield* passOf(second.data, false)(nextSeqId), second.report)
    })
  const pieces = postsOf(parts, { data, loss: Loss.crossEntropy, forwardOnly: false }).length
  return yield* queue.submit({ operation, submission: both, change: pieces === 1 ? "whole" : "piecewise" })
})
