/** Runs a program on an embedded engine with temporary checkpoints. */
import { Engine } from "@effect-rl/engine"
import { Hub } from "@effect-rl/files"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect, FileSystem, Layer, References, type Scope } from "effect"

type Models = NonNullable<Engine.EngineOptions["models"]>

const engine = (models: Models) =>
  Layer.unwrap(
    Effect.map(
      FileSystem.FileSystem.use((fs) => fs.makeTempDirectoryScoped()),
      (checkpoints) => Engine.layerOptions({ checkpoints, models })
    )
  )

const services = (models: Models) => Layer.provideMerge(Layer.merge(Hub.Hub.layer, engine(models)), NodeServices.layer)

export type Services = Layer.Success<ReturnType<typeof services>> | Scope.Scope

/** Runs the program and logs only warnings, because another process may parse what it prints. */
export const runMain = <E>(program: Effect.Effect<void, E, Services>, models: Models = []) =>
  program.pipe(
    Effect.scoped,
    Effect.provide(services(models)),
    Effect.provideService(References.MinimumLogLevel, "Warn"),
    NodeRuntime.runMain
  )
