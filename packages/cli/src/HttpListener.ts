/** Listening for HTTP at an address of this machine. */
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type { Server } from "node:http"

/** The address is taken, or not this machine's. */
export class CannotListen extends Schema.TaggedError<CannotListen>()("CannotListen", {
  host: Schema.String,
  port: Schema.Int,
  detail: Schema.String
}) {
  override get message() {
    return `cannot listen on ${this.host}, port ${this.port}: ${this.detail}; choose another with --port`
  }
}

/** The server at an address; fails with `CannotListen` where the address is not available. */
export const layer = (
  server: () => Server,
  options: { readonly host: string; readonly port: number; readonly gracefulShutdownTimeout: Duration.Input }
) =>
  NodeHttpServer.layer(server, options).pipe(
    Layer.catchTag("ServeError", ({ cause }) => {
      const { host, port } = options
      return Layer.effectContext(Effect.fail(new CannotListen({ host, port, detail: String(cause) })))
    })
  )
