/** A runner of a cluster on this machine, with a scripted model. When it is ready, it writes its process id to a file. */
import { ClusterExecutor, LocalCluster } from "@effect-rl/cluster"
import { TaskRegistry } from "@effect-rl/core/program"
import { ScriptedTinker } from "@effect-rl/core/testing"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Effect, Layer } from "effect"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import * as Walk from "./Walk.ts"

const [database = "", folder = ""] = process.argv.slice(2)

const ready = Layer.effectDiscard(Effect.sync(() => writeFileSync(join(folder, `ready-${process.pid}`), "")))

ready.pipe(
  Layer.provide(ClusterExecutor.worker),
  Layer.provide(TaskRegistry.TaskRegistry.layer(Walk.task)),
  Layer.provide(ScriptedTinker.layer()),
  Layer.provide(LocalCluster.runner({ database })),
  Layer.launch,
  NodeRuntime.runMain
)
