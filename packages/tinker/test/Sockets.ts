/** Servers on a free port of this machine. */
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Layer } from "effect"
import { FetchHttpClient, HttpServer } from "effect/http"
import { createServer } from "node:http"

/** Keeps idle connections open, so a client never sends into a connection that is being closed. */
export const listener = () => createServer({ keepAliveTimeout: 0 })

export const layer = NodeHttpServer.layer(listener, { port: 0, host: "127.0.0.1" })

/** The server, and a client whose requests go to it. */
export const layerTest = HttpServer.layerTestClient.pipe(
  Layer.provide(Layer.fresh(FetchHttpClient.layer)),
  Layer.provideMerge(layer)
)
