/** The page of runs, served to this machine alone, or to others with a token. */
import { ViewServer } from "@effect-rl/view"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as HttpServer from "effect/http/HttpServer"
import * as Layer from "effect/Layer"
import { randomUUID } from "node:crypto"
import { createServer } from "node:http"
import { hostname } from "node:os"
import * as HttpListener from "../HttpListener.ts"

/** Pages hold their streams of records open; nothing is lost when they are cut. */
const gracefulShutdownTimeout = "100 millis"

export const loopback = "127.0.0.1"

/** The port of the page unless another is asked for, so that its address can be kept. */
export const usualPort = 7272

/** Ports that are tried after the usual one, such as for the pages of several runs at once; then any free one is taken. */
const others = 8

/** A server that listens on every address of this machine is found by the machine's name. */
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
 * Serves the runs until the scope closes; gives the address, with a token in it unless the host is loopback. Port 0 is any free one; unless a
 * port is given, the usual one or a free one after it.
 */
export const start = (folders: ReadonlyArray<string>, { host = loopback, port }: Partial<Address> = {}) =>
  port === undefined
    ? Effect.firstSuccessOf([
      ...Array.from({ length: 1 + others }, (_, at) => listen(folders, { host, port: usualPort + at })),
      listen(folders, { host, port: 0 })
    ])
    : listen(folders, { host, port })
