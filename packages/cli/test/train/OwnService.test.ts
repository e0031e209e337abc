import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import { run, runFolder, runWithInput, short } from "../CommandLine.ts"

const module = new URL("./own-service.ts", import.meta.url).pathname

describe("a recipe with its own services", () => {
  it.effect("acquires them once per run, and releases them when the command ends", () =>
    Effect.gen(function*() {
      const folder = yield* runFolder
      const { exit, out } = yield* run(...short.with(1, module), "--iterations", "2", "--log-path", folder)
      assert.isTrue(Exit.isSuccess(exit))
      assert.deepStrictEqual(out.filter((line) => line.includes("the shop")), ["the shop opens", "the shop closes"])
    }).pipe(Effect.provide(NodeServices.layer)))

  it.effect("provides them when its episodes are played", () =>
    Effect.gen(function*() {
      const { out } = yield* runWithInput("3\n", "play", module)
      assert.include(out.join("\n"), "What does")
      assert.include(out.join("\n"), "reward 1")
    }))
})
