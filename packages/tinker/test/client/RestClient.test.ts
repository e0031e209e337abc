import { CheckpointPath, RestClient } from "@effect-rl/tinker"
import { assert, describe, it } from "@effect/vitest"
import { DateTime, Effect, Option, Redacted, Stream } from "effect"
import { withTinker } from "./Elapse.ts"
import * as FakeService from "./FakeService.ts"

const path = "tinker://session:train:0/weights/0001"
const resource = "/training_runs/session:train:0/checkpoints/weights/0001"

const checkpoint = {
  checkpoint_id: "weights/0001",
  checkpoint_type: "training",
  time: "2026-01-02T03:04:05Z",
  tinker_path: path,
  size_bytes: 10,
  expires_at: null
}

/** Answers of these paths, and what was asked of the service. */
const asking = <A, E>(
  routes: FakeService.Routes,
  ask: (rest: RestClient.RestClient["Service"]) => Effect.Effect<A, E>,
  faults?: FakeService.Faults
) => {
  const service = FakeService.make({ routes, ...(faults === undefined ? {} : { faults }) })
  return Effect.map(
    withTinker(service, Effect.flatMap(RestClient.RestClient, ask)),
    (answer) => ({ answer, asked: service.received.filter((request) => request.path in routes) })
  )
}

const ok = () => FakeService.json({})

describe("a checkpoint's path", () => {
  it.effect("says its run, its type and its id", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* CheckpointPath.parse(path), {
        run: "session:train:0",
        type: "training",
        id: "weights/0001",
        archiveId: "weights/0001"
      })
      assert.deepStrictEqual(yield* CheckpointPath.parse("tinker://run/name"), {
        run: "run",
        type: "sampler",
        id: "sampler_weights/name",
        archiveId: "name"
      })
      const { id, type } = yield* CheckpointPath.parse("tinker://run/external_weights/name")
      assert.deepStrictEqual([type, id], ["external", "external_weights/name"])
      for (
        const wrong of [
          "",
          "run/weights/a",
          "tinker://run/other/a",
          "tinker://run",
          "tinker://run/weights/a/b",
          "tinker:///weights/a"
        ]
      ) {
        assert.include((yield* Effect.flip(CheckpointPath.parse(wrong))).detail, JSON.stringify(wrong))
      }
    }))
})

describe("the service tells", () => {
  it.effect("of training runs, with their checkpoints", () =>
    Effect.gen(function*() {
      const run = {
        training_run_id: "session:train:0",
        base_model: "fake",
        model_owner: "me",
        is_lora: true,
        lora_rank: 8,
        last_request_time: "2026-01-02T03:04:05Z",
        last_checkpoint: checkpoint,
        an_unknown_key: 1
      }
      const { answer, asked } = yield* asking(
        {
          "/training_runs": () =>
            FakeService.json({ training_runs: [run], cursor: { offset: 5, limit: 1, total_count: 6 } })
        },
        (rest) => rest.listTrainingRuns({ limit: 1, offset: 5, accessScope: "accessible", projectId: "p" })
      )
      assert.deepStrictEqual(asked.map(({ query }) => query), [
        { limit: "1", offset: "5", access_scope: "accessible", project_id: "p" }
      ])
      assert.strictEqual(answer.cursor.totalCount, 6)
      assert.strictEqual(answer.trainingRuns[0]?.lastCheckpoint?.path, path)
    }))

  it.effect("of sessions, samplers, billing and events", () =>
    Effect.gen(function*() {
      const start = DateTime.makeUnsafe("2026-01-01T00:00:00Z")
      const bucket = { bucket_start: "2026-01-01T00:00:00Z", bucket_end: "2026-01-01T01:00:00Z" }
      const { answer, asked } = yield* asking(
        {
          "/sessions": () => FakeService.json({ sessions: ["a", "b"] }),
          "/sessions/a": () => FakeService.json({ training_run_ids: ["r"], sampler_ids: [] }),
          "/samplers/s": () => FakeService.json({ sampler_id: "s", base_model: "fake" }),
          "/audit": () => FakeService.json({ entries: [{ timestamp: "2026-01-01T00:00:00Z", event: "deleted" }] }),
          "/billing/usage/events": () =>
            FakeService.json({
              data: [
                { ...bucket, event_info: { type: "sampling_prefill", cached: true, token_count: 7 } },
                { ...bucket, event_info: { type: "storage", gigabyte_hours: 0.5 } }
              ],
              sessions: { a: { user_metadata: { run: "one" } } }
            })
        },
        (rest) =>
          Effect.all([
            rest.listSessions(),
            rest.getSession("a"),
            rest.getSampler("s"),
            rest.getAuditLog({ day: "2026-01-01" }),
            rest.getBillingUsage(start, DateTime.add(start, { days: 1 }))
          ])
      )
      const [sessions, session, sampler, audit, billing] = answer
      assert.deepStrictEqual(sessions, ["a", "b"])
      assert.deepStrictEqual(session.trainingRunIds, ["r"])
      assert.strictEqual(sampler.baseModel, "fake")
      assert.strictEqual(audit.entries[0]?.event, "deleted")
      assert.deepStrictEqual(billing.data.map(({ event }) => event), [
        { type: "sampling_prefill", cached: true, tokenCount: 7 },
        { type: "storage", gigabyteHours: 0.5 }
      ])
      assert.deepStrictEqual(asked.at(-1)?.query, {
        starting_on: "2026-01-01T00:00:00.000Z",
        ending_before: "2026-01-02T00:00:00.000Z"
      })
    }))

  it.effect("of weights in other formats, file by file", () =>
    Effect.gen(function*() {
      const urls = { "adapter_model.safetensors": "http://files/adapter" }
      const { answer } = yield* asking(
        { [`${resource}/external_weights_urls`]: () => FakeService.json({ urls, expires: "2026-01-02T03:04:05Z" }) },
        (rest) => rest.getExternalWeightsUrls(path)
      )
      assert.deepStrictEqual(answer.urls, urls)
    }))

  it.effect("the user of a token, but not of a key", () =>
    Effect.gen(function*() {
      const claims = Buffer.from(JSON.stringify({ sub: "urn:user", email: "" })).toString("base64url")
      const ask = Effect.flatMap(RestClient.RestClient, ({ whoami }) => whoami)
      const options = { apiKey: Redacted.make(`eyJhbGciOiJub25lIn0.${claims}.signature`) }
      assert.deepStrictEqual(yield* withTinker(FakeService.make(), ask, options), {
        userUrn: "urn:user",
        email: undefined
      })
      const unknown = yield* Effect.flip(withTinker(FakeService.make(), ask))
      assert.strictEqual(unknown.reason._tag, "Unsupported")
    }))

  it.effect("where a trace is once it has been exported", () =>
    Effect.gen(function*() {
      const answers = [{ status: "pending" }, { status: "pending" }, { status: "ready", url: "http://trace" }]
      const { answer, asked } = yield* asking(
        { "/sessions/a/trace_export": () => FakeService.json(answers.shift()) },
        (rest) => rest.exportSessionTrace("a")
      )
      assert.strictEqual(answer, "http://trace")
      assert.deepStrictEqual(asked.map(({ at }) => at), [0, 5000, 10_000])
    }))
})

describe("the service is told", () => {
  it.effect("to publish, keep for a time and delete checkpoints", () =>
    Effect.gen(function*() {
      const { asked } = yield* asking(
        { [`${resource}/publish`]: ok, [`${resource}/ttl`]: ok, [resource]: ok, "/sessions/a/project": ok },
        (rest) =>
          Effect.all([
            rest.publishCheckpoint(path),
            rest.unpublishCheckpoint(path),
            rest.setCheckpointTtl(path, "1 hour"),
            rest.setCheckpointTtl(path),
            rest.deleteCheckpoint(path),
            rest.assignSessionProject("a", "p")
          ])
      )
      assert.deepStrictEqual(asked.map(({ body, method, path }) => [method, path, body]), [
        ["POST", `${resource}/publish`, {}],
        ["DELETE", `${resource}/publish`, {}],
        ["PUT", `${resource}/ttl`, { ttl_seconds: 3600 }],
        ["PUT", `${resource}/ttl`, { ttl_seconds: null }],
        ["DELETE", resource, {}],
        ["PUT", "/sessions/a/project", { project_id: "p" }]
      ])
    }))

  it.effect("to delete once: a checkpoint that is gone after an answer was lost counts as deleted", () =>
    Effect.gen(function*() {
      const gone = { [resource]: () => FakeService.json({ detail: "no such checkpoint" }, 404) }
      yield* asking(
        gone,
        (rest) => rest.deleteCheckpoint(path),
        (at, index) => at === resource && index === 0 ? "unanswered" : undefined
      )
      const absent = yield* asking(gone, (rest) => Effect.flip(rest.deleteCheckpoint(path)))
      assert.strictEqual(absent.answer.reason._tag, "NotFound")
    }))

  it.effect("nothing it has no route for", () =>
    Effect.gen(function*() {
      const { answer } = yield* asking(
        { [`${resource}/publish`]: () => FakeService.json({ detail: "Not Found" }, 404) },
        (rest) => Effect.flip(rest.publishCheckpoint(path))
      )
      assert.strictEqual(answer.reason._tag, "Unsupported")
    }))
})

const archive = Uint8Array.from({ length: 1000 }, (_, index) => index % 251)

/** Serves the bytes from where they are asked for, cut after at most `most`. */
const serving = (most: number, ranges: boolean): FakeService.Routes => ({
  [`${resource}/archive`]: () => new Response(null, { status: 302, headers: { location: "http://files/archive" } }),
  "/archive": (_, { headers }) => {
    const asked = Number(/^bytes=(\d+)-$/.exec(headers["range"] ?? "")?.[1] ?? 0)
    const start = ranges ? asked : 0
    const body = new ReadableStream({
      start: (controller) => {
        controller.enqueue(archive.slice(start, start + most + (ranges ? 0 : asked)))
        controller.close()
      }
    })
    return start === 0
      ? new Response(body, { headers: { "content-length": String(archive.length), etag: "\"one\"" } })
      : new Response(body, {
        status: 206,
        headers: { "content-range": `bytes ${start}-${archive.length - 1}/${archive.length}` }
      })
  }
})

const bytesOf = (rest: RestClient.RestClient["Service"]) =>
  Effect.map(
    Stream.runCollect(rest.downloadCheckpoint(path)),
    (chunks) => Uint8Array.from(Array.from(chunks).flatMap((bytes) => Array.from(bytes)))
  )

describe("a download", () => {
  it.effect("goes on where it was cut", () =>
    Effect.gen(function*() {
      const { answer, asked } = yield* asking(serving(300, true), bytesOf)
      assert.deepStrictEqual(answer, archive)
      const ranges = asked.filter(({ path }) => path === "/archive").map(({ headers }) => headers["range"])
      assert.deepStrictEqual(ranges, [undefined, "bytes=300-", "bytes=600-", "bytes=900-"])
    }))

  it.effect("skips the bytes that it has where the server begins anew", () =>
    Effect.gen(function*() {
      const { answer } = yield* asking(serving(400, false), bytesOf)
      assert.deepStrictEqual(answer, archive)
    }))

  it.effect("shows no key to other servers", () =>
    Effect.gen(function*() {
      const { asked } = yield* asking(serving(1000, true), bytesOf)
      const keys = asked.map(({ headers, path }) => [path, headers["x-api-key"]])
      assert.deepStrictEqual(keys, [[`${resource}/archive`, "tml-secret"], ["/archive", undefined]])
    }))

  it.effect("takes no key along to where it is redirected", () =>
    Effect.gen(function*() {
      const own = "http://fake/prefix/api/v1/own"
      const { answer, asked } = yield* asking({
        ...serving(1000, true),
        [`${resource}/archive`]: () => new Response(null, { status: 302, headers: { location: own } }),
        "/own": () => new Response(null, { status: 302, headers: { location: "http://files/archive" } })
      }, bytesOf)
      assert.deepStrictEqual(answer, archive)
      assert.deepStrictEqual(asked.slice(-2).map(({ headers, path }) => [path, headers["x-api-key"]]), [
        ["/own", "tml-secret"],
        ["/archive", undefined]
      ])
    }))

  it.effect("of one file of external weights goes on where it was cut, by its link", () =>
    Effect.gen(function*() {
      const links = `${resource}/external_weights_urls`
      const urls = { "adapter.safetensors": "http://files/archive" }
      const { answer, asked } = yield* asking(
        { ...serving(600, true), [links]: () => FakeService.json({ urls, expires: "2026-01-02T03:04:05Z" }) },
        (rest) => Stream.runCollect(rest.downloadExternalFile(path, "adapter.safetensors"))
      )
      assert.deepStrictEqual(Uint8Array.from(Array.from(answer).flatMap((bytes) => Array.from(bytes))), archive)
      assert.deepStrictEqual(asked.map(({ path }) => path), [links, "/archive", links, "/archive"])
    }))

  it.effect("asks for a new link when the old one has expired", () =>
    Effect.gen(function*() {
      const expired: FakeService.Faults = (path, index) =>
        path === "/archive" && index === 1 ? { status: 403 } : undefined
      const { answer, asked } = yield* asking(serving(500, true), bytesOf, expired)
      assert.deepStrictEqual(answer, archive)
      assert.strictEqual(asked.filter(({ path }) => path === `${resource}/archive`).length, 3)
    }))

  it.effect("waits while the archive is being made, six times half a minute", () =>
    Effect.gen(function*() {
      const making = (times: number, status: number): FakeService.Faults => (path, index) =>
        path === `${resource}/archive` && index < times ? { status } : undefined
      const { answer, asked } = yield* asking(serving(1000, true), (rest) =>
        rest.getCheckpointArchiveUrl(path), making(6, 409))
      assert.strictEqual(answer.url, "http://files/archive")
      assert.deepStrictEqual(
        asked.map(({ at }) =>
          at / 1000
        ),
        [0, 30, 60, 90, 120, 150, 180]
      )
      const never = yield* asking(serving(1000, true), (rest) =>
        Effect.flip(rest.getCheckpointArchiveUrl(path)), making(99, 409))
      assert.strictEqual(never.answer.reason._tag, "Rejected")
    }))

  it.effect("ends in a typed failure where nothing comes at all", () =>
    Effect.gen(function*() {
      const { answer } = yield* asking(serving(0, true), (rest) => Effect.flip(bytesOf(rest)))
      assert.strictEqual(answer.reason._tag, "Unavailable")
      assert.isTrue(Option.isSome(Option.fromUndefinedOr(answer.cause)))
    }))
})
