import { Hub, Repository } from "@effect-rl/files"
import { assert, layer } from "@effect/vitest"
import { ConfigProvider, Effect, Fiber, FileSystem, Layer, Logger } from "effect"
import { Fetch } from "effect/http/FetchHttpClient"
import { TestClock } from "effect/testing"
import * as Files from "../support/Files.ts"
import * as FakeHub from "./FakeHub.ts"

const dataset = Repository.dataset("openai/gsm8k")
const pinned = Repository.dataset("openai/gsm8k", FakeHub.commit)
const content = `{"question":"1+1","answer":"#### 2 €"}\n`
const files = { "main/train.jsonl": { content }, "main/test.parquet": { content: "PAR1…", isLarge: true } }

const makeHub = () => FakeHub.make("datasets/openai/gsm8k", files)

const withHub = <A, E, R>(
  fake: FakeHub.FakeHub,
  environment: Record<string, string>,
  use: (hub: Hub.Hub["Service"]) => Effect.Effect<A, E, R>
) =>
  Hub.Hub.use(use).pipe(
    Effect.provide(
      Hub.Hub.layer.pipe(
        Layer.provide(Layer.succeed(Fetch, fake.fetch)),
        Layer.provide(ConfigProvider.layer(ConfigProvider.fromEnv({ env: environment })))
      ),
      { local: true }
    )
  )

/** Runs an effect to its end. Retries wait in virtual time, while requests take real time. */
const settle = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.gen(function*() {
    const fiber = yield* Effect.forkChild(effect)
    const tick = Effect.andThen(TestClock.adjust("1 minute"), TestClock.withLive(Effect.sleep("1 millis")))
    yield* Effect.repeat(tick, { until: () => fiber.pollUnsafe() !== undefined })
    return yield* Fiber.join(fiber)
  })

const filesUnder = (folder: string) =>
  FileSystem.FileSystem.use((fs) => fs.readDirectory(folder, { recursive: true })).pipe(
    Effect.map((paths) => paths.filter((path) => /\.(jsonl|parquet)$|partial/.test(path)))
  )

layer(Files.layer)("Hub", (it) => {
  it.effect("downloads a file once and then reads it from the cache", () =>
    Effect.gen(function*() {
      const fake = makeHub()
      const cache = yield* Files.temporaryFolder
      const path = yield* withHub(fake, { HF_HUB_CACHE: cache }, (hub) => hub.file(pinned, "main/train.jsonl"))
      assert.strictEqual(path, `${cache}/datasets--openai--gsm8k/snapshots/${FakeHub.commit}/main/train.jsonl`)
      assert.strictEqual(yield* Files.readFile(path), content)
      const asked = fake.requests.length
      const again = yield* withHub(fake, { HF_HUB_CACHE: cache, HF_HUB_OFFLINE: "1" }, (hub) =>
        hub.file(pinned, "main/train.jsonl"))
      assert.strictEqual(again, path)
      assert.strictEqual(fake.requests.length, asked)
    }))

  it.effect("downloads a large file, which is identified by its content hash", () =>
    Effect.gen(function*() {
      const cache = yield* Files.temporaryFolder
      const path = yield* withHub(makeHub(), { HF_HOME: cache }, (hub) => hub.file(pinned, "main/test.parquet"))
      assert.strictEqual(path, `${cache}/hub/datasets--openai--gsm8k/snapshots/${FakeHub.commit}/main/test.parquet`)
      assert.strictEqual(yield* Files.readFile(path), "PAR1…")
    }))

  it.effect("requests a branch's commit once and keeps it, even offline", () =>
    Effect.gen(function*() {
      const fake = makeHub()
      const cache = yield* Files.temporaryFolder
      assert.strictEqual(yield* withHub(fake, { HF_HUB_CACHE: cache }, (hub) => hub.commit(dataset)), FakeHub.commit)
      const offline = { HF_HUB_CACHE: cache, HF_HUB_OFFLINE: "true" }
      assert.strictEqual(yield* withHub(fake, offline, (hub) => hub.commit(dataset)), FakeHub.commit)
      assert.deepStrictEqual(fake.requests, ["GET /api/datasets/openai/gsm8k/revision/main no token"])
    }))

  it.effect("refuses uncached files offline", () =>
    Effect.gen(function*() {
      const fake = makeHub()
      const offline = { HF_HUB_CACHE: yield* Files.temporaryFolder, HF_HUB_OFFLINE: "1" }
      const branch = yield* Effect.flip(withHub(fake, offline, (hub) => hub.commit(dataset)))
      assert.include(branch.message, "datasets/openai/gsm8k@main: not in the cache")
      const file = yield* Effect.flip(withHub(fake, offline, (hub) => hub.file(pinned, "main/train.jsonl")))
      assert.include(file.message, "HF_HUB_OFFLINE is set")
      assert.deepStrictEqual(fake.requests, [])
    }))

  const reasonAfter = (
    faults: FakeHub.FakeHub["faults"],
    use: (hub: Hub.Hub["Service"]) => Effect.Effect<unknown, HubFailure>
  ) =>
    Effect.gen(function*() {
      const fake = makeHub()
      fake.faults.push(...faults)
      const cache = yield* Files.temporaryFolder
      const error = yield* settle(Effect.flip(withHub(fake, { HF_HUB_CACHE: cache, HF_TOKEN: "hf_secret" }, use)))
      if (error._tag !== "HubError") return assert.fail(error.message)
      assert.deepStrictEqual(yield* filesUnder(cache), [])
      return { reason: error.reason._tag, message: error.message, requests: fake.requests.length }
    })
  type HubFailure = Effect.Error<ReturnType<Hub.Hub["Service"]["commit"]>>
  const train = (hub: Hub.Hub["Service"]) => hub.file(pinned, "main/train.jsonl")

  it.effect("distinguishes the reasons why a file cannot be read", () =>
    Effect.gen(function*() {
      const denied = yield* reasonAfter([FakeHub.status(401)], train)
      assert.strictEqual(denied?.reason, "Unauthorized")
      assert.include(denied?.message, "set HF_TOKEN")
      assert.strictEqual((yield* reasonAfter([FakeHub.status(403)], train))?.reason, "Unauthorized")
      assert.strictEqual((yield* reasonAfter([FakeHub.status(404)], train))?.reason, "NotFound")
      assert.strictEqual((yield* reasonAfter(["unreachable"], train))?.reason, "Offline")
      assert.strictEqual((yield* reasonAfter([], (hub) => hub.file(pinned, "main/other.jsonl")))?.reason, "NotFound")
      assert.strictEqual((yield* reasonAfter([], (hub) => hub.file(pinned, "../../../outside")))?.reason, "NotFound")
    }))

  it.effect("retries transient failures, with at most four attempts", () =>
    Effect.gen(function*() {
      const busy = yield* reasonAfter(Array.from({ length: 20 }, () => FakeHub.status(503)), train)
      assert.deepStrictEqual([busy?.reason, busy?.requests], ["Unavailable", 4])
      const fake = makeHub()
      fake.faults.push(FakeHub.status(429), FakeHub.status(500))
      const cache = yield* Files.temporaryFolder
      const path = yield* settle(withHub(fake, { HF_HUB_CACHE: cache }, train))
      assert.strictEqual(yield* Files.readFile(path), content)
    }))

  const corrupted: Record<string, (content: string) => string | ReadableStream<Uint8Array>> = {
    "is cut short": (content) => content.slice(0, -3),
    "is longer": (content) => `${content}\n`,
    "has another letter": (content) => content.replace("1", "3"),
    "breaks off": (content) =>
      new ReadableStream<Uint8Array>({
        start: (controller) => controller.enqueue(new TextEncoder().encode(content.slice(0, 5))),
        pull: (controller) => controller.error(new Error("connection reset"))
      })
  }
  for (const [what, sent] of Object.entries(corrupted)) {
    it.effect(`keeps nothing of a file that ${what}`, () =>
      Effect.gen(function*() {
        const fake = makeHub()
        fake.sent = sent
        const cache = yield* Files.temporaryFolder
        const error = yield* settle(Effect.flip(withHub(fake, { HF_HUB_CACHE: cache }, train)))
        assert.strictEqual(error._tag === "HubError" ? error.reason._tag : error._tag, "Corrupt")
        assert.deepStrictEqual(yield* filesUnder(cache), [])
      }))
  }

  it.effect("sends the token to the Hub and never logs it", () =>
    Effect.gen(function*() {
      const lines: Array<string> = []
      const fake = makeHub()
      const environment = { HF_HUB_CACHE: yield* Files.temporaryFolder, HF_TOKEN: "hf_secret" }
      yield* withHub(fake, environment, train).pipe(
        Effect.provide(Logger.layer([Logger.make((entry) => lines.push(JSON.stringify(entry.message)))]))
      )
      assert.isTrue(fake.requests.every((request) => request.endsWith("Bearer hf_secret")))
      assert.isAbove(lines.length, 0)
      assert.notInclude(lines.join(), "hf_secret")
      const denied = yield* reasonAfter([FakeHub.status(401)], train)
      assert.notInclude(denied?.message ?? "hf_secret", "hf_secret")
    }))
})
