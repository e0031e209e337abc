/** The page of runs, served on this machine alone. */
import { ViewServer } from "@effect-rl/view"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as HttpServer from "effect/http/HttpServer"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { createServer } from "node:http"

/** The port is taken. */
export class CannotListen extends Schema.TaggedError<CannotListen>()("CannotListen", {
  port: Schema.Int,
  detail: Schema.String
}) {
  override get message() {
    return `cannot listen at port ${this.port}: ${this.detail}; choose another with --port`
  }
}

/** Pages hold their streams of records open; nothing is lost when they are cut. */
const gracefulShutdownTimeout = "100 millis"

const http = (port: number) =>
  NodeHttpServer.layer(createServer, { host: "127.0.0.1", port, gracefulShutdownTimeout }).pipe(
    Layer.catchTag(
      "ServeError",
      ({ cause }) => Layer.effectContext(Effect.fail(new CannotListen({ port, detail: String(cause) })))
    )
  )

/** Serves the runs until the scope closes; gives the address. Port 0 is any free one. */
export const start = Effect.fnUntraced(function*(folders: ReadonlyArray<string>, port: number) {
  const context = yield* Layer.build(Layer.provideMerge(ViewServer.layer({ folders }), http(port)))
  return HttpServer.formatAddress(Context.get(context, HttpServer.HttpServer).address)
})
