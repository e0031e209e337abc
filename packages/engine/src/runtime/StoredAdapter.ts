/** Saves and loads one training client's adapter. */
import { TinkerError } from "@effect-rl/core"
import type { TrainingClient } from "@effect-rl/core/backend"
import type { CheckpointStore, Kind } from "@effect-rl/files/checkpoint/CheckpointStore"
import * as Effect from "effect/Effect"
import * as Checkpoint from "../checkpoint/Checkpoint.ts"
import type { AdapterLayout } from "../model/Adapter.ts"
import * as Memory from "../numerics/Memory.ts"
import * as FileAccess from "./FileAccess.ts"
import type { Model } from "./Library.ts"
import type { TrainedAdapter } from "./TrainedAdapter.ts"

export interface StoredAdapter {
  readonly save: (kind: Kind, name: string) => Effect.Effect<TrainingClient.Checkpoint, TinkerError.Reason>
  /**
   * Replaces the weights and drops unused gradients. Loads the optimizer's state if `optimizer` is true and resets it otherwise. Fails with
   * `Rejected` if the checkpoint is damaged or belongs to another model or adapter layout.
   */
  readonly load: (path: string, optimizer: boolean, digest?: string) => Effect.Effect<void, TinkerError.Reason>
}

const describe = ({ alpha, head, layers, rank }: AdapterLayout) => {
  const targets = [...Object.keys(layers[0] ?? {}), ...(head === undefined ? [] : ["head"])]
  return `rank ${rank}, alpha ${alpha} on ${targets.join(", ")}`
}

const misfit = (path: string, found: Checkpoint.Checkpoint, model: Model, layout: AdapterLayout) => {
  if (found.baseModel !== model.name) {
    return `${path} belongs to model "${found.baseModel}"; this client's model is "${model.name}"`
  }
  return describe(found.layout) === describe(layout)
    ? undefined
    : `${path} has ${describe(found.layout)}; this client has ${describe(layout)}`
}

export const make = Effect.fnUntraced(
  function*(store: CheckpointStore, modelId: string, model: Model, adapter: TrainedAdapter, memory: Memory.Memory) {
    const context = yield* FileAccess.context
    const { blocks, layout } = adapter
    const view = (block: Memory.Address) => Memory.floats(memory, block, blocks.floats)

    const write = (kind: Kind) => (folder: string) =>
      Effect.suspend(() => {
        const optimizer = { first: view(blocks.first), second: view(blocks.second), step: adapter.steps() }
        return Checkpoint.write(folder, model.config, {
          layout,
          baseModel: model.name,
          parameters: view(blocks.parameters),
          optimizer: kind === "weights" ? optimizer : undefined
        })
      }).pipe(
        Effect.mapError((error) => new TinkerError.Unavailable({ detail: error.message })),
        Effect.provideContext(context)
      )

    const load: StoredAdapter["load"] = Effect.fnUntraced(function*(path, optimizer, digest) {
      const folder = yield* store.find(path)
      const found = yield* Checkpoint.read(folder, model.config, { optimizer, digest }).pipe(
        Effect.mapError((error) => new TinkerError.Rejected({ detail: error.message }))
      )
      const detail = misfit(path, found, model, layout)
      if (detail !== undefined) return yield* new TinkerError.Rejected({ detail })
      yield* Effect.sync(() => {
        view(blocks.parameters).set(found.parameters)
        for (const block of [blocks.gradients, blocks.first, blocks.second]) view(block).fill(0)
        if (found.optimizer === undefined) return
        view(blocks.first).set(found.optimizer.first)
        view(blocks.second).set(found.optimizer.second)
      })
      yield* adapter.restored(found.optimizer?.step ?? 0)
    }, Effect.provideContext(context))

    return {
      load,
      save: (kind, name) => store.save(modelId, kind, name, write(kind))
    } satisfies StoredAdapter
  }
)
