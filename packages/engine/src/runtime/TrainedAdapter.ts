/** One training client's adapter: its blocks in shared memory and the thread operations on them. */
import { type Loss, TinkerError } from "@effect-rl/core"
import type { Datum, TrainingClient } from "@effect-rl/core/backend"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { AdamConfig, Blocks } from "../model/Adam.ts"
import type { AdapterLayout, PackedAdapter } from "../model/Adapter.ts"
import * as Passes from "./Passes.ts"
import type { Item, Logprobs, PassLoss } from "./Protocol.ts"
import type { Room } from "./Room.ts"

type Computed<A> = Effect.Effect<A, TinkerError.Unavailable>

export interface TrainedAdapter {
  readonly layout: AdapterLayout
  readonly blocks: Blocks
  /** The size in bytes of the adapter's blocks and packed weights. */
  readonly bytes: number
  /** The number of optimizer steps taken, including those before a restored checkpoint. */
  readonly steps: () => number
  readonly forward: (
    items: ReadonlyArray<Item>,
    loss: Loss.Loss<Datum.Kind>
  ) => Computed<TrainingClient.ForwardBackwardOutput>
  /**
   * Adds to the gradient. The result is bit-identical for any number of threads. If a loss graph fails for any datum, fails with `Rejected`
   * and adds nothing.
   */
  readonly forwardBackward: (
    items: ReadonlyArray<Item>,
    loss: PassLoss,
    logprobs?: Logprobs
  ) => Effect.Effect<TrainingClient.ForwardBackwardOutput, TinkerError.Unavailable | TinkerError.Rejected>
  /** Performs an optimizer step and clears the gradient. A non-finite update is rejected and leaves weights and moments unchanged. */
  readonly optimize: (
    config: AdamConfig
  ) => Effect.Effect<TrainingClient.OptimStepOutput, TinkerError.Unavailable | TinkerError.Rejected>
  /** Copies the weights to a snapshot of the same layout. */
  readonly copyTo: (target: PackedAdapter) => Computed<void>
  readonly initialize: (seed: number) => Computed<void>
  /** Must be called after the parameters were written externally. `steps` is the number of updates behind the moments. */
  readonly restored: (steps: number) => Computed<void>
}

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

/** Creates an adapter. Closing the scope frees its memory, so the scope must outlive every call. */
export const make = Effect.fnUntraced(function*(
  place: Passes.Place,
  layout: AdapterLayout
): Effect.fn.Return<TrainedAdapter, TinkerError.Unavailable, Scope.Scope> {
  const { blocks, packed } = yield* allocate(place.room, layout)
  const { run } = place.threads
  const target: Passes.Target = { place, packed, gradients: blocks.gradients }
  const pack = Effect.asVoid(run({ _tag: "Pack", parameters: blocks.parameters, packed }))
  let steps = 0

  return {
    layout,
    blocks,
    bytes: 4 * (4 * layout.parameterFloats + layout.forwardFloats + layout.backwardFloats),
    steps: () => steps,
    forward: (items, loss) => Passes.forward(target, items, loss),
    forwardBackward: (items, loss, logprobs = "all") => Passes.forwardBackward(target, items, loss, logprobs),
    optimize: Effect.fnUntraced(function*(config) {
      const { metrics } = yield* run({ _tag: "Optimize", blocks, config, step: steps + 1 })
      if (!Number.isFinite(metrics["update_norm"])) return yield* notFinite(config, metrics["grad_norm"])
      steps++
      yield* pack
      return { metrics }
    }),
    copyTo: ({ forward }) =>
      Effect.asVoid(run({ _tag: "Copy", target: forward, source: packed.forward, floats: layout.forwardFloats })),
    initialize: (seed) => Effect.andThen(run({ _tag: "Initialize", layout, blocks, seed }), pack),
    restored: (count) =>
      Effect.suspend(() => {
        steps = count
        return pack
      })
  }
})
