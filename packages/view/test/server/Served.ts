/** The page's server in front of a recorded run. */
import { ViewServer } from "@effect-rl/view"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Context, Effect, FileSystem, Layer, Path } from "effect"
import { HttpServer } from "effect/http"
import { createServer, request } from "node:http"
import * as Recorded from "../Recorded.ts"

export interface Served {
  readonly url: string
  readonly run: string
}

/** The address of a server of a folder with one run, until the scope closes. */
export const start = Effect.gen(function*() {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const folder = yield* fs.makeTempDirectoryScoped()
  const run = path.join(folder, "first")
  yield* Recorded.write(run)
  const http = NodeHttpServer.layer(createServer, { port: 0, host: "127.0.0.1", gracefulShutdownTimeout: "100 millis" })
  const context = yield* Layer.build(Layer.provideMerge(ViewServer.layer({ folders: [folder] }), http))
  const served: Served = {
    url: HttpServer.formatAddress(Context.get(context, HttpServer.HttpServer).address),
    run
  }
  return served
}).pipe(Effect.provide(NodeServices.layer))

export interface Answer {
  readonly status: number | undefined
  readonly headers: Readonly<Record<string, unknown>>
  readonly text: string
}

/** A request whose Host may be another than the one asked, as `fetch` cannot make it; reads at most the first `until`. */
export const get = (url: string, headers: Readonly<Record<string, string>> = {}, until?: string) =>
  Effect.callback<Answer>((resume) => {
    const sent = request(url, { headers: { ...headers } }, (response) => {
      let text = ""
      const end = () => resume(Effect.succeed({ status: response.statusCode, headers: response.headers, text }))
      response.setEncoding("utf8").on("data", (more) => {
        text += more
        if (until === undefined || !text.includes(until)) return
        end()
        sent.destroy()
      }).on("end", end)
    })
    sent.on("error", () => {}).end()
  })
