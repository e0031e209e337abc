import { Sandbox } from "@effect-rl/sandbox"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

/** An empty folder as the only entry of `PATH`. */
const noPrograms = Effect.acquireRelease(
  Effect.sync(() => {
    const folder = mkdtempSync(join(tmpdir(), "effect-rl-no-programs-"))
    const before = process.env["PATH"]
    process.env["PATH"] = folder
    return { before, folder }
  }),
  ({ before, folder }) =>
    Effect.sync(() => {
      process.env["PATH"] = before
      rmSync(folder, { recursive: true })
    })
)

describe("the Docker provider", { concurrent: false }, () => {
  it.live("is unavailable if the docker command is not installed", () =>
    Effect.gen(function*() {
      yield* noPrograms
      const error = yield* Effect.flip(Effect.provide(Sandbox.Sandbox, Sandbox.Sandbox.layerDocker()))
      assert.strictEqual(error.reason._tag, "Unavailable")
      assert.strictEqual(
        error.message,
        "docker: probe: the command docker is not installed. Docker is used where its command is installed, its daemon answers, and " +
          "`docker image inspect python:3.12-slim` finds the image (docker pull python:3.12-slim)"
      )
    }).pipe(Effect.scoped))
})
