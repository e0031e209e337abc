/** This project's server over sockets with one fault, in its backend or on the wire. */
import { Tinker } from "@effect-rl/core"
import { Script, ScriptedTinker, TestTokenizer } from "@effect-rl/core/testing"
import { TinkerHttp, TinkerServer } from "@effect-rl/tinker"
import * as RawRequests from "@effect-rl/tinker/certify/RawRequests"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect, FileSystem, Layer, Redacted } from "effect"
import { FetchHttpClient, HttpClient, HttpServer } from "effect/http"
import * as Sockets from "../Sockets.ts"

export type Port = Tinker.Tinker["Service"]

export interface Faults {
  readonly backend?: (port: Port) => Port
  readonly wire?: (client: HttpClient.HttpClient) => HttpClient.HttpClient
  /** Applied between the server and the requests that checks write themselves. */
  readonly rawWire?: (client: HttpClient.HttpClient) => HttpClient.HttpClient
}

const unchanged = <A>(value: A) => value

const server = (backend: (port: Port) => Port) =>
  Layer.unwrap(Effect.gen(function*() {
    const folder = yield* Effect.flatMap(FileSystem.FileSystem, (fs) => fs.makeTempDirectoryScoped())
    return TinkerServer.layer({ checkpoints: { folder, scheme: "scripted" } })
  })).pipe(
    Layer.provide(Layer.effect(Tinker.Tinker, Effect.map(Tinker.Tinker, backend))),
    Layer.provide(ScriptedTinker.layer()),
    Layer.provide(TestTokenizer.layer()),
    Layer.provideMerge(Sockets.layer),
    Layer.provide(NodeServices.layer)
  )

const client = (change: (client: HttpClient.HttpClient) => HttpClient.HttpClient) =>
  Layer.effect(HttpClient.HttpClient, Effect.map(HttpClient.HttpClient, change))

/** The clients that checks use, connected to a server with these faults. */
export const layer = ({ backend = unchanged, rawWire = unchanged, wire = unchanged }: Faults) =>
  Layer.unwrap(Effect.map(HttpServer.HttpServer, ({ address }) => {
    const options = { baseUrl: HttpServer.formatAddress(address), apiKey: Redacted.make("tml-test") }
    const raw = RawRequests.layer(options, Script.defaultModel).pipe(Layer.provide(client(rawWire)))
    return Layer.merge(TinkerHttp.layerOptions(options), raw)
  })).pipe(
    Layer.provide(client(wire)),
    Layer.provide(FetchHttpClient.layer),
    Layer.provide(server(backend))
  )
