/** The adapter of one training client: its blocks in the shared memory, and the operations of threads on them. */
import { type Datum, type Loss, LossGraph, TinkerError, type TrainingClient } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { AdamConfig, Blocks } from "../model/Adam.ts"
import type { AdapterLayout, PackedAdapter } from "../model/Adapter.ts"
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

type Computed<A> = Effect.Effect<A, TinkerError.Unavailable>

export interface TrainedAdapter {
  readonly layout: AdapterLayout
  readonly blocks: Blocks
  /** Optimizer steps taken. */
  readonly steps: () => number
  readonly forward: (
    items: ReadonlyArray<Item>,
    loss: Loss.Loss<Datum.Kind>
  ) => Computed<TrainingClient.ForwardBackwardOutput>
  /**
   * Adds to the gradient, to the same bits whatever the number of threads. A loss graph that fails for any datum fails as `Rejected`
   * and adds nothing.
   */
  readonly forwardBackward: (
    items: ReadonlyArray<Item>,
    loss: PassLoss,
    logprobs?: Logprobs
  ) => Effect.Effect<TrainingClient.ForwardBackwardOutput, TinkerError.Unavailable | TinkerError.Rejected>
  /** Uses the gradient up. An update that is not finite is rejected and leaves weights and moments as they were. */
  readonly optimize: (
    config: AdamConfig
  ) => Effect.Effect<TrainingClient.OptimStepOutput, TinkerError.Unavailable | TinkerError.Rejected>
  /** Copies the weights to where a snapshot of the same layout keeps them. */
  readonly copyTo: (target: PackedAdapter) => Computed<void>
  readonly initialize: (seed: number) => Computed<void>
  /** To call after the parameters were written from outside; `steps` counts those of the moments beside them. */
  readonly restored: (steps: number) => Computed<void>
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

const notFinite = ({ learningRate }: AdamConfig, gradientNorm = NaN) =>
  new TinkerError.Rejected({
    detail: `the update is not finite: the gradient's norm is ${gradientNorm} and learningRate is ${learningRate}; ` +
      "the weights stay as they were and the gradient is dropped"
  })

const allocate = Effect.fnUntraced(function*(room: Room, layout: AdapterLayout) {
  const blocks: Blocks = {
    parameters: yield* room.scoped(layout.parameterFloats),
    gradients: yield* room.scoped(layout.parameterFloats),
    first: yield* room.scoped(layout.parameterFloats),
    second: yield* room.scoped(layout.parameterFloats),
    floats: layout.parameterFloats
  }
  const packed: PackedAdapter = {
    layout,
    forward: yield* room.scoped(layout.forwardFloats),
    backward: yield* room.scoped(layout.backwardFloats)
  }
  return { blocks, packed }
})

/** Its room is freed with the scope, which must outlive every call. */
export const make = Effect.fnUntraced(function*(
  { model, plan: { microBatch, threads: count }, room, threads }: Place,
  layout: AdapterLayout
): Effect.fn.Return<TrainedAdapter, TinkerError.Unavailable, Scope.Scope> {
  const { blocks, packed } = yield* allocate(room, layout)
  const { run } = threads
  const pack = Effect.asVoid(run({ _tag: "Pack", parameters: blocks.parameters, packed }))
  let steps = 0

  const pass = ({ items }: Piece, loss: PassLoss, logprobs: Logprobs, gradients: Address | undefined) =>
    run({ _tag: "Pass", model, adapter: packed, items, loss, logprobs, gradients })

  const split = (items: ReadonlyArray<Item>): ReadonlyArray<Piece> =>
    MicroBatch.split(items, microBatch).map((places) => ({
      places,
      items: PostedItems.pack(places.flatMap((place) => items[place] ?? []))
    }))

  const forward: TrainedAdapter["forward"] = (items, loss) => {
    const pieces = split(items)
    return Effect.map(
      Effect.forEach(pieces, (piece) => pass(piece, loss, "all", undefined), {
        concurrency: gradientBlocksPerThread * count
      }),
      (outputs) => combine(pieces, outputs)
    )
  }

  const add = (target: Address, source: Address) => run({ _tag: "Add", target, source, floats: layout.parameterFloats })

  /**
   * Each micro-batch has a gradient of its own; they are added one after the other in a fixed order. Those of a loss graph are
   * first collected in the block of the first one, as any of them may be refused.
   */
  const forwardBackward: TrainedAdapter["forwardBackward"] = Effect.fnUntraced(
    function*(items, loss, logprobs = "all") {
      const pieces = split(items)
      const isCollected = loss.name === "graph" && pieces.length > 1
      const concurrency = Math.min(pieces.length, gradientBlocksPerThread * count)
      const spare = yield* Queue.unbounded<Address>()
      for (let i = 0; i < concurrency; i++) yield* Queue.offer(spare, yield* room.scoped(layout.parameterFloats))
      let target = isCollected ? undefined : blocks.gradients
      const collect = (source: Address) => {
        if (target !== undefined) return Effect.andThen(add(target, source), Queue.offer(spare, source))
        target = source
        return Effect.void
      }
      const outputs = yield* Stream.fromIterable(pieces).pipe(
        Stream.mapEffect((piece) =>
          Effect.flatMap(
            Queue.take(spare),
            (source) => Effect.map(pass(piece, loss, logprobs, source), (output) => ({ source, output }))
          ), { concurrency }),
        Stream.mapEffect(({ output, source }) =>
          Effect.suspend((): Effect.Effect<unknown, TinkerError.Unavailable | TinkerError.Rejected> =>
            output.refusal === undefined
              ? collect(source)
              : Effect.fail(new TinkerError.Rejected({ detail: output.refusal }))
          ).pipe(Effect.as(output))
        ),
        Stream.runCollect
      )
      if (isCollected && target !== undefined) yield* add(blocks.gradients, target)
      return combine(pieces, outputs)
    },
    Effect.scoped
  )

  return {
    layout,
    blocks,
    steps: () => steps,
    forward,
    forwardBackward,
    optimize: Effect.fnUntraced(function*(config) {
      const { metrics } = yield* run({ _tag: "Optimize", blocks, config, step: steps + 1 })
      if (!Number.isFinite(metrics["update_norm"])) return yield* notFinite(config, metrics["grad_norm"])
      steps++
      yield* pack
      return { metrics }
    }),
    copyTo: (target) =>
      Effect.asVoid(
        run({ _tag: "Copy", target: target.forward, source: packed.forward, floats: layout.forwardFloats })
      ),
    initialize: (seed) => Effect.andThen(run({ _tag: "Initialize", layout, blocks, seed }), pack),
    restored: (count) =>
      Effect.suspend(() => {
        steps = count
        return pack
      })
  }
})
