/** Checkpoints to take away, for whoever has a link: all files in one archive, or each of its own. */
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as Download from "./Download.ts"
import type * as Links from "./Links.ts"
import type { Parts } from "./Parts.ts"
import { notFound } from "./Refusal.ts"
import * as Tar from "./Tar.ts"

/** What the link opens: a run, a kind, a name and, of files, another name. */
const opened = ({ checkpoints }: Parts, links: Links.Links) =>
  Effect.gen(function*() {
    const { "*": rest = "" } = yield* HttpRouter.params
    const [run = "", kind = "", name = "", file = ""] = (yield* links.open(rest)).split("/")
    return { file, files: yield* checkpoints.files({ run, id: `${kind}/${name}` }) }
  })

const archive = (parts: Parts, links: Links.Links) =>
  Effect.flatMap(opened(parts, links), ({ files }) =>
    Download.respond({
      type: "application/x-tar",
      size: Tar.size(files),
      etag: Download.tagOf(files),
      read: (range) => Tar.stream(files, range)
    }))

const file = (parts: Parts, links: Links.Links) =>
  Effect.gen(function*() {
    const { file: name, files } = yield* opened(parts, links)
    const found = files.find((file) => file.name === name)
    if (found === undefined) return yield* notFound("file", name)
    const type = "application/octet-stream"
    return yield* Download.respond({ type, size: found.size, etag: Download.tagOf([found]), read: found.content })
  })

export const routes = (parts: Parts, links: Links.Links) => [
  HttpRouter.route("GET", "/archives/*", archive(parts, links)),
  HttpRouter.route("GET", "/files/*", file(parts, links))
]
