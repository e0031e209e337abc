import { Contract } from "@effect-rl/core/testing"
import * as Engine from "@effect-rl/engine/Engine"
import { TinkerHttp, TinkerServer } from "@effect-rl/tinker"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { describe, layer, vi } from "@effect/vitest"
import { Effect, FileSystem, Layer, Redacted } from "effect"
import { FetchHttpClient, HttpServer } from "effect/http"
import { createServer } from "node:http"

vi.setConfig({ testTimeout: 60_000 })

const served = Layer.unwrap(Effect.gen(function*() {
  const fs = yield* FileSystem.FileSystem
  const checkpoints = yield* fs.makeTempDirectoryScoped()
  return TinkerServer.layer({ checkpoints: { folder: checkpoints, scheme: "engine" } }).pipe(
    Layer.provide(Engine.layerOptions({ checkpoints, workers: 2 }))
  )
}))

const client = Layer.unwrap(Effect.map(HttpServer.HttpServer, ({ address }) =>
  TinkerHttp.layerOptions({
    baseUrl: HttpServer.formatAddress(address),
    apiKey: Redacted.make("tml-test")
  })))

const throughSockets = client.pipe(
  Layer.provide(served),
  Layer.provide(FetchHttpClient.layer),
  Layer.provide(NodeHttpServer.layer(createServer, { port: 0, host: "127.0.0.1" })),
  Layer.provide(NodeServices.layer)
)

const cases = Contract.contract({ baseModel: "effect-rl/tiny-64" })

describe("the engine behind the server and the client keeps the contract", () => {
  layer(throughSockets, { excludeTestServices: true })((it) => {
    for (const { check, name } of cases) it.effect(name, () => check)
  })
})
