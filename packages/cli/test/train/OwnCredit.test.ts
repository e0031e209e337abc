import { RunRecord } from "@effect-rl/core"
import { RunDirectory } from "@effect-rl/files"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Stream } from "effect"
import { run, runFolder, short } from "../CommandLine.ts"

const module = (name: string) => new URL(`./${name}.ts`, import.meta.url).pathname

describe("a recipe with its own credit", () => {
  it.effect("is trained on the command line, and its run records the credit", () =>
    Effect.gen(function*() {
      const folder = yield* runFolder
      const { exit } = yield* run(...short.with(1, module("own-credit")), "--iterations", "1", "--log-path", folder)
      assert.isTrue(Exit.isSuccess(exit))
      const { read } = yield* RunDirectory.open(folder)
      const records = yield* Stream.runCollect(read)
      const [opened] = records.filter(RunRecord.guards.Opened)
      assert.deepStrictEqual(opened?.identity["credit"], { name: "group_relative", estimator: "fading" })
    }).pipe(Effect.provide(NodeServices.layer)))

  it.effect("is refused if the recipe has no rewards", () =>
    Effect.gen(function*() {
      const { errors } = yield* run("train", module("own-imitation"), "--backend", "mock", "--plan")
      assert.include(errors.at(-1), "recipe is supervised, expected one that has the setting credit")
    }))
})
