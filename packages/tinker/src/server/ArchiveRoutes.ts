/** Archives of checkpoints, whole or in parts, for whoever has a link. */
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import { createHash } from "node:crypto"
import type { File } from "./CheckpointFiles.ts"
import type * as Links from "./Links.ts"
import type { Parts } from "./Parts.ts"
import * as Range from "./Range.ts"
import { Refusal } from "./Refusal.ts"
import * as Tar from "./Tar.ts"

/** Equal for the same files: a checkpoint that was saved anew is another archive. */
const tagOf = (files: ReadonlyArray<File>) => {
  const all = files.map(({ modifiedSeconds, name, size }) => `${name} ${size} ${modifiedSeconds}`).join("\n")
  return `"${createHash("sha256").update(all).digest("hex").slice(0, 32)}"`
}

/** A part is of use only to who has the other parts of the same archive. */
const asked = ({ headers }: HttpServerRequest.HttpServerRequest, tag: string) =>
  (headers["if-range"] ?? tag) === tag ? headers["range"] : undefined

const download = ({ checkpoints }: Parts, links: Links.Links) =>
  Effect.gen(function*() {
    const { "*": rest = "" } = yield* HttpRouter.params
    const [run = "", ...id] = (yield* links.open(rest)).split("/")
    const files = yield* checkpoints.files({ run, id: id.join("/") })
    const size = Tar.size(files)
    const etag = tagOf(files)
    const range = Range.parse(asked(yield* HttpServerRequest.HttpServerRequest, etag), size)
    if (range === undefined) {
      const detail = `the archive has ${size} bytes, expected a range within`
      return yield* new Refusal({ status: 416, detail, headers: { "content-range": `bytes */${size}` } })
    }
    const { end, start } = range
    const isWhole = end - start === size
    return HttpServerResponse.stream(Tar.stream(files, range), {
      status: isWhole ? 200 : 206,
      contentType: "application/x-tar",
      contentLength: end - start,
      headers: {
        "accept-ranges": "bytes",
        etag,
        ...(isWhole ? {} : { "content-range": `bytes ${start}-${end - 1}/${size}` })
      }
    })
  })

export const routes = (parts: Parts, links: Links.Links) => [
  HttpRouter.route("GET", "/archives/*", download(parts, links))
]
