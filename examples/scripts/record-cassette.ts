// Records the cassette of example 04 again: our own server runs the engine, and our client records its requests. Also stores what the run
// reported.
import { RunStore } from "@effect-rl/core"
import { Engine } from "@effect-rl/engine"
import { HuggingFace } from "@effect-rl/files"
import { Cassette, TinkerHttp, TinkerServer } from "@effect-rl/tinker"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect, FileSystem, Layer, Redacted, Stream } from "effect"
import { FetchHttpClient, HttpServer } from "effect/http"
import { createServer } from "node:http"
import { cassette, learnSums, metricsFile, reported } from "../src/04-cassette.ts"

const served = Layer.unwrap(Effect.gen(function*() {
  const fs = yield* FileSystem.FileSystem
  const checkpoints = yield* fs.makeTempDirectoryScoped()
  return TinkerServer.layer({ checkpoints: { folder: checkpoints, scheme: "engine" } }).pipe(
    Layer.provide(Engine.layerOptions({ checkpoints }))
  )
}))

const throughTheApi = Layer.unwrap(Effect.map(
  HttpServer.HttpServer,
  ({ address }) =>
    TinkerHttp.layerOptions({ baseUrl: HttpServer.formatAddress(address), apiKey: Redacted.make("tml-local") })
)).pipe(
  Layer.provide(served),
  Layer.provide(FetchHttpClient.layer),
  Layer.provide(NodeHttpServer.layer(createServer, { port: 0, host: "127.0.0.1" }))
)

const record = Effect.gen(function*() {
  const fs = yield* FileSystem.FileSystem
  const steps = yield* Stream.runCollect(learnSums(1e-3))
  const metrics = steps.map((step) => `${JSON.stringify(reported(step))}\n`)
  yield* fs.writeFileString(metricsFile, metrics.join(""))
})

record.pipe(
  Effect.provide(RunStore.RunStore.layerMemory),
  Effect.provide(Cassette.layerRecord(cassette)),
  Effect.provide(throughTheApi),
  Effect.provide(HuggingFace.layer),
  Effect.provide(NodeServices.layer),
  NodeRuntime.runMain
)
