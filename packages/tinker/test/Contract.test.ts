import type { Tinker } from "@effect-rl/core"
import type { Tokenizer } from "@effect-rl/core/renderers"
import { Contract, Script, ScriptedTinker, TestTokenizer } from "@effect-rl/core/testing"
import * as Engine from "@effect-rl/engine/Engine"
import { TinkerServer } from "@effect-rl/tinker"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { describe, layer } from "@effect/vitest"
import { Effect, FileSystem, Layer } from "effect"
import { FetchHttpClient } from "effect/http"
import * as Client from "./Client.ts"
import * as Sockets from "./Sockets.ts"

/** Our client, connected to our server through a socket, in front of a backend. */
const throughSockets = <E>(
  scheme: string,
  backend: (folder: string) => Layer.Layer<Tinker.Tinker | Tokenizer.Tokenizers, E, NodeServices.NodeServices>
) =>
  Client.layer().pipe(
    Layer.provide(Layer.unwrap(Effect.gen(function*() {
      const folder = yield* Effect.flatMap(FileSystem.FileSystem, (fs) => fs.makeTempDirectoryScoped())
      return TinkerServer.layer({ checkpoints: { folder, scheme } }).pipe(Layer.provide(backend(folder)))
    }))),
    Layer.provide(FetchHttpClient.layer),
    Layer.provide(Sockets.layer),
    Layer.provide(NodeServices.layer)
  )

describe("the engine, used through server and client, satisfies the contract", () => {
  const cases = Contract.contract({ baseModel: "effect-rl/tiny-64" })
  const engine = throughSockets("engine", (checkpoints) => Engine.layerOptions({ checkpoints, workers: 2 }))
  layer(engine, { excludeTestServices: true })((it) => {
    for (const { check, name } of cases) it.effect(name, () => check)
  })
})

describe("the scripted mock, used through server and client, satisfies the contract", () => {
  const cases = Contract.contract({
    baseModel: Script.defaultModel,
    // The scripted model has no end of sequence.
    tokenizer: { ...TestTokenizer.characters, eosTokenId: undefined }
  })
  layer(throughSockets("scripted", () => Layer.merge(ScriptedTinker.layer(), TestTokenizer.layer())), {
    excludeTestServices: true
  })((it) => {
    for (const { check, name } of cases) it.effect(name, () => check)
  })
})
