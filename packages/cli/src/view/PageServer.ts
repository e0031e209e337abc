/** The page server for runs, reachable only from this machine, or from others with a token. */
import { ViewServer } from "@effect-rl/view"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as HttpServer from "effect/http/HttpServer"
import * as Layer from "effect/Layer"
import { randomUUID } from "node:crypto"
import { createServer } from "node:http"
import { hostname } from "node:os"
import * as HttpListener from "../HttpListener.ts"

/** How long a stopping server waits for open connections. Pages keep record streams open, and cutting a stream loses nothing. */
const gracefulShutdownTimeout = "100 millis"

export const loopback = "127.0.0.1"

/** The page's default port, fixed so the address stays the same. */
export const usualPort = 7272

/** Number of ports to try after the default port, for the pages of several runs at once. If all are in use, any free port is taken. */
const others = 8

/** The address with the machine's name, for a server that listens on all of the machine's addresses. */
const reachable = (address: string) => address.replace(/\/\/(?:0\.0\.0\.0|\[::\])(?=:)/, `//${hostname()}`)

interface Address {
  readonly host: string
  readonly port: number
}

const listen = Effect.fnUntraced(function*(folders: ReadonlyArray<string>, { host, port }: Address) {
  const token = host === loopback ? undefined : randomUUID()
  const server = ViewServer.layer({ folders, ...(token === undefined ? {} : { token }) })
  const http = HttpListener.layer(createServer, { host, port, gracefulShutdownTimeout })
  const context = yield* Layer.build(Layer.provideMerge(server, http))
  const address = reachable(HttpServer.formatAddress(Context.get(context, HttpServer.HttpServer).address))
  return token === undefined ? address : `${address}/?token=${token}`
})

/**
 * Serves the runs until the scope closes. Returns the address, with a token in it unless the host is loopback. Port 0 means any free port;
 * without a port, the default port or a free port after it is used.
 */
export const start = (folders: ReadonlyArray<string>, { host = loopback, port }: Partial<Address> = {}) =>
  port === undefined
    ? Effect.firstSuccessOf([
      ...Array.from({ length: 1 + others }, (_, at) => listen(folders, { host, port: usualPort + at })),
      listen(folders, { host, port: 0 })
    ])
    : listen(folders, { host, port })
