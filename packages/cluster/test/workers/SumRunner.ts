/** A cluster runner with its own engine, which samples from the weights that the training process saved. */
import { ClusterExecutor, LocalCluster } from "@effect-rl/cluster"
import { TaskRegistry } from "@effect-rl/core/program"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Effect, Layer } from "effect"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import * as Sum from "./Sum.ts"

const [database = "", folder = ""] = process.argv.slice(2)

const ready = Layer.effectDiscard(Effect.sync(() => writeFileSync(join(folder, `ready-${process.pid}`), "")))

ready.pipe(
  Layer.provide(ClusterExecutor.worker),
  Layer.provide(TaskRegistry.TaskRegistry.layer(Sum.task)),
  Layer.provide(Sum.engine(join(folder, "checkpoints"))),
  Layer.provide(LocalCluster.runner({ database })),
  Layer.launch,
  NodeRuntime.runMain
)
