/** A cluster of processes on any number of machines. They communicate over HTTP, and a PostgreSQL database assigns the work. */
import * as NodeClusterHttp from "@effect/platform-node/NodeClusterHttp"
import * as NodeCrypto from "@effect/platform-node/NodeCrypto"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import * as Cause from "effect/Cause"
import * as HttpRunner from "effect/cluster/HttpRunner"
import type { MessageStorage } from "effect/cluster/MessageStorage"
import * as RunnerAddress from "effect/cluster/RunnerAddress"
import * as RunnerHealth from "effect/cluster/RunnerHealth"
import * as Runners from "effect/cluster/Runners"
import * as RunnerServer from "effect/cluster/RunnerServer"
import type { Sharding } from "effect/cluster/Sharding"
import * as ShardingConfig from "effect/cluster/ShardingConfig"
import * as SqlMessageStorage from "effect/cluster/SqlMessageStorage"
import * as SqlRunnerStorage from "effect/cluster/SqlRunnerStorage"
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import type { ServeError } from "effect/http/HttpServerError"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Reactivity from "effect/reactivity/Reactivity"
import * as Redacted from "effect/Redacted"
import * as RpcSerialization from "effect/rpc/RpcSerialization"
import type { Scope } from "effect/Scope"
import { MigrationError } from "effect/sql/Migrator"
import * as SqlClient from "effect/sql/SqlClient"
import { isSqlError, type SqlError } from "effect/sql/SqlError"
import { Drivers } from "./Drivers.ts"
import { InvalidAddress, JoinError, Refused, Unreachable, WrongSecret } from "./JoinError.ts"
import * as Members from "./Members.ts"
import * as RunTables from "./RunTables.ts"
import * as SharedSecret from "./SharedSecret.ts"

/** The services of a process in a cluster: sharding, message storage, the database and the drivers' heartbeats. */
export type Services = Sharding | MessageStorage | SqlClient.SqlClient | Drivers

/** What every process needs to join a cluster. */
export interface Options {
  /** `postgres://user:password@host:port/database`. Several runs may share a cluster. */
  readonly database: Redacted.Redacted
  /** The cluster's shared secret: any text that is hard to guess. The first process that joins sets it. */
  readonly secret: Redacted.Redacted
}

/** Where a process listens. */
export interface Address {
  readonly host: string
  readonly port: number
}

/** Options of a process that rolls out groups. */
export interface RunnerOptions extends Options {
  /** The address at which other processes reach this one. */
  readonly address: Address
  /** The address to listen on. Default: `address`. */
  readonly listen?: Address
  /**
   * How a lost runner is detected. `ping` (the default): it does not answer a request. `k8s`: Kubernetes reports that the pod with its
   * address is not ready; this needs a service account that may list pods.
   */
  readonly health?: "ping" | "k8s"
  /** Selects the pods that `k8s` checks. Default: all pods of the namespace. */
  readonly labelSelector?: string
}

/**
 * Settings with which the work of a lost or paused runner restarts elsewhere within about ten seconds. A driver that
 * trains on a busy machine may take seconds to answer the database.
 */
const shared: Partial<ShardingConfig.ShardingConfig["Service"]> = {
  shardsPerGroup: 120,
  shardLockRefreshInterval: "3 seconds",
  shardLockExpiration: "10 seconds",
  refreshAssignmentsInterval: "1 second",
  runnerHealthCheckInterval: "2 seconds",
  entityMessagePollInterval: "1 second",
  entityReplyPollInterval: "100 millis",
  entityTerminationTimeout: "2 seconds"
}

/**
 * The database ends a transaction whose process has sent nothing for this many milliseconds. A paused or unreachable process would
 * otherwise keep rows locked that the next owner of its shards must write. The rows are free before the shards are, which takes at least
 * `shardLockExpiration` less `shardLockRefreshInterval`.
 */
const longestTransactionPause = "5000"

const protocols: ReadonlyArray<string> = ["postgres:", "postgresql:"]

/** The address without its password. */
const shown = (database: URL) => {
  const copy = new URL(database)
  copy.password = ""
  return copy.href
}

const addressOf = ({ database }: Options) => {
  const text = Redacted.value(database)
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url !== undefined && protocols.includes(url.protocol)) return Effect.succeed(shown(url))
  const detail = url === undefined ? "it is not an address" : `it begins with ${url.protocol}//`
  return Effect.fail(new JoinError({ database: "the cluster's database", reason: new InvalidAddress({ detail }) }))
}

type DatabaseError = SqlError | MigrationError

const isDatabaseError = (error: unknown): error is DatabaseError => isSqlError(error) || error instanceof MigrationError

/** The error for a database that failed while a process joined. The cause of an SQL error's reason holds the driver's own message. */
const joinError = (database: string, error: DatabaseError): JoinError => {
  if (!isSqlError(error)) {
    return isSqlError(error.cause)
      ? joinError(database, error.cause)
      : new JoinError({ database, reason: new Refused({ detail: error.message }) })
  }
  const { cause } = error.reason
  const detail = cause instanceof Error && cause.message !== "" ? cause.message : error.message
  return new JoinError({
    database,
    reason: RunTables.isAway(error) ? new Unreachable({ detail }) : new Refused({ detail })
  })
}

/** Imports the PostgreSQL driver only when a database is used. */
const connect = (url: Redacted.Redacted): Effect.Effect<SqlClient.SqlClient, SqlError, Reactivity.Reactivity | Scope> =>
  Effect.flatMap(
    Effect.promise(() => import("@effect/sql-pg/PgClient")),
    ({ make }) =>
      make({
        url,
        applicationName: "effect-rl",
        maxConnections: 10,
        startupParameters: { idle_in_transaction_session_timeout: longestTransactionPause }
      })
  )

/**
 * The cluster's database, with the tables for runs. Fails if the address is invalid, the database cannot be reached or answers with an
 * error, or the secret is not the cluster's.
 */
export const database = (options: Options): Layer.Layer<SqlClient.SqlClient, JoinError> =>
  Layer.effect(
    SqlClient.SqlClient,
    Effect.gen(function*() {
      const database = yield* addressOf(options)
      const connected = Effect.gen(function*() {
        const client = yield* connect(options.database)
        const isShared = yield* SharedSecret.isShared(client, options.secret)
        if (!isShared) return yield* new JoinError({ database, reason: new WrongSecret() })
        yield* Effect.provideService(RunTables.make, SqlClient.SqlClient, client)
        return client
      })
      return yield* Effect.mapError(connected, (error) => isDatabaseError(error) ? joinError(database, error) : error)
    })
  ).pipe(Layer.provide(Reactivity.layer))

/** The longest silence of a request, in milliseconds. Its answer is then read from the database, where another runner may have put it. */
const longestSilence = 10_000

/**
 * An HTTP dispatcher with time limits. Without them, a request to a runner that is paused or whose machine is cut off
 * would wait forever.
 */
const impatient = Layer.effect(
  NodeHttpClient.Dispatcher,
  Effect.map(
    NodeHttpClient.makeDispatcher,
    (dispatcher) =>
      dispatcher.compose((dispatch) => (options, handler) =>
        dispatch({ ...options, headersTimeout: longestSilence, bodyTimeout: longestSilence }, handler)
      )
  )
)

const clientProtocol = ({ secret }: Options) =>
  HttpRunner.layerClientProtocolHttpDefault.pipe(
    SharedSecret.sent(secret),
    Layer.provide(Layer.provide(NodeHttpClient.layerUndiciNoDispatcher, impatient))
  )

/**
 * Converts an error of the database with which a layer died to a `JoinError`. The storage of effect/cluster dies if the database fails
 * while the process joins, as when it restarts.
 */
const orJoinError = (options: Options) => <A, E, R>(layer: Layer.Layer<A, E, R>) =>
  Layer.catchCause(layer, (cause) => {
    const error = Cause.squash(cause)
    return Layer.effectContext<A, E | JoinError, never>(
      isDatabaseError(error)
        ? Effect.flatMap(addressOf(options), (database) => Effect.fail(joinError(database, error)))
        : Effect.failCause(cause)
    )
  })

/** Stores messages and runners in the database. */
const stored =
  (options: Options, config: Partial<ShardingConfig.ShardingConfig["Service"]>) =>
  <A, E, R>(layer: Layer.Layer<A, E, R>) =>
    layer.pipe(
      Layer.merge(Drivers.layer),
      Layer.provideMerge(SqlMessageStorage.layer.pipe(Layer.provide(NodeCrypto.layerDigest))),
      Layer.provide(Layer.orDie(SqlRunnerStorage.layer)),
      Layer.provide(ShardingConfig.layer({ ...shared, ...config })),
      Layer.provide(RpcSerialization.layerSchemaBinary()),
      Layer.provideMerge(database(options)),
      orJoinError(options)
    )

const healthOf = (options: RunnerOptions) => {
  const { health = "ping", labelSelector } = options
  return health === "k8s"
    ? Layer.provide(
      RunnerHealth.layerK8s(labelSelector === undefined ? {} : { labelSelector }),
      NodeClusterHttp.layerK8sHttpClient
    )
    : RunnerHealth.layerPing.pipe(Layer.provide(Runners.layerRpc), Layer.provide(clientProtocol(options)))
}

/**
 * The services of a process that rolls out groups. It fails to start if the database cannot be reached or the secret is not the cluster's.
 * It answers requests without the secret with status 401.
 *
 * @example
 * const worker = ClusterExecutor.worker.pipe(
 *   Layer.provide(TaskRegistry.TaskRegistry.layer(task)),
 *   Layer.provide(PostgresCluster.runner({
 *     database: Redacted.make("postgres://trainer@db.example:5432/training"),
 *     secret: Redacted.make("of the cluster"),
 *     address: { host: "10.0.0.7", port: 34431 }
 *   }))
 * )
 */
export const runner = (options: RunnerOptions): Layer.Layer<Services, JoinError | ServeError> => {
  const { address, listen = address, secret } = options
  return HttpRouter.serve(HttpRunner.layerHttpOptions({ path: "/" }), {
    disableLogger: true,
    disableListenLog: true,
    middleware: SharedSecret.guard(secret)
  }).pipe(
    Layer.provide(clientProtocol(options)),
    Layer.provide(healthOf(options)),
    Layer.provide(NodeClusterHttp.layerHttpServer),
    stored(options, {
      runnerAddress: Option.some(RunnerAddress.make(address.host, address.port)),
      runnerListenAddress: Option.some(RunnerAddress.make(listen.host, listen.port))
    })
  )
}

/** The services of a process that sends groups to the runners and logs which runners exist. It does not listen on any port. */
export const client = (options: Options): Layer.Layer<Services, JoinError> =>
  RunnerServer.layerClientOnly.pipe(
    Layer.merge(Members.logged),
    Layer.provide(clientProtocol(options)),
    stored(options, { runnerAddress: Option.none() })
  )
