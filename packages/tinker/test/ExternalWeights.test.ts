import { Tinker } from "@effect-rl/core"
import type { TrainingClient } from "@effect-rl/core/backend"
import * as Engine from "@effect-rl/engine/Engine"
import { RestClient, TinkerServer } from "@effect-rl/tinker"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, FileSystem, Layer, Stream } from "effect"
import { FetchHttpClient } from "effect/http"
import * as Client from "./Client.ts"
import * as Sockets from "./Sockets.ts"

/** Our client, connected to our server through a socket, in front of the engine. */
const engine = Client.layer().pipe(
  Layer.provide(Layer.unwrap(Effect.gen(function*() {
    const folder = yield* Effect.flatMap(FileSystem.FileSystem, (fs) => fs.makeTempDirectoryScoped())
    return TinkerServer.layer({ checkpoints: { folder, scheme: "engine" } }).pipe(
      Layer.provide(Engine.layerOptions({ checkpoints: folder, workers: 0 }))
    )
  }))),
  Layer.provide(FetchHttpClient.layer),
  Layer.provide(Sockets.layer),
  Layer.provide(NodeServices.layer)
)

const training = Effect.flatMap(
  Tinker.Tinker,
  (tinker) => tinker.createLoraTrainingClient({ baseModel: "effect-rl/tiny-64", loraRank: 4 })
)

const save = Effect.fnUntraced(function*(
  { saveWeightsExternal }: TrainingClient.TrainingClient,
  name: string,
  options?: TrainingClient.ExternalSaveOptions
) {
  assert.isDefined(saveWeightsExternal)
  const pending = yield* saveWeightsExternal(name, options)
  return yield* pending.await
})

const bytes = <E>(stream: Stream.Stream<Uint8Array, E>) =>
  Effect.map(Stream.runCollect(stream), (parts) => Buffer.concat(Array.from(parts)))

describe("external weights", () => {
  layer(engine, { excludeTestServices: true })((it) => {
    it.effect("are saved, listed, downloaded file by file and deleted", () =>
      Effect.gen(function*() {
        const rest = yield* RestClient.RestClient
        const trained = yield* training
        const { path } = yield* save(trained, "exported", { ttl: "1 hour" })
        assert.strictEqual(path, `tinker://${trained.info.modelId}/external_weights/exported`)
        const { urls } = yield* rest.getExternalWeightsUrls(path)
        assert.includeMembers(Object.keys(urls), ["adapter_config.json", "adapter_model.safetensors"])
        const config = JSON.parse(String(yield* bytes(rest.downloadExternalFile(path, "adapter_config.json"))))
        assert.strictEqual(config.r, 4)
        const tensors = yield* bytes(rest.downloadExternalFile(path, "adapter_model.safetensors"))
        const header = Number(tensors.readBigUInt64LE())
        assert.property(JSON.parse(tensors.toString("utf8", 8, 8 + header)), "__metadata__")
        const missing = yield* Effect.flip(bytes(rest.downloadExternalFile(path, "other.json")))
        assert.include(missing.message, "name is \"other.json\", expected one of ")
        yield* rest.deleteCheckpoint(path)
        assert.deepStrictEqual((yield* rest.listCheckpoints(trained.info.modelId)).checkpoints, [])
      }))

    it.effect("cannot be encrypted by our server, which refuses such a request", () =>
      Effect.gen(function*() {
        const refused = yield* Effect.flip(
          Effect.flatMap(training, (trained) => save(trained, "secret", { ageEncryptionRecipients: ["age1..."] }))
        )
        assert.strictEqual(refused.reason._tag, "Rejected")
        assert.include(refused.message, "age_encryption_recipients has names, expected none")
      }))
  })
})
