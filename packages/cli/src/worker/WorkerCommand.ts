/** `effect-rl worker`: lets this process roll out groups of runs that share its database. */
import { CheckpointDatabase, ClusterExecutor, type JoinError, PostgresCluster } from "@effect-rl/cluster"
import { TaskRegistry } from "@effect-rl/core/program"
import * as Cause from "effect/Cause"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Path from "effect/Path"
import * as Redacted from "effect/Redacted"
import type { SqlClient } from "effect/sql/SqlClient"
import * as UnsafeHostFlag from "../agents/UnsafeHostFlag.ts"
import * as ClusterSecret from "../executor/ClusterSecret.ts"
import * as RecipeDriver from "../executor/RecipeDriver.ts"
import * as RecipeWorker from "../executor/RecipeWorker.ts"
import * as Failure from "../Failure.ts"
import * as Help from "../Help.ts"
import * as HttpListener from "../HttpListener.ts"
import { Output } from "../terminal/Output.ts"
import { RunLog } from "../terminal/RunLog.ts"
import * as RunLogger from "../terminal/RunLogger.ts"
import * as Untrusted from "../terminal/Untrusted.ts"
import * as WorkersFlag from "../WorkersFlag.ts"

const usualPort = 34_431

const flags = {
  join: Flag.String("join").pipe(
    Flag.withMetavar("database"),
    Flag.withDescription(
      "Database that the runs and their workers share, as postgres://user@host/name; the secret is in EFFECT_RL_CLUSTER_SECRET"
    )
  ),
  host: Flag.String("host").pipe(
    Flag.withMetavar("address"),
    Flag.withDescription("Address of this machine at which the other processes reach this one (default: 127.0.0.1)"),
    Flag.withDefault("127.0.0.1")
  ),
  port: Flag.Int("port").pipe(
    Flag.filter((port) => port >= 1 && port <= 65_535, () => "a port, from 1 to 65535"),
    Flag.withMetavar("number"),
    Flag.withDescription(`Port to listen on; each worker of a machine has its own (default: ${usualPort})`),
    Flag.withDefault(usualPort)
  ),
  listen: Flag.String("listen").pipe(
    Flag.withMetavar("address"),
    Flag.withDescription("Address to listen on, such as 0.0.0.0 in a container (default: that of --host)"),
    Flag.optional
  ),
  health: Flag.Literals("health", ["ping", "k8s"]).pipe(
    Flag.withDescription(
      "How lost workers are detected: they answer no request, or Kubernetes says that their pod is not ready (default: ping)"
    ),
    Flag.withDefault("ping")
  ),
  labels: Flag.String("labels").pipe(
    Flag.withMetavar("selector"),
    Flag.withDescription(
      "Labels of the workers' pods for --health k8s, such as app=effect-rl-worker (default: all pods)"
    ),
    Flag.optional
  ),
  workers: WorkersFlag.flag,
  unsafeHost: UnsafeHostFlag.flag
}

/** A run's checkpoints in the cluster's database, copied to this machine until the scope closes. */
const checkpointsOf = Effect.map(
  Effect.context<SqlClient | FileSystem.FileSystem | Path.Path>(),
  (context) => (run: string) =>
    FileSystem.FileSystem.use((fs) => fs.makeTempDirectoryScoped()).pipe(
      Effect.orDie,
      Effect.flatMap((copies) => CheckpointDatabase.open(run, copies)),
      Effect.provideContext(context)
    )
)

const became = Exit.match({
  onSuccess: () => "done",
  onFailure: (cause: Cause.Cause<unknown>) =>
    Cause.hasInterruptsOnly(cause) ? "given up" : `failed: ${Failure.causeMessage(cause)}`
})

/** Prints the outcome and duration of each group. */
const announcing = Layer.effect(
  TaskRegistry.TaskRegistry,
  Effect.gen(function*() {
    const { lines } = yield* Output
    const { roll } = yield* TaskRegistry.TaskRegistry
    return TaskRegistry.TaskRegistry.of({
      roll: Effect.fnUntraced(function*(job) {
        const began = yield* Clock.currentTimeMillis
        const say = (exit: Exit.Exit<unknown, unknown>) =>
          Effect.flatMap(Clock.currentTimeMillis, (now) => {
            const time = `${((now - began) / 1000).toFixed(1)} s`
            return lines([`group ${Untrusted.show(job.group)}: ${Untrusted.show(became(exit))}, ${time}`])
          })
        return yield* Effect.onExit(roll(job), say)
      })
    })
  })
)

/** The database address without its user name and password. */
const shown = (database: string) => database.replace(/\/\/[^@/]*@/, "//")

type Joined = Layer.Layer<PostgresCluster.Services, JoinError.JoinError | HttpListener.CannotListen>

const joined = (
  options: Required<Pick<PostgresCluster.RunnerOptions, "listen">> & PostgresCluster.RunnerOptions
): Joined =>
  Layer.catchTag(
    PostgresCluster.runner(options),
    "ServeError",
    (error) => Layer.effectContext(Effect.fail(HttpListener.refused(options.listen, error)))
  )

export const worker = Command.make(
  "worker",
  flags,
  Effect.fn("WorkerCommand.run")(function*({ health, host, join, labels, listen, port, unsafeHost, workers }) {
    const secret = yield* ClusterSecret.ClusterSecret
    const cluster = joined({
      database: Redacted.make(join),
      secret,
      address: { host, port },
      listen: { host: Option.getOrElse(listen, () => host), port },
      health,
      ...(Option.isSome(labels) && { labelSelector: labels.value })
    })
    const ready = Layer.effectDiscard(Effect.gen(function*() {
      const { lines } = yield* Output
      yield* Effect.acquireRelease(
        lines([
          `worker at ${host}:${port}, in the cluster of ${shown(join)}`,
          "Ctrl-C or SIGTERM ends it; other workers then take its groups"
        ]),
        () => lines(["worker ended"])
      )
    }))
    const groups = Layer.unwrap(
      Effect.map(checkpointsOf, (checkpointsOf) => RecipeWorker.layer({ workers, unsafeHost, checkpointsOf }))
    )
    return yield* ready.pipe(
      Layer.provide(Layer.merge(ClusterExecutor.worker, RecipeDriver.layer({ workers, unsafeHost }))),
      Layer.provide(Layer.provide(announcing, groups)),
      Layer.provide(cluster),
      Layer.provide(RunLogger.layer),
      Layer.provide(Layer.provide(Output.layer({ json: false }), RunLog.layerNone)),
      Layer.launch
    )
  })
).pipe(
  Help.withSections([
    { title: "Network", flags: ["host", "port", "listen", "health", "labels"] },
    { title: "Backend", flags: ["workers", "unsafe-host"] }
  ]),
  Command.withExamples([
    {
      command: "effect-rl worker --join postgres://trainer@db.example/training --host 10.0.0.7",
      description: "A worker on another machine than the run"
    }
  ])
)
