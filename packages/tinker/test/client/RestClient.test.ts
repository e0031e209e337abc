import { RestClient } from "@effect-rl/tinker"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { asking, checkpoint, ok, path, resource } from "./Asking.ts"
import { withTinker } from "./Elapse.ts"
import * as FakeService from "./FakeService.ts"

describe("the service reports", () => {
  it.effect("training runs with their checkpoints", () =>
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

  it.effect("sessions and samplers", () =>
    Effect.gen(function*() {
      const session = { training_run_ids: ["r"], sampler_ids: [], display_name: "sums", user_metadata: { by: "ada" } }
      const { answer } = yield* asking(
        {
          "/sessions": () => FakeService.json({ sessions: ["a", "b"] }),
          "/sessions/a": () => FakeService.json(session),
          "/samplers/s": () => FakeService.json({ sampler_id: "s", base_model: "fake" })
        },
        (rest) => Effect.all([rest.listSessions(), rest.getSession("a"), rest.getSampler("s")])
      )
      const [sessions, { displayName, trainingRunIds, userMetadata }, sampler] = answer
      assert.deepStrictEqual(sessions, ["a", "b"])
      assert.deepStrictEqual([trainingRunIds, displayName, userMetadata], [["r"], "sums", { by: "ada" }])
      assert.strictEqual(sampler.baseModel, "fake")
    }))

  it.effect("weights in other formats, file by file", () =>
    Effect.gen(function*() {
      const urls = { "adapter_model.safetensors": "http://files/adapter" }
      const { answer } = yield* asking(
        { [`${resource}/external_weights_urls`]: () => FakeService.json({ urls, expires: "2026-01-02T03:04:05Z" }) },
        (rest) => rest.getExternalWeightsUrls(path)
      )
      assert.deepStrictEqual(answer.urls, urls)
    }))

  it.effect("the user that a token identifies, but none for a key", () =>
    Effect.gen(function*() {
      const claims = Buffer.from(JSON.stringify({ sub: "urn:user", org_id: "o", email: "" })).toString("base64url")
      const ask = Effect.flatMap(RestClient.RestClient, ({ whoami }) => whoami)
      const options = { apiKey: Redacted.make(`eyJhbGciOiJub25lIn0.${claims}.signature`) }
      assert.deepStrictEqual(yield* withTinker(FakeService.make(), ask, options), {
        userUrn: "urn:user",
        orgUrn: "tml:organization:o",
        email: undefined
      })
      const unknown = yield* Effect.flip(withTinker(FakeService.make(), ask))
      assert.strictEqual(unknown.reason._tag, "Unsupported")
    }))

  it.effect("where a trace is, once it has been exported", () =>
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

describe("the service is asked", () => {
  it.effect("to publish checkpoints, set their lifetime and delete them", () =>
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

  it.effect("to delete once: a checkpoint that is missing after a lost answer counts as deleted", () =>
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

  it.effect("for an operation without a route, which fails as unsupported", () =>
    Effect.gen(function*() {
      const { answer } = yield* asking(
        { [`${resource}/publish`]: () => FakeService.json({ detail: "Not Found" }, 404) },
        (rest) => Effect.flip(rest.publishCheckpoint(path))
      )
      assert.strictEqual(answer.reason._tag, "Unsupported")
    }))
})
