/** Recipes train from a clone by their names alone, without downloads. */
import { SmolLm2 } from "@effect-rl/engine"
import { Recipes } from "@effect-rl/recipes"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, Exit, FileSystem, Path } from "effect"
import * as CommandLine from "../CommandLine.ts"

/** The smallest values of settings that determine a run's work; each recipe has some of them. */
const least: Readonly<Record<string, string>> = {
  iterations: "1",
  evalEvery: "0",
  groupsPerBatch: "2",
  groupSize: "2",
  batchSize: "4"
}

const train = Effect.fnUntraced(function*({ name, settings }: (typeof Recipes.all)[number], ...flags: Array<string>) {
  const set = Object.entries(least).filter(([setting]) => Object.hasOwn(settings.fields, setting))
  const given = set.flatMap(([setting, value]) => ["--set", `${setting}=${value}`])
  return yield* CommandLine.run("train", name, "--log-path", yield* CommandLine.runFolder, ...given, ...flags)
})

const withCache = (folder: string) =>
  Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromUnknown({ EFFECT_RL_CACHE: folder }))

const withoutHub = Effect.provideService(
  ConfigProvider.ConfigProvider,
  ConfigProvider.fromUnknown({ EFFECT_RL_CACHE: "/nowhere", HF_HUB_CACHE: "/nowhere", HF_HUB_OFFLINE: "true" })
)

describe("train with a recipe's defaults", () => {
  for (const recipe of Recipes.all) {
    it.effect(`trains ${recipe.name}`, () =>
      Effect.gen(function*() {
        const { errors, exit, out } = yield* train(recipe, "--workers", "1")
        assert.isTrue(Exit.isSuccess(exit), errors.join("\n"))
        assert.isTrue(out.some((line) => /iteration +1\/1/.test(line)), out.join("\n"))
        assert.strictEqual(
          [...out, ...errors].some((line) => line.includes(recipe.onEngine?.says ?? "it will not learn")),
          recipe.onEngine !== undefined
        )
      }).pipe(withCache("/nowhere")))
  }

  for (const recipe of [Recipes.gsm8k, Recipes.math]) {
    it.effect(`uses invented problems of ${recipe.name} for the mock backend and for people`, () =>
      Effect.gen(function*() {
        const { errors, exit, out } = yield* train(recipe, "--backend", "mock")
        assert.isTrue(Exit.isSuccess(exit), errors.join("\n"))
        assert.isTrue(out.some((line) => /iteration +1\/1 .*reward/.test(line)), out.join("\n"))
        const played = yield* CommandLine.runWithInput("\\boxed{x}\n", "play", recipe.name)
        assert.isTrue(Exit.isSuccess(played.exit), played.errors.join("\n"))
        assert.isTrue(played.out.some((line) => line.includes("Write your answer in \\boxed{} format.")))
      }).pipe(withoutHub))

    it.effect(`names an alternative if ${recipe.name} cannot be downloaded`, () =>
      Effect.gen(function*() {
        const { errors, exit } = yield* train(recipe, "--model", "effect-rl/tiny-64")
        assert.isTrue(Exit.isFailure(exit))
        assert.include(errors.join("\n"), "Without the hub, give a folder as data, or \"sample\" for made-up problems")
      }).pipe(withoutHub))
  }

  it.effect("uses SmolLM2 for word problems if it is installed", () =>
    Effect.gen(function*() {
      const fs = yield* FileSystem.FileSystem
      const path = yield* Path.Path
      const cache = yield* fs.makeTempDirectoryScoped()
      const file = yield* SmolLm2.file.pipe(withCache(cache))
      yield* fs.makeDirectory(path.dirname(file), { recursive: true })
      yield* fs.writeFileString(file, "no model, so that the run ends here")
      const { errors, exit } = yield* train(Recipes.gsm8k).pipe(withCache(cache))
      assert.isTrue(Exit.isFailure(exit))
      assert.include(errors.join("\n"), "SmolLM2-135M-Instruct.Q4_1.gguf")
    }).pipe(Effect.provide(NodeServices.layer)))

  it.effect("keeps the cookbook's sizes if a model is named", () =>
    Effect.gen(function*() {
      const flags = ["--plan", "--model", "effect-rl/tiny-64", "--data", "sample"]
      const { out } = yield* CommandLine.run("train", "gsm8k", ...flags, "--log-path", yield* CommandLine.runFolder)
      assert.isTrue(out.some((line) => line.includes("58")), out.join("\n"))
    }))
})
