/** An HTTP server that listens at an address of this machine. */
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { RequestListener, Server } from "node:http"

/** The address is in use, or does not belong to this machine. */
export class CannotListen extends Schema.TaggedError<CannotListen>()("CannotListen", {
  host: Schema.String,
  port: Schema.Int,
  detail: Schema.String
}) {
  override get message() {
    return `cannot listen on ${this.host}, port ${this.port}: ${this.detail}`
  }
}

const codeOf = Schema.decodeUnknownOption(Schema.Struct({ code: Schema.String }))

/** Describes an error of the operating system and how to fix it. */
const describe = (cause: unknown): string => {
  switch (Option.getOrUndefined(codeOf(cause))?.code) {
    case "EADDRINUSE":
      return "another program listens there; choose another with --port"
    case "EACCES":
      return "this port is for privileged programs; choose another with --port"
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
      return "this machine has no such address; choose another with --host"
    default:
      return String(cause)
  }
}

/** The error for a server that cannot listen at an address. */
export const refused = (
  { host, port }: { readonly host: string; readonly port: number },
  { cause }: { readonly cause: unknown }
) => new CannotListen({ host, port, detail: describe(cause) })

/** The response while the routes' services are still loading. Clients retry by themselves. */
const starting: RequestListener = (_, response) =>
  response
    .writeHead(503, { "content-type": "application/json", "retry-after": "1" })
    .end(JSON.stringify({ detail: "the server is starting: try again in a second" }))

/** Answers requests from the moment the server listens: Node drops requests for which there is no listener. */
const answering = (server: Server) =>
  server.on("request", starting).on("newListener", (event) => {
    if (event === "request") server.off("request", starting)
  })

/**
 * Closes the remaining connections when the server is closed. An idle client, or a client that sent half of a request, could otherwise keep
 * the process alive.
 */
const scoped = (make: () => Server) =>
  Effect.acquireRelease(
    Effect.sync(() => answering(make())),
    (server) => Effect.sync(() => server.closeAllConnections())
  )

/**
 * A server that listens at an address at once: requests get a 503 response with `Retry-After` until there are routes. Fails with
 * `CannotListen` if the address is not available.
 */
export const layer = (
  server: () => Server,
  options: { readonly host: string; readonly port: number; readonly gracefulShutdownTimeout: Duration.Input }
) =>
  Layer.unwrap(Effect.map(scoped(server), (server) => NodeHttpServer.layer(() => server, options))).pipe(
    Layer.catchTag("ServeError", (error) => Layer.effectContext(Effect.fail(refused(options, error))))
  )
