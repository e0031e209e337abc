/** The server at which programs reach their model, on a free port of this machine. */
import { AgentGateway } from "@effect-rl/agent"
import * as Layer from "effect/Layer"
import { createServer } from "node:http"
import * as HttpListener from "../HttpListener.ts"

/** An agent that is over may leave connections open, for which nobody waits. */
const gracefulShutdownTimeout = "1 second"

/** Milliseconds for which an agent may think between two requests on one connection, beyond which its client may find it closed. */
const keepAliveTimeout = 120_000

export const layer = AgentGateway.AgentGateway.layer.pipe(
  Layer.provideMerge(
    HttpListener.layer(() => createServer({ keepAliveTimeout }), {
      host: "127.0.0.1",
      port: 0,
      gracefulShutdownTimeout
    })
  )
)
