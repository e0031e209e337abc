/** This project's server with the engine, over a socket, and the model's tokenizer. */
import { Tinker } from "@effect-rl/core"
import { Tokenizer } from "@effect-rl/core/renderers"
import * as Engine from "@effect-rl/engine/Engine"
import { TinkerHttp, TinkerServer } from "@effect-rl/tinker"
import * as RawRequests from "@effect-rl/tinker/certify/RawRequests"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect, FileSystem, Layer, Redacted } from "effect"
import { FetchHttpClient, HttpServer } from "effect/http"
import * as Sockets from "../Sockets.ts"
import * as Fault from "./Fault.ts"

export const model = "effect-rl/tiny-64"

/** The server with a fault. */
export const layerOf = (fault: Pick<Fault.Fault, "backend" | "wire">) =>
  Layer.unwrap(Effect.gen(function*() {
    const checkpoints = yield* Effect.flatMap(FileSystem.FileSystem, (fs) => fs.makeTempDirectoryScoped())
    const engine = Engine.layerOptions({ checkpoints, workers: 2 })
    const server = TinkerServer.layer({ checkpoints: { folder: checkpoints, scheme: "engine" } }).pipe(
      Layer.provide(Layer.effect(Tinker.Tinker, Effect.map(Tinker.Tinker, fault.backend ?? ((tinker) => tinker)))),
      Layer.provide(Fault.listener(fault))
    )
    const tokenizers = Layer.effect(Tokenizer.Tokenizers, Tokenizer.Tokenizers)
    return Layer.provide(Layer.merge(server, tokenizers), engine)
  })).pipe(
    Layer.provideMerge(Sockets.layer),
    Layer.provideMerge(FetchHttpClient.layer),
    Layer.provide(NodeServices.layer)
  )

export const layer = layerOf({})

/** The clients that checks use, connected to the server in the context. */
export const clients = Layer.unwrap(Effect.map(HttpServer.HttpServer, ({ address }) => {
  const options = { baseUrl: HttpServer.formatAddress(address), apiKey: Redacted.make("tml-test") }
  return Layer.merge(RawRequests.layer(options, model), TinkerHttp.layerOptions(options))
}))
