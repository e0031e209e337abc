/** Servers on a free port of this machine. */
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { createServer } from "node:http"

/** A server that keeps idle connections open. Otherwise a client could send, after a pause, on a connection that is being closed. */
const listener = () => createServer({ keepAliveTimeout: 0 })

export const layer = NodeHttpServer.layer(listener, { port: 0, host: "127.0.0.1" })
