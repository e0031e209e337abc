/** A cluster of processes on one machine. They communicate over sockets, and a SQLite file assigns the work. */
import * as NodeClusterSocket from "@effect/platform-node/NodeClusterSocket"
import type { MessageStorage } from "effect/cluster/MessageStorage"
import * as RunnerAddress from "effect/cluster/RunnerAddress"
import type { Sharding } from "effect/cluster/Sharding"
import * as ShardingConfig from "effect/cluster/ShardingConfig"
import * as SqlRunnerStorage from "effect/cluster/SqlRunnerStorage"
import type { ConfigError } from "effect/Config"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type { SocketServerError } from "effect/socket/SocketServer"
import { createServer } from "node:net"
import { Drivers } from "./Drivers.ts"
import * as Members from "./Members.ts"
import * as Sqlite from "./Sqlite.ts"

export interface Options {
  /** The SQLite file that all processes share. It is created if missing. Use a new file for each run. */
  readonly database: string
}

const host = "127.0.0.1"

/**
 * Settings with which a lost runner is noticed within two seconds. This is safe because runners on one machine report
 * promptly.
 */
const shared: Partial<ShardingConfig.ShardingConfig["Service"]> = {
  shardsPerGroup: 60,
  shardLockRefreshInterval: "500 millis",
  shardLockExpiration: "2 seconds",
  refreshAssignmentsInterval: "500 millis",
  runnerHealthCheckInterval: "1 second",
  entityMessagePollInterval: "500 millis",
  entityTerminationTimeout: "1 second"
}

const freePort = Effect.callback<number>((resume) => {
  const server = createServer()
  server.listen(0, host, () => {
    const address = server.address()
    const port = typeof address === "object" && address !== null ? address.port : 0
    server.close(() => resume(Effect.succeed(port)))
  })
})

/**
 * The services of a process that rolls out groups. It listens on a free port.
 *
 * @example
 * const worker = ClusterExecutor.worker.pipe(
 *   Layer.provide(TaskRegistry.TaskRegistry.layer(task)),
 *   Layer.provide(LocalCluster.runner({ database: "cluster.db" }))
 * )
 */
export const runner = (
  { database }: Options
): Layer.Layer<Sharding | MessageStorage | Drivers, ConfigError | SocketServerError> =>
  Layer.unwrap(Effect.map(freePort, (port) =>
    NodeClusterSocket.layer({
      storage: "sql",
      shardingConfig: { ...shared, runnerAddress: Option.some(RunnerAddress.make(host, port)) }
    }))).pipe(Layer.merge(Drivers.layer), Layer.provide(Sqlite.layer(database)))

const clientConfig = { ...shared, runnerAddress: Option.none() }

/** The services of a process that sends groups to the runners and logs which runners exist. It does not listen on any port. */
export const client = ({ database }: Options): Layer.Layer<Sharding | MessageStorage | Drivers, ConfigError> =>
  NodeClusterSocket.layer({ clientOnly: true, storage: "sql", shardingConfig: clientConfig }).pipe(
    Layer.merge(Drivers.layer),
    Layer.merge(Members.logged.pipe(
      Layer.provide(Layer.orDie(SqlRunnerStorage.layer)),
      Layer.provide(ShardingConfig.layer(clientConfig))
    )),
    Layer.provide(Sqlite.layer(database))
  )
