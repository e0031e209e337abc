/** Metadata that a client gives to its session, runs and checkpoints, and what the server's listings return of it. */
import { Tinker } from "@effect-rl/core"
import { Script } from "@effect-rl/core/testing"
import { RestClient } from "@effect-rl/tinker"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { FetchHttpClient } from "effect/http"
import * as Client from "../Client.ts"
import * as Api from "./Api.ts"

const client = Layer.provide(
  Client.layer({ displayName: "sums", userMetadata: { recipe: "sums" } }),
  FetchHttpClient.layer
)

const listed = Effect.scoped(Effect.gen(function*() {
  const tinker = yield* Tinker.Tinker
  const rest = yield* RestClient.RestClient
  const first = yield* tinker.createLoraTrainingClient({
    baseModel: Script.defaultModel,
    userMetadata: { commit: "a1b2" }
  })
  const state = yield* Effect.flatMap(
    first.saveState("state", { userMetadata: { step: "3" } }),
    (pending) => pending.await
  )
  yield* Effect.flatMap(first.saveWeightsForSampler("weights", { ttl: "1 day" }), (pending) => pending.await)
  const second = yield* tinker.createTrainingClientFromState(state.path, { userMetadata: { forkOf: "a1b2" } })
  const runOf = (id: string) => Effect.map(rest.getTrainingRun(id), ({ userMetadata }) => userMetadata)
  const { checkpoints } = yield* rest.listCheckpoints(first.info.modelId)
  return {
    runs: [yield* runOf(first.info.modelId), yield* runOf(second.info.modelId)],
    checkpoints: checkpoints.map(({ checkpointId, userMetadata }) => [checkpointId, userMetadata]),
    found: (yield* rest.searchSessions({ userMetadata: { recipe: "sums" } })).sessions.map((one) => one.displayName),
    missed: (yield* rest.searchSessions({ userMetadata: { recipe: "products" } })).sessions,
    first: first.info.modelId
  }
}))

describe("user metadata of this project's client", () => {
  layer(Api.server())((it) => {
    it.effect("is returned with its sessions, runs and checkpoints", () =>
      Effect.gen(function*() {
        const { checkpoints, first, found, missed, runs } = yield* Effect.provide(listed, client)
        assert.deepStrictEqual(runs, [{ commit: "a1b2" }, { forkOf: "a1b2" }])
        assert.sameDeepMembers(checkpoints, [
          ["weights/state", { step: "3" }],
          ["sampler_weights/weights", undefined]
        ])
        assert.deepStrictEqual(found, ["sums"])
        assert.deepStrictEqual(missed, [])
        const ended = yield* Api.get(`/training_runs/${first}`)
        assert.deepStrictEqual(ended.body["user_metadata"], { commit: "a1b2" })
      }))
  })
})
