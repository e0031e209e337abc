/** This project's server before the engine, over a socket. */
import { Tinker } from "@effect-rl/core"
import * as Engine from "@effect-rl/engine/Engine"
import { TinkerServer } from "@effect-rl/tinker"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect, FileSystem, Layer } from "effect"
import { FetchHttpClient } from "effect/http"
import * as Sockets from "../Sockets.ts"
import * as Fault from "./Fault.ts"

export const model = "effect-rl/tiny-64"

/** The server with a fault. */
export const layerOf = (fault: Pick<Fault.Fault, "backend" | "wire">) =>
  Layer.unwrap(Effect.gen(function*() {
    const checkpoints = yield* Effect.flatMap(FileSystem.FileSystem, (fs) => fs.makeTempDirectoryScoped())
    return TinkerServer.layer({ checkpoints: { folder: checkpoints, scheme: "engine" } }).pipe(
      Layer.provide(Layer.effect(Tinker.Tinker, Effect.map(Tinker.Tinker, fault.backend ?? ((tinker) => tinker)))),
      Layer.provide(Engine.layerOptions({ checkpoints, workers: 2 })),
      Layer.provide(Fault.listener(fault))
    )
  })).pipe(
    Layer.provideMerge(Sockets.layer),
    Layer.provideMerge(FetchHttpClient.layer),
    Layer.provide(NodeServices.layer)
  )

export const layer = layerOf({})
