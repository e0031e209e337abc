/** This project's server with the engine, which counts its clients. */
import { Tinker } from "@effect-rl/core"
import { LeakAudit } from "@effect-rl/core/testing"
import * as Engine from "@effect-rl/engine/Engine"
import { TinkerServer } from "@effect-rl/tinker"
import { Effect, Layer } from "effect"
import * as Sockets from "../Sockets.ts"

export const model = "effect-rl/tiny-64"

const counted = Layer.effect(
  Tinker.Tinker,
  Effect.gen(function*() {
    const tinker = yield* Tinker.Tinker
    const { track } = yield* LeakAudit.LeakAudit
    return {
      ...tinker,
      createSamplingClient: (from) => track("SamplingClient", tinker.createSamplingClient(from)),
      createLoraTrainingClient: (options) =>
        track(
          "TrainingClient",
          Effect.map(tinker.createLoraTrainingClient(options), (client) => ({
            ...client,
            saveWeightsAndGetSamplingClient: track("SamplingClient", client.saveWeightsAndGetSamplingClient)
          }))
        )
    }
  })
)

/** The server, with checkpoints in the given folder. */
export const layer = (folder: string) =>
  TinkerServer.layer({ checkpoints: { folder, scheme: "engine" } }).pipe(
    Layer.provide(counted),
    Layer.provideMerge(LeakAudit.LeakAudit.layer),
    Layer.provide(Engine.layerOptions({ checkpoints: folder, workers: 2 })),
    Layer.provideMerge(Sockets.layer)
  )
