/** Servers on a free port of this machine. */
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { createServer } from "node:http"

/** Keeps idle connections open: after a pause of its own, a client would send into one that is being closed. */
const listener = () => createServer({ keepAliveTimeout: 0 })

export const layer = NodeHttpServer.layer(listener, { port: 0, host: "127.0.0.1" })
