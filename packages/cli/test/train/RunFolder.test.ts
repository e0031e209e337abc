import * as RunFolder from "@effect-rl/cli/train/RunFolder"
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, Option, Path } from "effect"

const home = ConfigProvider.layer(ConfigProvider.fromUnknown({ HOME: "/home/ada" }))

const resolve = (logPath: Option.Option<string>, backend = "engine") =>
  RunFolder.resolve({ recipe: "arithmetic", backend, seed: 7, logPath }).pipe(Effect.provide([home, Path.layer]))

describe("RunFolder.resolve", () => {
  it.effect("names a run after recipe and seed, and the mock's runs apart", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* resolve(Option.none()), "runs/arithmetic-7")
      assert.strictEqual(yield* resolve(Option.none(), "mock"), "runs/arithmetic-mock-7")
    }))

  it.effect("takes ~ for the home folder, and other paths as they are", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* resolve(Option.some("~/runs/a")), "/home/ada/runs/a")
      assert.strictEqual(yield* resolve(Option.some("~")), "/home/ada")
      assert.strictEqual(yield* resolve(Option.some("a/~b")), "a/~b")
      assert.strictEqual(yield* resolve(Option.some("~b/c")), "~b/c")
    }))
})
