/** A thread that rolls out groups of recipes; `--executor threads:8` starts it. */
import { WorkerThreads } from "@effect-rl/cluster"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Option from "effect/Option"
import * as RecipeWorker from "../executor/RecipeWorker.ts"

const unsafeHost = new URL(import.meta.url).searchParams.has("unsafe-host")

/** The threads share this machine's processors. */
const workers = Option.some(1)

/** Groups have logs of their own; what is said of a recipe as it is opened, the run has said before. */
const silent = Logger.layer([])

WorkerThreads.worker.pipe(
  Layer.provide(RecipeWorker.layer({ workers, unsafeHost })),
  Layer.provide(silent),
  Layer.provide(NodeServices.layer),
  Layer.launch,
  NodeRuntime.runMain
)
