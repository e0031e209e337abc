/** Drives a recipe's run on a worker: the driver trains, and all workers of the cluster roll out its groups. */
import { CheckpointDatabase, ClusterExecutor, RunDriver } from "@effect-rl/cluster"
import { GroupSource, Prices, RunOptions } from "@effect-rl/core/program"
import { Launch } from "@effect-rl/core/records"
import { Engine } from "@effect-rl/engine"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { createHash } from "node:crypto"
import * as ProcessMeter from "../train/ProcessMeter.ts"
import { SentProgram, source } from "./SentProgram.ts"
import * as SentTask from "./SentTask.ts"

/** A run in the form in which it is sent to its driver. */
export const SentRun = Schema.Struct({
  program: SentProgram,
  launch: Launch.Launch,
  prices: Schema.Record(Schema.String, Prices.Price)
})
export type SentRun = typeof SentRun.Type

const json = Schema.toCodecJson(SentRun)

/** Encodes a run for its driver. */
export const encode = Schema.encodeEffect(json)

const decode = Schema.decodeUnknownEffect(json)

/**
 * The id of a run. It is the same for each command that starts the run, whatever the command's folder, machine and
 * prices.
 */
export const idOf = ({ program: { backend, code, model, recipe, settings, version } }: SentRun) =>
  createHash("sha256").update(JSON.stringify({ version, recipe, code, model, settings, backend: backend.name })).digest(
    "hex"
  )

const train = (options: SentTask.Options) =>
  Effect.fnUntraced(function*(sent: Schema.Json) {
    const fs = yield* FileSystem.FileSystem
    const { launch, prices, program } = yield* decode(sent)
    const checkpoints = yield* CheckpointDatabase.make(yield* fs.makeTempDirectoryScoped(), Engine.scheme)
    const { context, task } = yield* SentTask.open(program, options, checkpoints)
    yield* Stream.runDrain(task.run).pipe(
      Effect.provideContext(context),
      Effect.provideService(RunOptions.Launched, launch),
      Effect.provideService(RunOptions.Code, program.code),
      Effect.provideService(GroupSource.GroupSource, source(program)),
      Effect.provide(Layer.mergeAll(ClusterExecutor.layer, ProcessMeter.layer, Prices.layer(prices)))
    )
  }, Effect.scoped)

/** Lets this process drive runs that the cluster assigns to it. */
export const layer = (options: SentTask.Options) =>
  Layer.unwrap(Effect.gen(function*() {
    const driven = train(options)
    const context = yield* Effect.context<Exclude<Effect.Services<ReturnType<typeof driven>>, RunDriver.Services>>()
    return RunDriver.worker((sent) => Effect.provideContext(driven(sent), context))
  }))
