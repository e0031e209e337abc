/** Serves any backend through the Tinker API over HTTP. */
import { Dialects } from "@effect-rl/agent"
import { Tinker } from "@effect-rl/core"
import type { Tokenizer } from "@effect-rl/core/renderers"
import * as ByteSize from "effect/ByteSize"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as FileSystem from "effect/FileSystem"
import * as HttpIncomingMessage from "effect/http/HttpIncomingMessage"
import * as HttpRouter from "effect/http/HttpRouter"
import type * as HttpServer from "effect/http/HttpServer"
import type * as HttpServerRequest from "effect/http/HttpServerRequest"
import type * as Layer from "effect/Layer"
import * as Path from "effect/Path"
import * as Schedule from "effect/Schedule"
import * as Scope from "effect/Scope"
import { randomUUID } from "node:crypto"
import * as ApiKeys from "./ApiKeys.ts"
import * as Audit from "./Audit.ts"
import * as Body from "./Body.ts"
import { Caller } from "./Caller.ts"
import * as ChatAnswerer from "./chat/ChatAnswerer.ts"
import * as ChatKept from "./chat/ChatKept.ts"
import * as ChatModels from "./chat/ChatModels.ts"
import * as ChatPolicy from "./chat/ChatPolicy.ts"
import * as CheckpointRoutes from "./CheckpointRoutes.ts"
import * as CheckpointStore from "./CheckpointStore.ts"
import * as ClientSessions from "./ClientSessions.ts"
import * as DownloadRoutes from "./DownloadRoutes.ts"
import * as FairShare from "./FairShare.ts"
import * as FutureRoutes from "./FutureRoutes.ts"
import * as Futures from "./Futures.ts"
import { type HttpRefusal, respond } from "./HttpRefusal.ts"
import * as LoadRoutes from "./LoadRoutes.ts"
import * as LossRoutes from "./LossRoutes.ts"
import * as LossThread from "./LossThread.ts"
import * as ModelRoutes from "./ModelRoutes.ts"
import * as PassRoutes from "./PassRoutes.ts"
import * as PassThread from "./PassThread.ts"
import * as PieceSampling from "./PieceSampling.ts"
import * as Quota from "./Quota.ts"
import * as RateLimit from "./RateLimit.ts"
import type { RouteServices } from "./RouteServices.ts"
import * as SamplingRoutes from "./SamplingRoutes.ts"
import * as SaveRoutes from "./SaveRoutes.ts"
import * as ServiceRoutes from "./ServiceRoutes.ts"
import * as SessionRoutes from "./SessionRoutes.ts"
import * as SignedLinks from "./SignedLinks.ts"
import * as StorageRoutes from "./StorageRoutes.ts"
import * as Strictness from "./Strictness.ts"

export interface TinkerServerOptions {
  /** The folder of the backend's checkpoints, and the scheme of its checkpoint paths. */
  readonly checkpoints: CheckpointStore.CheckpointOptions
  /** The API keys of the server's tenants. A server without keys answers only programs on its machine. */
  readonly apiKeys?: ReadonlyArray<ApiKeys.ApiKey>
  /** Maximum size of a request body, both compressed and decompressed. Default: 64 MiB. */
  readonly maxBodySize?: ByteSize.Input
  /** Maximum number of sampling requests per tenant and minute. Default: unlimited. */
  readonly samplesPerMinute?: number
  /** The quota for the models and samplers of one tenant. Default: 256 models and 2 GiB. One session may use half of the quota. */
  readonly quota?: Partial<Quota.Quota>
  /** Whether to ask clients to compress training passes. Default: false. */
  readonly compressPasses?: boolean
  /** The names under which the models' tokenizers are loaded, by model. Default: the model's own name. */
  readonly tokenizers?: Readonly<Record<string, string>>
  /** Whether to refuse requests that the hosted service refuses, so clients that work here also work there. Default: false. */
  readonly strict?: boolean
  /** Whether chat fields that cannot take effect are dropped with a warning instead of refused. Default: false. */
  readonly lenient?: boolean
}

const usualLimit = ByteSize.fromInputUnsafe("64 MiB")

/** Maximum size of a chat request body, smaller than that of other bodies because images are decoded in one piece. */
const chatLimit = ByteSize.fromInputUnsafe("10 MiB")

/** How long a stopping server waits for requests that it has already accepted. */
const longestGoodbye = "10 seconds"

/** Checks the backend every five seconds, and logs once when it has failed. */
const watch = (tinker: Tinker.Tinker["Service"]) =>
  tinker.health.pipe(
    Effect.repeat(Schedule.spaced("5 seconds")),
    Effect.catch(({ reason }) => Effect.logError(`the backend has failed, and this server with it: ${reason.message}`))
  )

/** Creates the services that all routes share. When the scope closes, accepted requests have ten seconds to finish before the shutdown. */
const makeServices = Effect.fnUntraced(function*(options: TinkerServerOptions) {
  const { samplesPerMinute, tokenizers = {} } = options
  const tinker = yield* Tinker.Tinker
  const { join } = yield* Path.Path
  const tokenizerOf = (model: string) => tokenizers[model] ?? model
  const scope = yield* Scope.make()
  const futures = yield* Scope.provide(Futures.make(randomUUID()), scope)
  yield* Effect.addFinalizer(() =>
    Effect.andThen(Effect.timeoutOption(futures.stop, longestGoodbye), Scope.close(scope, Exit.void))
  )
  yield* Effect.forkIn(watch(tinker), scope)
  return {
    tinker,
    futures,
    sessions: yield* Scope.provide(
      ClientSessions.make(futures.sessionFinished, { ...Quota.usual, ...options.quota }),
      scope
    ),
    checkpoints: yield* Scope.provide(CheckpointStore.make(options.checkpoints), scope),
    audit: yield* Audit.make(join(options.checkpoints.folder, ".tinker")),
    sampling: FairShare.make(PieceSampling.capacity),
    lossThread: yield* Scope.provide(LossThread.make(), scope),
    passThread: yield* Scope.provide(PassThread.make, scope),
    rateLimit: samplesPerMinute === undefined ? RateLimit.none : yield* RateLimit.perMinute(samplesPerMinute),
    compressPasses: options.compressPasses ?? false,
    tokenizerOf,
    chatModel: yield* ChatModels.make(tokenizerOf),
    uniqueId: () => randomUUID()
  } satisfies RouteServices
})

/** Services provided to every route. */
type Given = Caller | Body.Room | Strictness.Strictness

type Route = HttpRouter.Route<HttpRefusal, Given>

/** Admits callers that `identify` recognizes, within the limits. */
const admitted = (
  identify: Effect.Effect<Caller["Service"], HttpRefusal, HttpServerRequest.HttpServerRequest>,
  room: FairShare.FairShare,
  strictness: Strictness.Strictness["Service"],
  maxBodySize: ByteSize.ByteSize
) =>
<A, R>(work: Effect.Effect<A, HttpRefusal, R>) =>
  Effect.flatMap(identify, (caller) => Effect.provideService(work, Caller, caller)).pipe(
    Effect.provideService(Body.Room, room),
    Effect.provideService(Strictness.Strictness, strictness),
    Effect.provideService(HttpIncomingMessage.MaxBodySize, maxBodySize)
  )

/** A route within the limits; its refusals become responses. */
const guarded = (admit: ReturnType<typeof admitted>) => (route: Route) =>
  HttpRouter.route(route.method, route.path, Effect.catchTag(admit(route.handler), "HttpRefusal", respond))

const withKey = (services: RouteServices, links: SignedLinks.SignedLinks): ReadonlyArray<Route> => [
  ...ServiceRoutes.routes(services),
  ...SessionRoutes.routes(services),
  ...StorageRoutes.routes(services),
  ...ModelRoutes.routes(services),
  ...PassRoutes.routes(services),
  ...SaveRoutes.routes(services),
  ...LoadRoutes.routes(services),
  ...LossRoutes.routes(services),
  ...SamplingRoutes.routes(services),
  ...FutureRoutes.routes(services),
  ...CheckpointRoutes.routes(services, links)
]

const withoutKey = (services: RouteServices, links: SignedLinks.SignedLinks): ReadonlyArray<Route> => [
  ...DownloadRoutes.routes(services, links),
  ...ServiceRoutes.openRoutes(services)
]

const stranger = Effect.succeed({ tenant: undefined })

/** The path prefix of the Tinker API. */
const prefix = "/api/v1"

/** The path prefix of the OpenAI endpoints. */
const openAiPrefix = "/oai/api/v1"
const anthropicPrefix = "/anthropic/api/v1"

/** The Tinker API and the chat endpoints. */
const routes = (options: TinkerServerOptions) =>
  HttpRouter.addAll(
    Effect.gen(function*() {
      const services = yield* makeServices(options)
      const links = yield* SignedLinks.make
      const limit = options.maxBodySize === undefined ? usualLimit : ByteSize.fromInputUnsafe(options.maxBodySize)
      const room = FairShare.make(Body.roomFactor * ByteSize.toNumberUnsafe(limit))
      const strictness = Strictness.make(options.strict ?? false)
      const identify = ApiKeys.identify(options.apiKeys ?? [])
      const known = guarded(admitted(identify, room, strictness, limit))
      const open = guarded(admitted(stranger, room, strictness, limit))
      const admitChat = admitted(identify, room, strictness, ByteSize.min(limit, chatLimit))
      const policy = ChatPolicy.make(options.lenient ?? false)
      const incoming = ChatAnswerer.incoming(services, policy, ChatKept.make())
      const chat = Effect.mapError(admitChat(incoming), ChatAnswerer.told)
      return [
        ...[...withKey(services, links).map(known), ...withoutKey(services, links).map(open)].map(
          HttpRouter.prefixRoute(prefix)
        ),
        ...Dialects.openAi(chat).map(HttpRouter.prefixRoute(openAiPrefix)),
        ...Dialects.anthropic(chat).map(HttpRouter.prefixRoute(anthropicPrefix))
      ]
    })
  )

/**
 * Serves the backend. Closing the scope waits up to ten seconds until accepted requests are finished.
 *
 * @example
 * const server = TinkerServer.layer({
 *   checkpoints: { folder: "out/checkpoints", scheme: "engine" },
 *   apiKeys: ApiKeys.parse("ada=tml-one"),
 *   strict: true
 * })
 */
export const layer = (
  options: TinkerServerOptions
): Layer.Layer<
  never,
  never,
  Tinker.Tinker | Tokenizer.Tokenizers | HttpServer.HttpServer | FileSystem.FileSystem | Path.Path
> => HttpRouter.serve(routes(options), { disableListenLog: true, disableLogger: true })
