import { Tinker, TinkerError } from "@effect-rl/core"
import { ScriptedTinker, TestTokenizer } from "@effect-rl/core/testing"
import * as TinkerServer from "@effect-rl/tinker/server/TinkerServer"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, it } from "@effect/vitest"
import { Effect, FileSystem, Layer } from "effect"
import * as Sockets from "../Sockets.ts"
import * as Api from "./Api.ts"

/** A backend that fails every question about its models. */
const failing = (error: TinkerError.TinkerError) =>
  Layer.effect(
    Tinker.Tinker,
    Effect.map(Tinker.Tinker, (tinker) => ({
      ...tinker,
      models: Effect.fail(error),
      capabilities: () => Effect.fail(error)
    }))
  ).pipe(Layer.provide(ScriptedTinker.layer()))

const server = (error: TinkerError.TinkerError) =>
  Layer.unwrap(Effect.gen(function*() {
    const fs = yield* FileSystem.FileSystem
    const folder = yield* fs.makeTempDirectoryScoped()
    return TinkerServer.layer({ checkpoints: { folder, scheme: "scripted" } })
  })).pipe(
    Layer.provide(failing(error)),
    Layer.provide(TestTokenizer.layer()),
    Layer.provideMerge(Sockets.layerTest)
  )

it.effect.each([
  { reason: new TinkerError.Unavailable({ detail: "the backend is gone" }), status: 503 },
  { reason: new TinkerError.RateLimited({ retryAfterMillis: 1000 }), status: 429 },
  { reason: new TinkerError.Rejected({ detail: "no" }), status: 400 }
])(
  "a question about models is refused with $status if the backend cannot answer it",
  ({ reason, status }) =>
    Effect.gen(function*() {
      const { body, status: given } = yield* Api.get("/get_server_capabilities")
      assert.strictEqual(given, status)
      assert.include(body["detail"], reason.message)
    }).pipe(
      Effect.provide(server(new TinkerError.TinkerError({ operation: "models", reason }))),
      Effect.provide(NodeServices.layer)
    )
)
