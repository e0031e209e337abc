/** A worker thread with its own engine, which samples from the weights that the training thread saved. */
import { WorkerThreads } from "@effect-rl/cluster"
import { TaskRegistry } from "@effect-rl/core/program"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Layer } from "effect"
import * as Sum from "./Sum.ts"

const checkpoints = process.env[Sum.checkpointsVariable] ?? ""

WorkerThreads.worker.pipe(
  Layer.provide(TaskRegistry.TaskRegistry.layer(Sum.task)),
  Layer.provide(Sum.engine(checkpoints)),
  Layer.launch,
  NodeRuntime.runMain
)
