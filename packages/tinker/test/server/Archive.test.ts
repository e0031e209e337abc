import { Script } from "@effect-rl/core/testing"
import * as Range from "@effect-rl/tinker/server/Range"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, FileSystem, Layer } from "effect"
import { FetchHttpClient } from "effect/http"
import { TestClock } from "effect/testing"
import * as Api from "./Api.ts"

describe("Range", () => {
  it.each([
    [undefined, { start: 0, end: 100 }],
    ["bytes=0-", { start: 0, end: 100 }],
    ["bytes=40-", { start: 40, end: 100 }],
    ["bytes=40-49", { start: 40, end: 50 }],
    ["bytes=40-900", { start: 40, end: 100 }],
    ["bytes=-10", { start: 90, end: 100 }],
    ["bytes=-900", { start: 0, end: 100 }],
    ["bytes=100-", undefined],
    ["bytes=50-40", undefined],
    ["bytes=-0", undefined],
    ["bytes=0-1,5-6", { start: 0, end: 100 }],
    ["rows=1-2", { start: 0, end: 100 }]
  ])("the header %s selects the expected part of 100 bytes", (header, expected) => {
    assert.deepStrictEqual(Range.parse(header, 100), expected)
  })
})

/** A backend's folder with one checkpoint, whose files have odd sizes. */
const folder = Effect.gen(function*() {
  const fs = yield* FileSystem.FileSystem
  const folder = yield* fs.makeTempDirectoryScoped()
  const place = `${folder}/run-1/sampler_weights/final`
  yield* fs.makeDirectory(place, { recursive: true })
  const config = { base_model_name_or_path: Script.defaultModel, r: 4, target_modules: ["q_proj"] }
  yield* fs.writeFileString(`${place}/adapter_config.json`, JSON.stringify(config))
  yield* fs.writeFile(`${place}/adapter_model.safetensors`, Uint8Array.from({ length: 70_001 }, (_, at) => at % 251))
  return folder
})

const served = Layer.unwrap(Effect.map(folder, (folder) => Api.server({ folder }))).pipe(
  Layer.provide(NodeServices.layer)
)

const archive = "/training_runs/run-1/checkpoints/sampler_weights/final/archive"

const unfollowed = Effect.provideService(FetchHttpClient.RequestInit, { redirect: "manual" })

const link = Effect.gen(function*() {
  const { headers, status } = yield* unfollowed(Api.execute(Api.request("GET", archive)))
  assert.strictEqual(status, 302)
  const { pathname } = new URL(headers["location"] ?? "")
  return { path: pathname.replace("/api/v1", ""), expires: Date.parse(headers["expires"] ?? "") }
})

const download = Effect.fnUntraced(function*(
  path: string,
  headers: Readonly<Record<string, string>> = {},
  method: "GET" | "HEAD" = "GET"
) {
  const response = yield* Api.execute(Api.request(method, path, headers))
  const content = new Uint8Array(yield* response.arrayBuffer)
  return { status: response.status, headers: response.headers, content }
})

describe("an archive", () => {
  layer(served)((it) => {
    it.effect("can be downloaded in parts that add up to the whole", () =>
      Effect.gen(function*() {
        const { path } = yield* link
        const whole = yield* download(path)
        assert.strictEqual(whole.status, 200)
        assert.strictEqual(whole.headers["accept-ranges"], "bytes")
        const size = whole.content.length
        assert.strictEqual(Number(whole.headers["content-length"]), size)
        for (
          const [start, end] of [[0, 1], [0, 511], [100, 1536], [511, 513], [1500, 60_000], [72_000, size]] as const
        ) {
          const part = yield* download(path, { range: `bytes=${start}-${end - 1}` })
          assert.strictEqual(part.status, 206)
          assert.strictEqual(part.headers["content-range"], `bytes ${start}-${end - 1}/${size}`)
          assert.deepStrictEqual(part.content, whole.content.slice(start, end))
        }
      }))

    it.effect("reports its length to a HEAD request, without content", () =>
      Effect.gen(function*() {
        const { path } = yield* link
        const whole = yield* download(path)
        const { content, headers, status } = yield* download(path, {}, "HEAD")
        assert.strictEqual(status, 200)
        assert.lengthOf(content, 0)
        for (const name of ["content-length", "content-type", "accept-ranges", "etag"]) {
          assert.strictEqual(headers[name], whole.headers[name], name)
        }
        assert.strictEqual((yield* download(path.replace("/final", "/other"), {}, "HEAD")).status, 404)
        const { headers: { location = "" }, status: linked } = yield* unfollowed(
          Api.execute(Api.request("HEAD", archive))
        )
        assert.strictEqual(linked, 302)
        assert.include(location, "/archives/")
      }))

    it.effect("can also be downloaded as single files, each in parts", () =>
      Effect.gen(function*() {
        const { body } = yield* Api.get(archive.replace("/archive", "/external_weights_urls"))
        assert.isAbove(Date.parse(String(body["expires"])), 0)
        const urls = body["urls"] as Readonly<Record<string, string>>
        assert.sameMembers(Object.keys(urls), ["adapter_config.json", "adapter_model.safetensors"])
        const path = new URL(urls["adapter_model.safetensors"] ?? "").pathname.replace("/api/v1", "")
        const whole = yield* download(path)
        assert.strictEqual(whole.content.length, 70_001)
        const part = yield* download(path, { range: "bytes=70000-" })
        assert.strictEqual(part.status, 206)
        assert.deepStrictEqual(part.content, whole.content.slice(70_000))
        assert.strictEqual((yield* download(path.replace("model.safetensors", "config.json"))).status, 404)
      }))

    it.effect("starts from the beginning for a client that has part of a different archive", () =>
      Effect.gen(function*() {
        const { path } = yield* link
        const { content, headers: { etag = "" } } = yield* download(path)
        const range = `bytes=1000-`
        assert.strictEqual((yield* download(path, { range, "if-range": etag })).status, 206)
        const other = yield* download(path, { range, "if-range": `"another"` })
        assert.strictEqual(other.status, 200)
        assert.strictEqual(other.content.length, content.length)
      }))

    it.effect("has no bytes beyond its end", () =>
      Effect.gen(function*() {
        const { path } = yield* link
        const { headers, status } = yield* download(path, { range: "bytes=1000000-" })
        assert.strictEqual(status, 416)
        assert.match(headers["content-range"] ?? "", /^bytes \*\/\d+$/)
      }))
  })

  layer(served)((it) => {
    it.effect("is open to everyone with the link for 15 minutes", () =>
      Effect.gen(function*() {
        const { expires, path } = yield* link
        assert.strictEqual(expires, 15 * 60_000)
        assert.strictEqual((yield* download(path.replace("/final", "/other"))).status, 404)
        yield* TestClock.adjust("14 minutes")
        assert.strictEqual((yield* download(path)).status, 200)
        yield* TestClock.adjust("2 minutes")
        assert.strictEqual((yield* download(path)).status, 404)
      }))
  })
})

describe("a copy of weights", () => {
  layer(served)((it) => {
    const source_path = "tinker://run-1/sampler_weights/final"
    const copy = (session_id: string, more: Api.Body = {}) =>
      Api.post("/copy_weights", { source_path, session_id, model_seq_id: 3, ...more })

    it.effect("is a run of its own with the same files, even after the original is deleted", () =>
      Effect.gen(function*() {
        const session_id = yield* Api.session
        const path = `tinker://${session_id}:train:3/sampler_weights/final`
        assert.deepStrictEqual((yield* copy(session_id)).body, { tinker_path: path })
        assert.deepStrictEqual((yield* copy(session_id)).body, { tinker_path: path })
        const whole = yield* download((yield* link).path)
        yield* Api.remove("/training_runs/run-1/checkpoints/sampler_weights/final")
        const { body } = yield* Api.get("/checkpoints")
        const paths = (body["checkpoints"] as ReadonlyArray<Api.Body>).map(({ tinker_path }) => tinker_path)
        assert.deepStrictEqual(paths, [path])
        const copied = yield* unfollowed(
          Api.execute(
            Api.request("GET", `/training_runs/${session_id}:train:3/checkpoints/sampler_weights/final/archive`)
          )
        )
        const { pathname } = new URL(copied.headers["location"] ?? "")
        const { content } = yield* download(pathname.replace("/api/v1", ""))
        assert.strictEqual(content.length, whole.content.length)
      }))
  })

  layer(served)((it) => {
    it.effect("requires a session to belong to, and a number that no other model has", () =>
      Effect.gen(function*() {
        const source_path = "tinker://run-1/sampler_weights/final"
        const project = yield* Api.post("/copy_weights", { source_path, destination_project_id: "p" })
        assert.strictEqual(project.status, 400)
        assert.include(
          String(project.body["detail"]),
          "destination_project_id is \"p\", expected session_id and model_seq_id"
        )
        const nowhere = yield* Api.post("/copy_weights", { source_path })
        assert.strictEqual(nowhere.body["detail"], "session_id and model_seq_id are missing")
        const { session_id } = yield* Api.model
        const taken = yield* Api.post("/copy_weights", { source_path, session_id, model_seq_id: 0 })
        assert.strictEqual(taken.status, 409)
        const missing = { source_path: "tinker://nobody/weights/a", session_id, model_seq_id: 5 }
        assert.strictEqual((yield* Api.post("/copy_weights", missing)).status, 404)
      }))
  })
})
