import { Sandbox } from "@effect-rl/sandbox"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Layer } from "effect"
import { chmodSync, mkdirSync } from "node:fs"
import { join } from "node:path"
import * as OwnFolder from "../OwnFolder.ts"

/** Starts a provider when the folder of all hosts already exists with the given mode. */
const start = (hosts: string, mode: number) =>
  Effect.gen(function*() {
    const path = join(yield* OwnFolder.make, hosts)
    mkdirSync(path)
    chmodSync(path, mode)
    return yield* Effect.exit(Layer.build(Sandbox.Sandbox.layerUnsafeHost()))
  }).pipe(Effect.scoped)

/** Simulates a system without user ids. */
const withoutUsers = Effect.acquireRelease(
  Effect.sync(() => {
    const getuid = process.getuid
    delete process.getuid
    return getuid
  }),
  (getuid) =>
    Effect.sync(() => {
      if (getuid !== undefined) process.getuid = getuid
    })
)

describe("the folder of a process that hosts sandboxes", () => {
  it.effect("is refused if other users may write to it", () =>
    Effect.gen(function*() {
      const exit = yield* start(`effect-rl-sandbox-${process.getuid?.()}`, 0o777)
      assert.isTrue(Exit.isFailure(exit))
      assert.include(String(exit), "others may write to it: remove it")
    }))

  it.effect("may have any mode on systems without user ids, such as Windows", () =>
    Effect.gen(function*() {
      yield* withoutUsers
      const exit = yield* start("effect-rl-sandbox-user", 0o777)
      assert.isTrue(Exit.isSuccess(exit), String(exit))
    }).pipe(Effect.scoped))
})
