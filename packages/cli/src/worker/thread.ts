/** A thread that rolls out recipes' groups. `--executor threads:8` starts eight. */
import { WorkerThreads } from "@effect-rl/cluster"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Option from "effect/Option"
import * as RecipeWorker from "../executor/RecipeWorker.ts"

const unsafeHost = new URL(import.meta.url).searchParams.has("unsafe-host")

/** One compute thread per worker thread, because all threads share the machine's processors. */
const workers = Option.some(1)

/** Discards messages about opening a recipe: the run has logged them already. Groups have their own logs. */
const silent = Logger.layer([])

WorkerThreads.worker.pipe(
  Layer.provide(RecipeWorker.layer({ workers, unsafeHost })),
  Layer.provide(silent),
  Layer.provide(NodeServices.layer),
  Layer.launch,
  NodeRuntime.runMain
)
