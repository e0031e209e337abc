import * as RunFolder from "@effect-rl/cli/train/RunFolder"
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, Option, Path } from "effect"

const home = ConfigProvider.layer(ConfigProvider.fromUnknown({ HOME: "/home/ada" }))

const resolve = (logPath: Option.Option<string>, backend = "engine") =>
  RunFolder.resolve({ recipe: "arithmetic", backend, seed: 7, logPath }).pipe(Effect.provide([home, Path.layer]))

describe("RunFolder.resolve", () => {
  it.effect("names a run after its recipe and seed, and adds the backend for the mock", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* resolve(Option.none()), "runs/arithmetic-7")
      assert.strictEqual(yield* resolve(Option.none(), "mock"), "runs/arithmetic-mock-7")
    }))

  it.effect("expands ~, and leaves other paths unchanged", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* resolve(Option.some("~/runs/a")), "/home/ada/runs/a")
      assert.strictEqual(yield* resolve(Option.some("~")), "/home/ada")
      assert.strictEqual(yield* resolve(Option.some("a/~b")), "a/~b")
      assert.strictEqual(yield* resolve(Option.some("~b/c")), "~b/c")
    }))
})
