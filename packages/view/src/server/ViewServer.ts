/** The page over HTTP, with the runs that it shows. */
import { type RunRecord, RunStore } from "@effect-rl/core"
import { RunDirectory } from "@effect-rl/files"
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as HttpRouter from "effect/http/HttpRouter"
import type * as HttpServer from "effect/http/HttpServer"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import type * as Layer from "effect/Layer"
import type * as Path from "effect/Path"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as Assets from "./Assets.ts"
import { guarded } from "./Guard.ts"
import * as Runs from "./Runs.ts"
import * as Transcript from "./Transcript.ts"

export interface ViewServerOptions {
  /** Run directories, or folders of them. */
  readonly folders: ReadonlyArray<string>
}

const notFound = (error: string) => HttpServerResponse.jsonUnsafe({ error }, { status: 404 })

const badRequest = (error: string) => HttpServerResponse.jsonUnsafe({ error }, { status: 400 })

const Query = Schema.Struct({
  run: Schema.String,
  after: Schema.optionalKey(Schema.FiniteFromString.check(Schema.isInt())),
  sequence: Schema.optionalKey(Schema.FiniteFromString.check(Schema.isInt()))
})

type Query = typeof Query.Type

/** Answers a request about one of the runs; no other directory is opened. */
const aboutRun = <E>(
  { folders }: ViewServerOptions,
  answer: (run: RunStore.RunReader, query: Query) => Effect.Effect<HttpServerResponse.HttpServerResponse, E>
) =>
  Effect.gen(function*() {
    const query = yield* HttpServerRequest.schemaSearchParams(Query)
    const known = yield* Runs.find(folders)
    if (!known.includes(query.run)) return notFound(`there is no run "${query.run}" in ${folders.join(", ")}`)
    return yield* answer(yield* RunDirectory.open(query.run), query)
  }).pipe(
    Effect.catchIf(Schema.isSchemaError, ({ message }) => Effect.succeed(badRequest(message))),
    Effect.catchIf(
      (error) => error instanceof RunStore.RunError,
      ({ message }) => Effect.succeed(HttpServerResponse.jsonUnsafe({ error: message }, { status: 500 }))
    )
  )

const records = (run: RunStore.RunReader) =>
  Stream.runCollect(Stream.map(run.read, Runs.entry)).pipe(
    Effect.map((entries) => HttpServerResponse.jsonUnsafe(entries))
  )

const event = (record: RunRecord.RunRecord) => `id: ${record.sequence}\ndata: ${JSON.stringify(Runs.entry(record))}\n\n`

/** A browser that connects again names the last record it has seen. */
const lastSeen = Effect.map(
  HttpServerRequest.HttpServerRequest,
  ({ headers }) => Number.parseInt(headers["last-event-id"] ?? "", 10)
)

const events = (run: RunStore.RunReader, after: number) =>
  HttpServerResponse.stream(
    run.follow(after).pipe(Stream.map(event), Stream.encodeText),
    { contentType: "text/event-stream" }
  )

const transcript = Effect.fnUntraced(function*(run: RunStore.RunReader, { sequence = -1 }: Query) {
  const [record] = yield* Stream.runCollect(Stream.take(run.follow(sequence - 1), 1))
  if (record?._tag !== "GroupRolledOut" || record.payload === undefined) {
    return notFound(`record ${sequence} of ${run.name} has no transcript`)
  }
  const view = yield* Effect.flatMap(run.payload(record.payload), Transcript.decode)
  return HttpServerResponse.jsonUnsafe(view)
})

const routes = (options: ViewServerOptions) => [
  HttpRouter.route(
    "GET",
    "/",
    guarded(Effect.succeed(HttpServerResponse.text(Assets.html, { contentType: "text/html" })))
  ),
  HttpRouter.route(
    "GET",
    "/assets/*",
    guarded(Effect.flatMap(HttpRouter.params, ({ "*": name = "" }) => Assets.file(name)))
  ),
  HttpRouter.route(
    "GET",
    "/api/runs",
    guarded(Effect.map(Runs.list(options.folders), (lines) => HttpServerResponse.jsonUnsafe(lines)))
  ),
  HttpRouter.route("GET", "/api/records", guarded(aboutRun(options, records))),
  HttpRouter.route(
    "GET",
    "/api/events",
    guarded(
      Effect.flatMap(
        lastSeen,
        (seen) =>
          aboutRun(options, (run, { after = -1 }) => Effect.succeed(events(run, Number.isNaN(seen) ? after : seen)))
      )
    )
  ),
  HttpRouter.route("GET", "/api/transcript", guarded(aboutRun(options, transcript)))
]

/** Serves the page and its data. Meant for a server that listens on loopback alone. */
export const layer = (
  options: ViewServerOptions
): Layer.Layer<never, never, HttpServer.HttpServer | FileSystem.FileSystem | Path.Path> =>
  HttpRouter.serve(HttpRouter.addAll(routes(options)), { disableListenLog: true, disableLogger: true })
