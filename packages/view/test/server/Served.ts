/** Starts the page's server with recorded runs. */
import { Tokenizer } from "@effect-rl/core/renderers"
import { TestTokenizer } from "@effect-rl/core/testing"
import { ViewServer } from "@effect-rl/view"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Context, Effect, FileSystem, Layer, Path } from "effect"
import { HttpServer } from "effect/http"
import { createServer, request } from "node:http"
import * as Recorded from "../Recorded.ts"
import type * as CountedFiles from "./CountedFiles.ts"

export interface Served {
  readonly url: string
  /** The folder of all runs, and the run that most tests use. */
  readonly folder: string
  readonly run: string
}

/** Tokenizers whose ids 7, 8 and 9 are a special token, "five", and a word with a leading space. */
export const tokenizers = Layer.succeed(Tokenizer.Tokenizers, {
  load: () =>
    Effect.succeed(
      TestTokenizer.make({
        name: "test/words",
        specialTokens: ["<a>", "<b>", "<c>", "<d>", "<e>", "<f>", "<|im_end|>"],
        pieces: ["five", " plus"]
      })
    )
})

interface Serving {
  readonly token?: string
  readonly known?: typeof tokenizers
  readonly files?: CountedFiles.CountedFiles
  readonly port?: number
}

/** Serves a folder until the scope closes; returns the address. */
export const serve = Effect.fnUntraced(
  function*(folder: string, { files, known = tokenizers, port = 0, token }: Serving = {}) {
    const http = NodeHttpServer.layer(() => createServer({ keepAliveTimeout: 0 }), {
      port,
      host: "127.0.0.1",
      gracefulShutdownTimeout: "100 millis"
    })
    const counted = Layer.effect(
      FileSystem.FileSystem,
      Effect.map(FileSystem.FileSystem, (fs) => files === undefined ? fs : files.of(fs))
    )
    const view = ViewServer.layer({ folders: [folder], ...(token === undefined ? {} : { token }) }).pipe(
      Layer.provide(Layer.merge(known, counted))
    )
    const context = yield* Layer.build(Layer.provideMerge(view, http))
    return HttpServer.formatAddress(Context.get(context, HttpServer.HttpServer).address)
  },
  Effect.provide(NodeServices.layer)
)

/** Serves a folder with one run. */
export const start = Effect.gen(function*() {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const folder = yield* fs.makeTempDirectoryScoped()
  const run = path.join(folder, "first")
  yield* Recorded.write(run)
  const served: Served = { url: yield* serve(folder), folder, run }
  return served
}).pipe(Effect.provide(NodeServices.layer))

export interface Answer {
  readonly status: number | undefined
  readonly headers: Readonly<Record<string, unknown>>
  readonly text: string
}

/**
 * Sends a request on its own connection, with any Host header, which `fetch` cannot set. Reads the response up to the first `until`, or to
 * its end. A broken connection is returned as a response without status.
 */
export const get = (url: string, headers: Readonly<Record<string, string>> = {}, until?: string) =>
  Effect.callback<Answer>((resume) => {
    const sent = request(url, { agent: false, headers: { ...headers } }, (response) => {
      let text = ""
      const end = () => resume(Effect.succeed({ status: response.statusCode, headers: response.headers, text }))
      response.setEncoding("utf8").on("data", (more) => {
        text += more
        if (until === undefined || !text.includes(until)) return
        end()
        sent.destroy()
      }).on("end", end)
    })
    sent.on("error", ({ message }) => resume(Effect.succeed({ status: undefined, headers: {}, text: message }))).end()
  })
