/** Runs passes over a call's data, split into micro-batches that threads compute. */
import { type Loss, TinkerError } from "@effect-rl/core"
import type { Datum, TrainingClient } from "@effect-rl/core/backend"
import { LossGraph } from "@effect-rl/core/losses"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import * as Stream from "effect/Stream"
import type { PackedAdapter } from "../model/Adapter.ts"
import type { Address } from "../numerics/Memory.ts"
import * as Joined from "./Joined.ts"
import type { MemoryPlan } from "./MemoryPlan.ts"
import * as MicroBatch from "./MicroBatch.ts"
import * as PostedItems from "./PostedItems.ts"
import type { Item, Logprobs, PassLoss, TaskOutput } from "./Protocol.ts"
import type { Room } from "./Room.ts"
import type { Threads } from "./Threads.ts"

/** The threads and the memory that compute an adapter. */
export interface Place {
  readonly threads: Threads
  readonly room: Room
  /** The model's number in messages to threads. */
  readonly model: number
  readonly plan: Pick<MemoryPlan, "microBatch" | "threads">
}

/** An adapter in training: its threads and memory, its weights and its gradients. */
export interface Target {
  readonly place: Place
  readonly packed: PackedAdapter
  /** The block to which gradients are added. */
  readonly gradients: Address
}

/** Concurrent micro-batches per thread, each with its own gradient block: one computing, one waiting, and one being added. */
export const gradientBlocksPerThread = 3

/** Data that a thread computes together. */
interface Piece {
  /** The indices of `items` among the data of the call. */
  readonly places: ReadonlyArray<number>
  readonly items: ReadonlyArray<Item>
}

/** Log-probabilities in the order of the call's data. */
const logprobsOf = (pieces: ReadonlyArray<Piece>, outputs: ReadonlyArray<TaskOutput>): ReadonlyArray<Float32Array> => {
  const logprobs: Array<Float32Array> = []
  outputs.forEach(({ logprobs: joined }, index) => {
    if (joined === undefined) return
    const own = Joined.part(joined)
    pieces[index]?.places.forEach((place, item) => {
      logprobs[place] = own(item)
    })
  })
  return logprobs
}

const combine = (
  pieces: ReadonlyArray<Piece>,
  outputs: ReadonlyArray<TaskOutput>
): TrainingClient.ForwardBackwardOutput => ({
  logprobs: logprobsOf(pieces, outputs),
  metrics: {
    "loss:sum": outputs.reduce((sum, { metrics }) => sum + (metrics["loss:sum"] ?? 0), 0),
    ...LossGraph.combineMetrics(
      outputs.flatMap(({ graphMetrics = [] }) => graphMetrics.map((metrics) => ({ metrics })))
    )
  }
})

const split = (items: ReadonlyArray<Item>, { plan }: Place): ReadonlyArray<Piece> =>
  MicroBatch.split(items, plan.microBatch).map((places) => ({
    places,
    items: places.flatMap((place) => items[place] ?? [])
  }))

const compute = (
  { packed, place: { model, threads } }: Target,
  { items }: Piece,
  loss: PassLoss,
  logprobs: Logprobs,
  gradients: Address | undefined
) =>
  Effect.suspend(() =>
    threads.run({ _tag: "Pass", model, adapter: packed, items: PostedItems.pack(items), loss, logprobs, gradients })
  )

const concurrencyOf = ({ plan }: Place, pieces: ReadonlyArray<Piece>) =>
  Math.min(pieces.length, gradientBlocksPerThread * plan.threads)

/** Computes log-probabilities and metrics without gradients. */
export const forward = (target: Target, items: ReadonlyArray<Item>, loss: Loss.Loss<Datum.Kind>) => {
  const pieces = split(items, target.place)
  return Effect.map(
    Effect.forEach(pieces, (piece) => compute(target, piece, loss, "all", undefined), {
      concurrency: concurrencyOf(target.place, pieces)
    }),
    (outputs) => combine(pieces, outputs)
  )
}

/**
 * Adds the gradients of `pieces` micro-batches in order. With `isApart` they are first collected in the first micro-batch's block and added
 * to the target's block at the end, so a refused micro-batch leaves the target's block unchanged.
 */
const collector = (
  { gradients, packed: { layout }, place: { threads } }: Target,
  pieces: number,
  isApart: boolean,
  giveBack: (block: Address) => Effect.Effect<unknown>
) => {
  let [sum, left] = [isApart ? undefined : gradients, pieces]
  return (source: Address, { refusal }: TaskOutput) =>
    Effect.suspend((): Effect.Effect<unknown, TinkerError.Unavailable | TinkerError.Rejected> => {
      left--
      if (refusal !== undefined) return Effect.fail(new TinkerError.Rejected({ detail: refusal }))
      if (sum === undefined) {
        sum = source
        return Effect.void
      }
      const own = { target: sum, source }
      const sums = isApart && left === 0 ? [own, { target: gradients, source: sum }] : [own]
      return Effect.andThen(threads.run({ _tag: "Add", sums, floats: layout.parameterFloats }), giveBack(source))
    })
}

/** Computes each micro-batch into its own gradient block and adds the blocks in a fixed order. */
export const forwardBackward = Effect.fnUntraced(
  function*(target: Target, items: ReadonlyArray<Item>, loss: PassLoss, logprobs: Logprobs) {
    const { packed, place } = target
    const pieces = split(items, place)
    const concurrency = concurrencyOf(place, pieces)
    const spare = yield* Queue.unbounded<Address>()
    for (let i = 0; i < concurrency; i++) {
      yield* Queue.offer(spare, yield* place.room.scoped(packed.layout.parameterFloats))
    }
    const isApart = loss.name === "graph" && pieces.length > 1
    const collect = collector(target, pieces.length, isApart, (block) => Queue.offer(spare, block))
    const outputs = yield* Stream.fromIterable(pieces).pipe(
      Stream.mapEffect(
        (piece) =>
          Effect.flatMap(
            Queue.take(spare),
            (source) => Effect.map(compute(target, piece, loss, logprobs, source), (output) => ({ source, output }))
          ),
        { concurrency }
      ),
      Stream.mapEffect(({ output, source }) => Effect.as(collect(source, output), output)),
      Stream.runCollect
    )
    return combine(pieces, outputs)
  },
  Effect.scoped
)
