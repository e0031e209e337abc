/** Requests between the processes of a cluster carry its secret. */
import * as SharedSecret from "@effect-rl/cluster/SharedSecret"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { HttpClient, HttpServer, HttpServerResponse } from "effect/http"

/** The status of a request with the secret `given` to a process with `secret`. */
const status = (given: string, secret: string) =>
  Effect.gen(function*() {
    yield* HttpServer.serveEffect(SharedSecret.guard(Redacted.make(secret))(Effect.succeed(HttpServerResponse.empty())))
    const client = Layer.effect(HttpClient.HttpClient, HttpClient.HttpClient).pipe(
      SharedSecret.sent(Redacted.make(given))
    )
    return (yield* Effect.provide(HttpClient.get("/"), client)).status
  }).pipe(Effect.scoped, Effect.provide(NodeHttpServer.layerTest))

describe("the shared secret of a cluster", () => {
  it.live.each(["of the test", " with spaces ", "ein Schlüssel", "鍵 🔑", "of a file\n", "two\nlines"])(
    "lets requests pass if it matches, with any characters: %j",
    (secret) =>
      Effect.gen(function*() {
        assert.strictEqual(yield* status(secret, secret), 204)
      })
  )

  it.live.each(["", "of the tes", "of the test ", "Of the test"])(
    "refuses requests with another secret: %j",
    (guess) =>
      Effect.gen(function*() {
        assert.strictEqual(yield* status(guess, "of the test"), 401)
      })
  )
})
