/** A runner of a cluster on this machine, with a scripted model. */
import { ClusterExecutor, LocalCluster } from "@effect-rl/cluster"
import { TaskRegistry } from "@effect-rl/core"
import { ScriptedTinker } from "@effect-rl/core/testing"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Layer } from "effect"
import * as Walk from "./Walk.ts"

const [database = ""] = process.argv.slice(2)

ClusterExecutor.worker.pipe(
  Layer.provide(TaskRegistry.TaskRegistry.layer(Walk.task)),
  Layer.provide(ScriptedTinker.layer()),
  Layer.provide(LocalCluster.runner({ database })),
  Layer.launch,
  NodeRuntime.runMain
)
