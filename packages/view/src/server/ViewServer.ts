/** The HTTP server of the page and its runs. */
import { RunStore } from "@effect-rl/core"
import { GroupPayload } from "@effect-rl/core/records"
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as HttpRouter from "effect/http/HttpRouter"
import type * as HttpServer from "effect/http/HttpServer"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Layer from "effect/Layer"
import type * as Path from "effect/Path"
import * as Schema from "effect/Schema"
import * as MetricSeries from "../story/MetricSeries.ts"
import * as Assets from "./Assets.ts"
import { FollowedRuns } from "./FollowedRuns.ts"
import * as Guard from "./Guard.ts"
import { Languages } from "./Languages.ts"
import { Measuring } from "./Measuring.ts"
import * as Regrading from "./Regrading.ts"
import * as RunAnswers from "./RunAnswers.ts"
import * as RunCache from "./RunCache.ts"
import * as Runs from "./Runs.ts"

export interface ViewServerOptions {
  /** Run directories, or folders that contain run directories. */
  readonly folders: ReadonlyArray<string>
  /**
   * The token that requests must carry, at first as `?token=` in the address. Set it if the server listens beyond loopback. Without a
   * token, requests whose Host is another machine are refused.
   */
  readonly token?: string
}

const problem = (status: number) => (error: string) => HttpServerResponse.jsonUnsafe({ error }, { status })

const notFound = problem(404)

type Answer<E, R> = Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>

/** Responds with the error of a request or a run. */
const explained = <E, R>(
  answer: Answer<E | Schema.SchemaError | RunStore.RunError | GroupPayload.GroupPayloadError, R>
) =>
  answer.pipe(
    Effect.catchIf(Schema.isSchemaError, ({ message }) => Effect.succeed(problem(400)(message))),
    Effect.catchIf(
      (error) => error instanceof RunStore.RunError,
      ({ detail }) => Effect.succeed(problem(500)(detail))
    ),
    Effect.catchIf(
      (error) => error instanceof GroupPayload.GroupPayloadError,
      ({ message }) => Effect.succeed(problem(500)(message))
    )
  )

/** Handles a request about a listed run. Other directories are never opened. */
const aboutRun = <Q extends { readonly run: string; readonly others?: string | ReadonlyArray<string> }, E, R>(
  { folders }: ViewServerOptions,
  query: Schema.Codec<Q, Readonly<Record<string, string | ReadonlyArray<string> | undefined>>>,
  answer: (query: Q) => Answer<E, R>
) =>
  explained(Effect.gen(function*() {
    const asked = yield* HttpServerRequest.schemaSearchParams(query)
    const known = yield* Runs.find(folders)
    const strange = [asked.run, ...Arr.ensure(asked.others ?? [])].find((run) => !known.includes(run))
    if (strange !== undefined) return notFound(`there is no run "${strange}" in ${folders.join(", ")}`)
    return yield* answer(asked)
  }))

const Whole = Schema.FiniteFromString.check(Schema.isInt())

const OfRun = Schema.Struct({ run: Schema.String })
const Events = Schema.Struct({ run: Schema.String, after: Schema.optionalKey(Whole) })
const Transcript = Schema.Struct({
  run: Schema.String,
  sequence: Whole,
  loss: Schema.optionalKey(Schema.String)
})
const Search = Schema.Struct({ run: Schema.String, text: Schema.NonEmptyString })
const Metrics = Schema.Struct({ run: Schema.String, axis: Schema.Literals(MetricSeries.axes) })
const Regrade = Schema.Struct({ run: Schema.String, iteration: Whole, rule: Schema.Literals(Regrading.names) })

/** One value, or up to three values of the same name. */
const Others = Schema.Union([Schema.String, Schema.Array(Schema.String).check(Schema.isMaxLength(3))])
const Compare = Schema.Struct({ run: Schema.String, others: Others })

/** Maximum number of concurrent event streams, because each of them sends every record. */
const mostStreams = 32

const tooMany = HttpServerResponse.jsonUnsafe(
  { error: `${mostStreams} pages follow runs at once, expected no more: close some` },
  { status: 503, headers: { "retry-after": "5" } }
)

/** Counts open streams, and refuses further streams above the limit. */
const streams = () => {
  let open = 0
  const close = Effect.sync(() => {
    open--
  })
  return <E, R>(answer: Answer<E, R>) =>
    Effect.suspend(() => {
      if (open >= mostStreams) return Effect.succeed(tooMany)
      open++
      return Effect.andThen(Effect.addFinalizer(() => close), answer)
    })
}

const routes = Effect.fnUntraced(function*(options: ViewServerOptions) {
  const asset = yield* Assets.make
  const counted = streams()
  const guarded = Guard.make(options.token)
  const get = <E, R>(path: HttpRouter.PathInput, handler: Answer<E, R>) =>
    HttpRouter.route("GET", path, guarded(handler))
  return [
    get("/", Effect.succeed(HttpServerResponse.text(Assets.html, { contentType: "text/html" }))),
    get("/assets/*", Effect.flatMap(HttpRouter.params, ({ "*": name = "" }) => asset(name))),
    get("/api/runs", Effect.map(Runs.lines(options.folders), (lines) => HttpServerResponse.jsonUnsafe(lines))),
    get("/api/records", aboutRun(options, OfRun, RunAnswers.records)),
    get(
      "/api/events",
      Effect.flatMap(
        RunAnswers.lastSeen,
        (seen) =>
          aboutRun(
            options,
            Events,
            ({ after = -1, run }) => counted(RunAnswers.events(run, seen ?? after))
          )
      )
    ),
    get("/api/transcript", aboutRun(options, Transcript, RunAnswers.transcript)),
    get("/api/findings", aboutRun(options, OfRun, RunAnswers.findings)),
    get("/api/measures", aboutRun(options, OfRun, RunAnswers.measures)),
    get("/api/metrics", aboutRun(options, Metrics, RunAnswers.metrics)),
    get("/api/stages", aboutRun(options, OfRun, RunAnswers.stages(options.folders))),
    get("/api/log", aboutRun(options, OfRun, RunAnswers.log)),
    get("/api/search", aboutRun(options, Search, RunAnswers.search)),
    get("/api/compare", aboutRun(options, Compare, RunAnswers.compare)),
    get("/api/regrade", aboutRun(options, Regrade, RunAnswers.regrade))
  ]
})

/**
 * Serves the page and its data to this machine, or to everyone with the token. If `Tokenizers` is provided, transcripts show the text of
 * each token.
 *
 * @example
 * const page = ViewServer.layer({ folders: ["runs"], token: "secret" })
 */
export const layer = (
  options: ViewServerOptions
): Layer.Layer<never, never, HttpServer.HttpServer | FileSystem.FileSystem | Path.Path> =>
  HttpRouter.serve(Layer.unwrap(Effect.map(routes(options), HttpRouter.addAll)), {
    disableListenLog: true,
    disableLogger: true
  }).pipe(Layer.provide(Layer.mergeAll(RunCache.RunCache.layer, FollowedRuns.layer, Languages.layer, Measuring.layer)))
