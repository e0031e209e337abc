/** Trains one step at the server `argv[2]` with this project's client, and prints its description, which the official SDK then reads. */
import { Tinker } from "@effect-rl/core"
import { TinkerHttp } from "@effect-rl/tinker"
import { Effect, Redacted } from "effect"
import { FetchHttpClient } from "effect/http"

const [, , baseUrl = "", baseModel = ""] = process.argv

const written = Effect.gen(function*() {
  const tinker = yield* Tinker.Tinker
  const client = yield* tinker.createLoraTrainingClient({
    baseModel,
    loraRank: 8,
    userMetadata: { commit: "a1b2" }
  })
  yield* Effect.flatMap(
    client.saveState("written", { userMetadata: { iteration: "3" } }),
    (pending) => pending.await
  )
})

const client = TinkerHttp.layerOptions({
  baseUrl,
  apiKey: Redacted.make("tml-local"),
  displayName: "written by effect-rl",
  userMetadata: { recipe: "sums" }
})

await Effect.runPromise(Effect.scoped(Effect.provide(Effect.provide(written, client), FetchHttpClient.layer)))
