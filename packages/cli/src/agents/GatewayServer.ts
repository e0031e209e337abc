/** The server through which programs reach their model, on a free port of this machine. */
import { AgentGateway } from "@effect-rl/agent"
import * as Layer from "effect/Layer"
import { createServer } from "node:http"
import * as HttpListener from "../HttpListener.ts"

/** How long a stopping server waits for open connections: briefly, because agents that have ended may leave idle ones. */
const gracefulShutdownTimeout = "1 second"

/** Milliseconds that a connection may be idle before it is closed, so an agent can think between two requests. */
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
