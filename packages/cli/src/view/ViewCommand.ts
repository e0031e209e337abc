/** `effect-rl view`: runs in a browser. */
import { Runs, ViewServer } from "@effect-rl/view"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as HttpServer from "effect/http/HttpServer"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { createServer } from "node:http"
import * as ModelTokenizers from "../ModelTokenizers.ts"
import * as Folders from "./Folders.ts"

/** The port is taken. */
export class CannotListen extends Schema.TaggedError<CannotListen>()("CannotListen", {
  port: Schema.Int,
  detail: Schema.String
}) {
  override get message() {
    return `cannot listen at port ${this.port}: ${this.detail}; choose another with --port`
  }
}

const flags = {
  folders: Argument.String("folder").pipe(
    Argument.withDescription("Run directories, or folders of them (default: runs)"),
    Argument.variadic()
  ),
  port: Flag.Int("port").pipe(
    Flag.filter((port) => port >= 0 && port <= 65_535, () => "a port, from 0 to 65535"),
    Flag.withMetavar("number"),
    Flag.withDescription("Port to listen at; 0 is any free one (default: 0)"),
    Flag.withDefault(0)
  )
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

const announce = Effect.gen(function*() {
  const { address } = yield* HttpServer.HttpServer
  yield* Console.log(HttpServer.formatAddress(address))
})

export const view = Command.make("view", flags, ({ folders, port }) =>
  Effect.gen(function*() {
    const found = folders.length === 0 ? [Folders.usual] : folders
    for (const folder of folders) yield* Folders.check(folder, yield* Runs.find([folder]))
    const server = ViewServer.layer({ folders: found })
    return yield* Layer.launch(Layer.merge(server, Layer.effectDiscard(announce))).pipe(Effect.provide(http(port)))
  }).pipe(Effect.provide(ModelTokenizers.layer)))
