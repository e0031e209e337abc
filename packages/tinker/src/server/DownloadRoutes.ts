/** Downloads of checkpoints through signed links, as one archive or one file. */
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as Download from "./Download.ts"
import { notFound } from "./HttpRefusal.ts"
import type { RouteServices } from "./RouteServices.ts"
import type * as SignedLinks from "./SignedLinks.ts"
import * as Tar from "./Tar.ts"

/** Opens a link, which names a run's folder, a kind, a checkpoint and, for a single file, the file. */
const opened = ({ checkpoints }: RouteServices, links: SignedLinks.SignedLinks) =>
  Effect.gen(function*() {
    const { "*": rest = "" } = yield* HttpRouter.params
    const [folder = "", kind = "", name = "", file = ""] = (yield* links.open(rest)).split("/")
    return { file, files: yield* checkpoints.files({ folder, id: `${kind}/${name}` }) }
  })

const archive = (services: RouteServices, links: SignedLinks.SignedLinks) =>
  Effect.flatMap(opened(services, links), ({ files }) =>
    Download.respond({
      type: "application/x-tar",
      size: Tar.size(files),
      etag: Download.tagOf(files),
      read: (range) => Tar.stream(files, range)
    }))

const file = (services: RouteServices, links: SignedLinks.SignedLinks) =>
  Effect.gen(function*() {
    const { file: name, files } = yield* opened(services, links)
    const found = files.find((file) => file.name === name)
    if (found === undefined) return yield* notFound("file", name)
    const type = "application/octet-stream"
    return yield* Download.respond({ type, size: found.size, etag: Download.tagOf([found]), read: found.content })
  })

export const routes = (services: RouteServices, links: SignedLinks.SignedLinks) => [
  HttpRouter.route("GET", "/archives/*", archive(services, links)),
  HttpRouter.route("HEAD", "/archives/*", archive(services, links)),
  HttpRouter.route("GET", "/files/*", file(services, links)),
  HttpRouter.route("HEAD", "/files/*", file(services, links))
]
