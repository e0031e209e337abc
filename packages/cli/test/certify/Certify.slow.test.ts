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
  "adapters     adapters whose seeds differ in their last digits alone are other adapters",
  "adapters     another seed makes another adapter",
  "adapters     another rank makes another adapter",
  "adapters     train_mlp, train_attn and train_unembed decide what is trained",
  "adapters     an adapter that trains nothing is refused",
  "checkpoints  a model that is made from a state with its optimizer goes on as the one that saved it, and without it does not",
  "checkpoints  prompts of every length are read with the weights of their sampler, whichever weights read them before",
  "archive      a checkpoint is listed with its kind, its name, its time and its size",
  "archive      a checkpoint is downloaded as a tar that is whole, with an adapter of its rank",
  "archive      a download has the weights of its checkpoint, as often as it is asked for",
  "archive      a download has the modules that were trained, and no others",
  "archive      the size of a checkpoint is that of its files in bytes",
  "archive      the storage of checkpoints is told with their number and their bytes",
  "archive      weights for other programs have their files, with the size that is told, under a path of their own"
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
        assert.include(out.join("\n"), "Weights leave the service this way")
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
