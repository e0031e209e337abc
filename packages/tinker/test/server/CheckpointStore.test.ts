import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, FileSystem, Logger } from "effect"
import type { HttpClient } from "effect/http"
import { TestClock } from "effect/testing"
import * as Api from "./Api.ts"

const listed = Effect.map(Api.get("/checkpoints"), ({ body }) => body["checkpoints"] as ReadonlyArray<Api.Body>)

const names = Effect.map(listed, (all) => all.map(({ checkpoint_id }) => String(checkpoint_id)).sort())

const state = (model_id: string, name: string) => `/training_runs/${model_id}/checkpoints/weights/${name}`

describe("checkpoints", () => {
  layer(Api.server())((it) => {
    it.effect("expire when their lifetime is over, not earlier, and never without a lifetime", () =>
      Effect.gen(function*() {
        const { model_id } = yield* Api.model
        yield* Api.saved(model_id, 1, "hour", { ttl_seconds: 3600 })
        yield* Api.saved(model_id, 2, "ever")
        yield* Api.result(yield* Api.saveForSampler(model_id, 3, { path: "minute", ttl_seconds: 60 }))
        assert.deepStrictEqual(yield* names, ["sampler_weights/minute", "weights/ever", "weights/hour"])
        const [hour] = (yield* listed).filter(({ checkpoint_id }) => checkpoint_id === "weights/hour")
        assert.strictEqual(hour?.["expires_at"], "1970-01-01T01:00:00.000Z")
        yield* TestClock.adjust("61 seconds")
        assert.deepStrictEqual(yield* names, ["weights/ever", "weights/hour"])
        yield* TestClock.adjust("1 hour")
        assert.deepStrictEqual(yield* names, ["weights/ever"])
        assert.strictEqual(
          (yield* Api.post("/weights_info", { tinker_path: `tinker://${model_id}/weights/hour` })).status,
          404
        )
      }))
  })

  layer(Api.server())((it) => {
    it.effect("can be given another lifetime, or none", () =>
      Effect.gen(function*() {
        const { model_id } = yield* Api.model
        yield* Api.saved(model_id, 1, "a", { ttl_seconds: 60 })
        yield* Api.saved(model_id, 2, "b")
        assert.strictEqual((yield* Api.put(`${state(model_id, "a")}/ttl`, { ttl_seconds: null })).status, 200)
        assert.strictEqual((yield* Api.put(`${state(model_id, "b")}/ttl`, { ttl_seconds: 120 })).status, 200)
        for (const ttl_seconds of [0, -5]) {
          assert.strictEqual((yield* Api.put(`${state(model_id, "b")}/ttl`, { ttl_seconds })).status, 400)
        }
        assert.strictEqual((yield* Api.put(`${state(model_id, "c")}/ttl`, { ttl_seconds: 1 })).status, 404)
        yield* TestClock.adjust("1 hour")
        assert.deepStrictEqual(yield* names, ["weights/a"])
      }))
  })

  layer(Api.server())((it) => {
    it.effect("with a lifetime of 0 are refused", () =>
      Effect.gen(function*() {
        const { model_id } = yield* Api.model
        const { category, error } = yield* Api.saved(model_id, 1, "never", { ttl_seconds: 0 })
        assert.strictEqual(category, "user")
        assert.include(String(error), "ttl_seconds is 0, expected 1 to 315360000")
      }))

    it.effect("whose names lead out of the folder are refused, even if the backend accepts them", () =>
      Effect.gen(function*() {
        const { model_id } = yield* Api.model
        for (const [index, name] of ["../../../../escaped", "a/b", ".hidden", ""].entries()) {
          const state = yield* Api.saved(model_id, 3 * index + 1, name)
          const sampler = yield* Api.result(yield* Api.saveForSampler(model_id, 3 * index + 2, { path: name }))
          const external = { model_id, seq_id: 3 * index + 3, path: name }
          const elsewhere = yield* Api.result(yield* Api.post("/save_weights_external", external))
          for (const { category, error } of [state, sampler, elsewhere]) {
            assert.strictEqual(category, "user")
            assert.include(String(error), `path is "${name}"`)
          }
        }
      }))

    it.effect("whose names are longer than file systems allow are refused, while those of 200 letters are kept", () =>
      Effect.gen(function*() {
        const { model_id } = yield* Api.model
        const longest = "a".repeat(200)
        assert.property(yield* Api.saved(model_id, 1, longest), "path")
        assert.include(yield* names, `weights/${longest}`)
        const name = "a".repeat(255)
        const state = yield* Api.saved(model_id, 2, name)
        const sampler = yield* Api.result(yield* Api.saveForSampler(model_id, 3, { path: name }))
        for (const { category, error } of [state, sampler]) {
          assert.strictEqual(category, "user")
          assert.strictEqual(error, "path has 255 characters, expected at most 200")
        }
      }))

    it.effect("can be published and unpublished", () =>
      Effect.gen(function*() {
        const { model_id } = yield* Api.model
        yield* Api.saved(model_id, 1, "shown")
        const isPublic = Effect.map(listed, (all) =>
          all.find(({ tinker_path }) => tinker_path === `tinker://${model_id}/weights/shown`)?.["public"])
        assert.isFalse(yield* isPublic)
        const publish = `${state(model_id, "shown")}/publish`
        assert.strictEqual(
          (yield* Api.send(Api.request("POST", publish, { "content-type": "application/json" }))).status,
          200
        )
        assert.isTrue(yield* isPublic)
        assert.strictEqual((yield* Api.remove(publish)).status, 200)
        assert.isFalse(yield* isPublic)
        assert.strictEqual((yield* Api.send(Api.request("POST", `${state(model_id, "hidden")}/publish`))).status, 404)
      }))

    it.effect("are overwritten only on request", () =>
      Effect.gen(function*() {
        const { model_id } = yield* Api.model
        yield* Api.saved(model_id, 1, "once")
        assert.include(String((yield* Api.saved(model_id, 2, "once"))["error"]), "already exists")
        assert.property(yield* Api.saved(model_id, 3, "once", { overwrite: true }), "path")
      }))
  })

  layer(Api.server())((it) => {
    it.effect("are listed in pages, as are those of one run and the runs themselves", () =>
      Effect.gen(function*() {
        const { model_id, session_id } = yield* Api.model
        for (const seq_id of [1, 2, 3]) yield* Api.saved(model_id, seq_id, `s${seq_id}`)
        const metadata = { user_metadata: { who: "me", age: 7 }, model_seq_id: 1 }
        yield* Api.result(yield* Api.createModel(session_id, metadata))
        const page = yield* Api.get("/checkpoints?limit=2&offset=1")
        assert.lengthOf(page.body["checkpoints"] as ReadonlyArray<unknown>, 2)
        assert.deepStrictEqual(page.body["cursor"], { offset: 1, limit: 2, total_count: 3 })
        assert.strictEqual((yield* Api.get("/checkpoints?limit=-1")).status, 422)
        const ofRun = yield* Api.get(`/training_runs/${model_id}/checkpoints`)
        assert.lengthOf(ofRun.body["checkpoints"] as ReadonlyArray<unknown>, 3)
        const runs = yield* Api.get("/training_runs?limit=1&access_scope=owned")
        assert.deepStrictEqual(runs.body["cursor"], { offset: 0, limit: 1, total_count: 2 })
        const all = (yield* Api.get("/training_runs")).body["training_runs"] as ReadonlyArray<Api.Body>
        assert.deepStrictEqual(all.map(({ lora_rank }) => lora_rank), [4, 4])
        assert.deepInclude(all.map(({ user_metadata }) => user_metadata), { who: "me" })
        assert.deepStrictEqual((yield* Api.get("/sessions?limit=0")).body["sessions"], [])
        assert.deepStrictEqual((yield* Api.get("/sessions")).body["sessions"], [session_id])
      }))
  })

  layer(NodeServices.layer)((it) => {
    it.effect("persist with their lifetimes after the server ends", () =>
      Effect.gen(function*() {
        const fs = yield* FileSystem.FileSystem
        const folder = yield* fs.makeTempDirectoryScoped()
        const serving = <A, E>(use: Effect.Effect<A, E, HttpClient.HttpClient>) =>
          Effect.provide(use, Api.server({ checkpoints: { folder, scheme: "scripted", ttl: "2 hours" } }))
        const paths = yield* serving(Effect.gen(function*() {
          const { model_id } = yield* Api.model
          yield* Api.saved(model_id, 1, "long", { ttl_seconds: 36_000 })
          yield* Api.saved(model_id, 2, "usual")
          return yield* names
        }))
        assert.deepStrictEqual(paths, ["weights/long", "weights/usual"])
        assert.deepStrictEqual(yield* serving(names), paths)
        yield* TestClock.adjust("3 hours")
        assert.deepStrictEqual(yield* serving(names), ["weights/long"])
        const left = yield* fs.readDirectory(folder, { recursive: true })
        assert.isFalse(left.some((file) => file.includes("usual")))
      }))
  })

  layer(NodeServices.layer)((it) => {
    it.effect("are listed without other files in the folder, each of which is named in one warning", () =>
      Effect.gen(function*() {
        const fs = yield* FileSystem.FileSystem
        const folder = yield* fs.makeTempDirectoryScoped()
        const lines: Array<string> = []
        const logger = Logger.make(({ logLevel, message }) => {
          const line = String(message)
          if (logLevel === "Warn" && line.includes(" is not a checkpoint")) lines.push(line)
        })
        yield* Effect.gen(function*() {
          const { model_id } = yield* Api.model
          yield* Api.saved(model_id, 1, "good")
          yield* Api.saved(model_id, 2, "damaged")
          yield* fs.makeDirectory(`${folder}/other/weights`, { recursive: true })
          yield* fs.writeFileString(`${folder}/notes.txt`, "to do")
          yield* fs.writeFileString(`${folder}/other/weights/notes.txt`, "to do")
          const files = yield* fs.readDirectory(`${folder}/.tinker`, { recursive: true })
          const record = files.find((file) => file.endsWith("damaged.json"))
          yield* fs.writeFileString(`${folder}/.tinker/${record}`, "{")
          assert.deepStrictEqual(yield* names, ["weights/good"])
          assert.deepStrictEqual(yield* names, ["weights/good"])
          assert.strictEqual((yield* Api.get("/training_runs")).status, 200)
        }).pipe(Effect.provide(Api.server({ folder })), Effect.provide(Logger.layer([logger])))
        assert.lengthOf(lines, 3, lines.join("\n"))
        for (const name of ["notes.txt", "tinker://other/weights/notes.txt", "weights/damaged"]) {
          assert.isTrue(lines.some((line) => line.split(" is not a checkpoint")[0]?.endsWith(name)), name)
        }
      }))
  })
})
