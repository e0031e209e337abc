/** This project's client, connected to the server under test. */
import { TinkerHttp } from "@effect-rl/tinker"
import { Effect, Layer, Redacted } from "effect"
import { HttpServer } from "effect/http"

export const layer = (options: Partial<TinkerHttp.TinkerHttpOptions> = {}) =>
  Layer.unwrap(
    Effect.map(HttpServer.HttpServer, ({ address }) =>
      TinkerHttp.layerOptions({
        baseUrl: HttpServer.formatAddress(address),
        apiKey: Redacted.make("tml-test"),
        ...options
      }))
  )
