/** This project's server before the engine, over a socket. */
import * as Engine from "@effect-rl/engine/Engine"
import { TinkerServer } from "@effect-rl/tinker"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect, FileSystem, Layer } from "effect"
import { FetchHttpClient } from "effect/http"
import * as Sockets from "../Sockets.ts"

export const model = "effect-rl/tiny-64"

export const layer = Layer.unwrap(Effect.gen(function*() {
  const checkpoints = yield* Effect.flatMap(FileSystem.FileSystem, (fs) => fs.makeTempDirectoryScoped())
  return TinkerServer.layer({ checkpoints: { folder: checkpoints, scheme: "engine" } }).pipe(
    Layer.provide(Engine.layerOptions({ checkpoints, workers: 2 }))
  )
})).pipe(
  Layer.provideMerge(Sockets.layer),
  Layer.provideMerge(FetchHttpClient.layer),
  Layer.provide(NodeServices.layer)
)
