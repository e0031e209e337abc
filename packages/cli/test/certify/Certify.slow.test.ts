import { ScriptedTinker, TestTokenizer } from "@effect-rl/core/testing"
import { TinkerServer } from "@effect-rl/tinker"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it, layer } from "@effect/vitest"
import { ConfigProvider, Effect, Exit, FileSystem, Layer } from "effect"
import { HttpServer } from "effect/http"
import * as CommandLine from "../CommandLine.ts"
import * as Sockets from "../Sockets.ts"

/** A server whose backend lacks adapters and files. */
const server = Layer.unwrap(Effect.gen(function*() {
  const folder = yield* Effect.flatMap(FileSystem.FileSystem, (fs) => fs.makeTempDirectoryScoped())
  return TinkerServer.layer({ checkpoints: { folder, scheme: "scripted" } })
})).pipe(
  Layer.provide(ScriptedTinker.layer()),
  Layer.provide(TestTokenizer.layer()),
  Layer.provideMerge(Sockets.layer),
  Layer.provideMerge(NodeServices.layer)
)

const key = ConfigProvider.fromUnknown({ TINKER_API_KEY: "tml-test" })

const certify = (...args: ReadonlyArray<string>) =>
  Effect.provideService(CommandLine.run("certify", ...args), ConfigProvider.ConfigProvider, key)

const failures = [
  "adapters     adapters whose seeds differ only in their last digits differ",
  "adapters     adapters with different seeds differ",
  "adapters     adapters with different ranks differ",
  "adapters     train_mlp, train_attn and train_unembed select the trained layers",
  "adapters     an adapter that trains nothing is refused",
  "checkpoints  a model created from a state with its optimizer continues like the original, and without the optimizer it does not",
  "checkpoints  prompts of every length are scored with their sampler's weights, even if other weights scored them before",
  "archive      the checkpoint list has each checkpoint's kind, name, time and size",
  "archive      a checkpoint downloads as a complete tar with an adapter of its rank",
  "archive      every download has the weights of its checkpoint",
  "archive      a download has exactly the modules that were trained",
  "archive      a checkpoint's listed size is the size of its files in bytes",
  "archive      the storage report has the number of checkpoints and their size in bytes",
  "archive      weights exported for other programs have their own path, and files of the reported total size"
]

describe("effect-rl certify", () => {
  layer(server, { excludeTestServices: true })((it) => {
    it.effect("reports each check, what failed and why it matters, and then fails", () =>
      Effect.gen(function*() {
        const url = HttpServer.formatAddress((yield* HttpServer.HttpServer).address)
        const fs = yield* FileSystem.FileSystem
        const badge = `${yield* fs.makeTempDirectoryScoped()}/badge.svg`
        const { errors, exit, out } = yield* certify(url, "--badge", badge)
        assert.isTrue(Exit.isFailure(exit))
        assert.deepStrictEqual(errors, [`error: ${url} failed ${failures.length} checks`])
        assert.deepStrictEqual(
          out.filter((line) => line.startsWith("failed")),
          failures.map((check) => `failed  ${check}`)
        )
        assert.include(out.join("\n"), "Users export weights this way")
        const summary = /: (\d+) passed, \d+ absent, 14 failed$/.exec(out.at(-1) ?? "")
        const passed = Number(summary?.[1])
        assert.isAtLeast(passed, 100)
        assert.include(yield* fs.readFileString(badge), `Tinker API: ${passed} of ${passed + failures.length} checks`)
      }))
  })

  it.live("says what it needs if the server cannot be reached", () =>
    Effect.gen(function*() {
      const { errors, exit } = yield* certify("no-address")
      assert.isTrue(Exit.isFailure(exit))
      assert.match(errors.join(), /the base URL is "no-address", expected http/)
    }))
})
