/** A worker thread that rolls out groups with a scripted model. */
import { WorkerThreads } from "@effect-rl/cluster"
import { TaskRegistry } from "@effect-rl/core/program"
import { ScriptedTinker } from "@effect-rl/core/testing"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Layer } from "effect"
import * as Walk from "./Walk.ts"

WorkerThreads.worker.pipe(
  Layer.provide(TaskRegistry.TaskRegistry.layer(Walk.task)),
  Layer.provide(ScriptedTinker.layer()),
  Layer.launch,
  NodeRuntime.runMain
)
