/** Passes over the data of a call, which are cut into micro-batches that threads compute. */
import { type Datum, type Loss, LossGraph, TinkerError, type TrainingClient } from "@effect-rl/core"
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

/** Where an adapter is computed. */
export interface Place {
  readonly threads: Threads
  readonly room: Room
  /** The model as the threads know it. */
  readonly model: number
  readonly plan: Pick<MemoryPlan, "microBatch" | "threads">
}

/** An adapter in training: where it is computed, its weights and its gradients. */
export interface Target {
  readonly place: Place
  readonly packed: PackedAdapter
  /** The block that gradients are added to. */
  readonly gradients: Address
}

/** Micro-batches on their way per thread, each with a gradient: one computed, one waiting, one being added. */
export const gradientBlocksPerThread = 3

/** Data that a thread computes together. */
interface Piece {
  /** Their places among the data of the call. */
  readonly places: ReadonlyArray<number>
  readonly items: PostedItems.PostedItems
}

/** Log-probabilities in the order of the data of the call. */
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
    items: PostedItems.pack(places.flatMap((place) => items[place] ?? []))
  }))

const compute = (
  { packed, place: { model, threads } }: Target,
  { items }: Piece,
  loss: PassLoss,
  logprobs: Logprobs,
  gradients: Address | undefined
) => threads.run({ _tag: "Pass", model, adapter: packed, items, loss, logprobs, gradients })

const concurrencyOf = ({ plan }: Place, pieces: ReadonlyArray<Piece>) =>
  Math.min(pieces.length, gradientBlocksPerThread * plan.threads)

/** Log-probabilities and metrics. */
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
 * Adds up the gradients of micro-batches in their order. `isApart` adds them up in the block of the first one, which `finish` adds to the
 * target's block, so that a refusal of any of them leaves the target's block as it was.
 */
const collector = (
  { gradients, packed: { layout }, place: { threads } }: Target,
  isApart: boolean,
  giveBack: (block: Address) => Effect.Effect<unknown>
) => {
  let sum = isApart ? undefined : gradients
  const add = (target: Address, source: Address) =>
    threads.run({ _tag: "Add", target, source, floats: layout.parameterFloats })
  return {
    collect: (source: Address, { refusal }: TaskOutput) =>
      Effect.suspend((): Effect.Effect<unknown, TinkerError.Unavailable | TinkerError.Rejected> => {
        if (refusal !== undefined) return Effect.fail(new TinkerError.Rejected({ detail: refusal }))
        if (sum !== undefined) return Effect.andThen(add(sum, source), giveBack(source))
        sum = source
        return Effect.void
      }),
    finish: Effect.suspend(() => isApart && sum !== undefined ? add(gradients, sum) : Effect.void)
  }
}

/** Each micro-batch has a gradient of its own; they are added one after the other in a fixed order. */
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
    const { collect, finish } = collector(target, isApart, (block) => Queue.offer(spare, block))
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
    yield* finish
    return combine(pieces, outputs)
  },
  Effect.scoped
)
