/** The Tinker API over HTTP in front of any backend. */
import { Tinker } from "@effect-rl/core"
import * as ByteSize from "effect/ByteSize"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as FileSystem from "effect/FileSystem"
import * as HttpIncomingMessage from "effect/http/HttpIncomingMessage"
import * as HttpRouter from "effect/http/HttpRouter"
import type * as HttpServer from "effect/http/HttpServer"
import type * as HttpServerRequest from "effect/http/HttpServerRequest"
import type * as Layer from "effect/Layer"
import type * as Path from "effect/Path"
import type * as Redacted from "effect/Redacted"
import * as Scope from "effect/Scope"
import { randomUUID } from "node:crypto"
import * as ApiKeys from "./ApiKeys.ts"
import * as CheckpointRoutes from "./CheckpointRoutes.ts"
import * as Checkpoints from "./Checkpoints.ts"
import * as DownloadRoutes from "./DownloadRoutes.ts"
import * as FutureRoutes from "./FutureRoutes.ts"
import * as Futures from "./Futures.ts"
import * as Links from "./Links.ts"
import * as ModelRoutes from "./ModelRoutes.ts"
import type { Parts } from "./Parts.ts"
import * as PassRoutes from "./PassRoutes.ts"
import * as RateLimit from "./RateLimit.ts"
import { type Refusal, respond } from "./Refusal.ts"
import * as SamplingRoutes from "./SamplingRoutes.ts"
import * as ServiceRoutes from "./ServiceRoutes.ts"
import * as Sessions from "./Sessions.ts"
import * as WeightsRoutes from "./WeightsRoutes.ts"

export interface TinkerServerOptions {
  /** Where the backend keeps its checkpoints, and what its paths for them begin with. */
  readonly checkpoints: Checkpoints.CheckpointOptions
  /** Keys to be let in with; without any only this machine is. */
  readonly apiKeys?: ReadonlyArray<Redacted.Redacted>
  /** Largest request body, before and after it is unpacked; default 64 MiB. */
  readonly maxBodySize?: ByteSize.Input
  /** Requests to sample that one key may make in a minute; unlimited unless given. */
  readonly samplesPerMinute?: number
  /** Asks clients to compress their training passes; not unless given. */
  readonly compressPasses?: boolean
}

const usualLimit = ByteSize.fromInputUnsafe("64 MiB")

/** For requests accepted before the server was told to stop. */
const longestGoodbye = "30 seconds"

/** Everything the routes share. When its scope closes, what was accepted is finished before anything is taken down. */
const makeParts = Effect.fnUntraced(function*(options: TinkerServerOptions) {
  const { apiKeys = [], samplesPerMinute } = options
  const tinker = yield* Tinker.Tinker
  const scope = yield* Scope.make()
  const futures = yield* Scope.provide(Futures.make(randomUUID()), scope)
  yield* Effect.addFinalizer(() =>
    Effect.andThen(Effect.timeoutOption(futures.settled, longestGoodbye), Scope.close(scope, Exit.void))
  )
  return {
    tinker,
    futures,
    sessions: yield* Scope.provide(Sessions.make, scope),
    checkpoints: yield* Scope.provide(Checkpoints.make(options.checkpoints), scope),
    rateLimit: samplesPerMinute === undefined
      ? RateLimit.none
      : yield* RateLimit.perMinute(samplesPerMinute, apiKeys.length > 0),
    compressPasses: options.compressPasses ?? false,
    uniqueId: () => randomUUID()
  } satisfies Parts
})

type Route = HttpRouter.Route<Refusal>

/** Requests of those who may, within the limit; refusals become responses. */
const guarded =
  (check: Effect.Effect<void, Refusal, HttpServerRequest.HttpServerRequest>, maxBodySize: ByteSize.ByteSize) =>
  (route: Route): HttpRouter.Route<never, HttpServerRequest.HttpServerRequest> => ({
    ...route,
    handler: Effect.andThen(check, route.handler).pipe(
      Effect.catchTag("Refusal", respond),
      Effect.provideService(HttpIncomingMessage.MaxBodySize, maxBodySize)
    )
  })

const withKey = (parts: Parts, links: Links.Links): ReadonlyArray<Route> => [
  ...ServiceRoutes.routes(parts),
  ...ModelRoutes.routes(parts),
  ...PassRoutes.routes(parts),
  ...WeightsRoutes.routes(parts),
  ...SamplingRoutes.routes(parts),
  ...FutureRoutes.routes(parts),
  ...CheckpointRoutes.routes(parts, links)
]

const withoutKey = (parts: Parts, links: Links.Links): ReadonlyArray<Route> => [
  ...DownloadRoutes.routes(parts, links),
  ...ServiceRoutes.openRoutes
]

/** The routes under `/api/v1`. */
const routes = (options: TinkerServerOptions) =>
  HttpRouter.addAll(
    Effect.gen(function*() {
      const parts = yield* makeParts(options)
      const links = yield* Links.make
      const limit = options.maxBodySize === undefined ? usualLimit : ByteSize.fromInputUnsafe(options.maxBodySize)
      return [
        ...withKey(parts, links).map(guarded(ApiKeys.check(options.apiKeys ?? []), limit)),
        ...withoutKey(parts, links).map(guarded(Effect.void, limit))
      ]
    }),
    { prefix: "/api/v1" }
  )

/** Serves the backend; whoever closes the scope waits until what was accepted is finished. */
export const layer = (
  options: TinkerServerOptions
): Layer.Layer<
  never,
  never,
  Tinker.Tinker | HttpServer.HttpServer | FileSystem.FileSystem | Path.Path
> => HttpRouter.serve(routes(options), { disableListenLog: true, disableLogger: true })
