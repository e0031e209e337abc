/** Tests the checkpoint commands on a Tinker service: our own server with the engine, in this process. */
import { Tinker } from "@effect-rl/core"
import { Engine } from "@effect-rl/engine"
import { TinkerHttp, TinkerServer } from "@effect-rl/tinker"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, layer } from "@effect/vitest"
import { ConfigProvider, Effect, Exit, FileSystem, Layer, Redacted } from "effect"
import { HttpServer } from "effect/http"
import * as CommandLine from "../CommandLine.ts"
import * as Sockets from "../Sockets.ts"

const server = Layer.unwrap(Effect.gen(function*() {
  const folder = yield* Effect.flatMap(FileSystem.FileSystem, (fs) => fs.makeTempDirectoryScoped())
  return TinkerServer.layer({ checkpoints: { folder, scheme: "engine" } }).pipe(
    Layer.provide(Engine.layerOptions({ checkpoints: folder, workers: 0 }))
  )
})).pipe(
  Layer.provideMerge(Sockets.layer),
  Layer.provideMerge(NodeServices.layer)
)

const key = ConfigProvider.fromUnknown({ TINKER_API_KEY: "tml-test" })

const address = Effect.map(HttpServer.HttpServer, ({ address }) => HttpServer.formatAddress(address))

/** Saves checkpoints with these names in a run on the service. */
const saved = (...names: ReadonlyArray<string>) =>
  Effect.gen(function*() {
    const tinker = yield* Tinker.Tinker
    const client = yield* tinker.createLoraTrainingClient({ baseModel: "effect-rl/tiny-64", loraRank: 2, seed: 1 })
    return yield* Effect.forEach(names, (name) =>
      Effect.gen(function*() {
        const { path } = yield* Effect.flatMap(client.saveState(name), (pending) => pending.await)
        return path
      }))
  }).pipe(
    Effect.scoped,
    Effect.provide(Layer.unwrap(Effect.map(address, (baseUrl) =>
      TinkerHttp.layerOptions({ baseUrl, apiKey: Redacted.make("tml-test") })))),
    Effect.provide(NodeHttpClient.layerUndici)
  )

const checkpoints = (...args: ReadonlyArray<string>) =>
  Effect.flatMap(address, (url) => CommandLine.run("checkpoints", ...args, "--base-url", url)).pipe(
    Effect.provideService(ConfigProvider.ConfigProvider, key)
  )

const succeeded = (...args: ReadonlyArray<string>) =>
  Effect.map(checkpoints(...args), ({ errors, exit, out }) => {
    assert.isTrue(Exit.isSuccess(exit), errors.join("\n"))
    return out
  })

const runOf = (path = "") => path.split("/")[2] ?? ""

const listed = (run: string) => Effect.map(succeeded("list", run), ([, ...rows]) => rows)

describe("effect-rl checkpoints on a service", () => {
  layer(server, { excludeTestServices: true })((it) => {
    it.effect("lists a checkpoint with its size, and marks it as public once it is published", () =>
      Effect.gen(function*() {
        const [path = ""] = yield* saved("one")
        const [headings = "", row = ""] = yield* succeeded("list", runOf(path))
        assert.match(headings, /^type +bytes +public +saved +kept until +path$/)
        assert.match(row, /^training +\d+(\.\d)? k +no +\d{4}-\d\d-\d\d \d\d:\d\d +forever +tinker:/)
        assert.isTrue(row.endsWith(path))
        assert.deepStrictEqual(yield* succeeded("publish", path), [`published: ${path}`])
        assert.match((yield* listed(runOf(path))).join(), / yes /)
        yield* succeeded("unpublish", path)
        assert.match((yield* listed(runOf(path))).join(), / no /)
      }))

    it.effect("gives a checkpoint a lifetime, and removes the lifetime again", () =>
      Effect.gen(function*() {
        const [path = ""] = yield* saved("brief")
        assert.deepStrictEqual(yield* succeeded("ttl", path, "7 days"), [`kept for 7d: ${path}`])
        assert.match((yield* listed(runOf(path))).join(), /no +[\d-]+ [\d:]+ +\d{4}-\d\d-\d\d \d\d:\d\d +tinker:/)
        yield* succeeded("ttl", path, "never")
        assert.match((yield* listed(runOf(path))).join(), / forever /)
      }))

    it.effect("deletes several checkpoints at once", () =>
      Effect.gen(function*() {
        const [first = "", second = "", third = ""] = yield* saved("a", "b", "c")
        assert.deepStrictEqual(yield* succeeded("delete", "--yes", first, second), [
          `deleted: ${first}`,
          `deleted: ${second}`
        ])
        const [left = "", ...others] = yield* listed(runOf(first))
        assert.isTrue(left.endsWith(third))
        assert.deepStrictEqual(others, [])
        const again = yield* checkpoints("delete", "--yes", first, third)
        assert.isTrue(Exit.isFailure(again.exit))
        assert.include(again.errors.join(), "1 of 2 checkpoints could not be deleted:")
        assert.include(again.errors.join(), first)
        assert.deepStrictEqual(again.out, [`deleted: ${third}`])
      }))

    it.effect("deletes a run's checkpoints by type and by time", () =>
      Effect.gen(function*() {
        const [first = "", second = ""] = yield* saved("d", "e")
        const ofRun = ["delete", "--yes", "--run-id", runOf(first)]
        const none = ["the run has no such checkpoint"]
        assert.deepStrictEqual(yield* succeeded(...ofRun, "--type", "sampler_weights"), none)
        assert.deepStrictEqual(yield* succeeded(...ofRun, "--before", "2020-01-01"), none)
        assert.deepStrictEqual(yield* succeeded(...ofRun, "--after", "2999-01-01T08:00:00+02:00"), none)
        const deleted = yield* succeeded(
          ...ofRun,
          "--type",
          "weights",
          "--after",
          "2020-01-01",
          "--before",
          "2999-01-01"
        )
        assert.sameMembers([...deleted], [`deleted: ${first}`, `deleted: ${second}`])
        assert.notInclude((yield* succeeded("list", "--limit", "0")).join(), runOf(first))
      }))

    it.effect("shows a person at a terminal what would be deleted, and deletes it if they agree", () =>
      Effect.gen(function*() {
        const [path = ""] = yield* saved("asked")
        const asked = (...keys: ReadonlyArray<string>) =>
          Effect.flatMap(
            address,
            (url) =>
              CommandLine.runAtTerminal(keys, "checkpoints", "delete", "--run-id", runOf(path), "--base-url", url)
          ).pipe(
            Effect.provideService(ConfigProvider.ConfigProvider, key)
          )
        const refused = yield* asked("n")
        assert.isTrue(refused.out[1]?.endsWith(path))
        assert.strictEqual(refused.out.at(-1), "nothing was deleted")
        assert.strictEqual((yield* asked("y")).out.at(-1), `deleted: ${path}`)
      }))

    it.effect("downloads a training checkpoint as an adapter for other tools, and deletes its export", () =>
      Effect.gen(function*() {
        const fs = yield* FileSystem.FileSystem
        const output = `${yield* fs.makeTempDirectoryScoped()}/models`
        const [path = ""] = yield* saved("downloaded")
        const [exporting, written] = yield* succeeded("download", path, "--output", output)
        const folder = `${output}/${runOf(path)}_weights_downloaded`
        assert.strictEqual(exporting, "exporting it first, which begins a training session with its base model")
        assert.match(written ?? "", /^\d+(\.\d)? k bytes written to /)
        assert.isTrue(written?.endsWith(`${folder}: ${path}`))
        assert.deepStrictEqual(yield* fs.readDirectory(output), [folder.slice(output.length + 1)])
        assert.sameMembers(yield* fs.readDirectory(folder), [
          "SHA256SUMS",
          "adapter_config.json",
          "adapter_model.safetensors"
        ])
        assert.strictEqual(JSON.parse(yield* fs.readFileString(`${folder}/adapter_config.json`)).r, 2)
        assert.notInclude((yield* succeeded("list", "--limit", "0")).join(), "external_weights")

        const again = yield* checkpoints("download", path, "--output", output)
        assert.include(again.errors.join(), "or --force, which replaces it")
        yield* fs.writeFileString(`${folder}/old`, "")
        yield* succeeded("download", path, "--output", output, "--force")
        assert.isFalse(yield* fs.exists(`${folder}/old`))
      }))

    it.effect("refuses to download sampler weights, and writes nothing for a missing checkpoint", () =>
      Effect.gen(function*() {
        const fs = yield* FileSystem.FileSystem
        const output = yield* fs.makeTempDirectoryScoped()
        const [path = ""] = yield* saved("one-more")
        const sampler = yield* checkpoints("download", path.replace("weights", "sampler_weights"), "--output", output)
        assert.include(sampler.errors.join(), "expected weights/… or external_weights/…")
        for (const kind of ["weights", "external_weights"]) {
          const { errors, exit } = yield* checkpoints(
            "download",
            `tinker://${runOf(path)}/${kind}/absent`,
            "-o",
            output
          )
          assert.isTrue(Exit.isFailure(exit))
          assert.include(errors.join(), "absent")
        }
        assert.deepStrictEqual(yield* fs.readDirectory(output), [])
      }))
  })

  layer(server, { excludeTestServices: true })((it) => {
    it.effect("lists the newest checkpoints of all runs, and says how many more there are", () =>
      Effect.gen(function*() {
        yield* saved("older", "newer")
        const [, ...all] = yield* succeeded("list", "--limit", "0")
        assert.strictEqual(all.length, 2)
        const [, newest, more] = yield* succeeded("list", "--limit", "1")
        assert.isTrue(newest?.endsWith("/weights/newer"))
        assert.strictEqual(more, "1 more: --limit 0 lists all")
      }))
  })
})
