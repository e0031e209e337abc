/** A scoped test daemon for the local `docker` command, and what this machine lacks to run it. */
import * as InheritedDescriptors from "@effect-rl/sandbox/process/InheritedDescriptors"
import { Context, Effect, Layer } from "effect"
import { spawnSync } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Machine from "../Machine.ts"
import * as Daemon from "./Daemon.ts"

export const image = "python:3.12-slim"

export const lacks = spawnSync("docker", ["--version"]).status === 0 ? Machine.lacksBubblewrap : "no docker command"

/** Sets an environment variable of this process until the scope closes. */
export const setVariable = (name: string, value: string) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const before = process.env[name]
      process.env[name] = value
      return before
    }),
    (before) =>
      Effect.sync(() => {
        if (before === undefined) delete process.env[name]
        else process.env[name] = before
      })
  )

/** The daemon that the `docker` command finds. It has one image. */
export class ScriptedDaemon extends Context.Service<ScriptedDaemon, Daemon.Daemon>()("test/ScriptedDaemon") {
  static readonly layer = Layer.effect(
    ScriptedDaemon,
    Effect.gen(function*() {
      const cover = yield* InheritedDescriptors.cover
      const daemon = yield* Effect.acquireRelease(
        Effect.promise(() => Daemon.start([image], cover)),
        ({ close }) => Effect.promise(close)
      )
      const configuration = mkdtempSync(join(tmpdir(), "effect-rl-docker-config-"))
      yield* Effect.addFinalizer(() => Effect.sync(() => rmSync(configuration, { recursive: true })))
      yield* setVariable("DOCKER_CONFIG", configuration)
      yield* setVariable("DOCKER_HOST", daemon.address)
      return daemon
    })
  )
}
