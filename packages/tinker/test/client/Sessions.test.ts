import { RestClient } from "@effect-rl/tinker"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { withTinker } from "./Elapse.ts"
import * as FakeService from "./FakeService.ts"

const rest = RestClient.RestClient

const summary = {
  session_id: "s",
  created_at: "2026-01-01T00:00:00Z",
  owner: "me",
  project_id: "p",
  status: { type: "client_finished", reason: { type: "errored" }, detail: "out of disk" },
  checkpoints_count: 3,
  display_name: "a run",
  user_metadata: { recipe: "sums" }
}

describe("RestClient", () => {
  it.effect("searches sessions page by page, with how each ended", () =>
    Effect.gen(function*() {
      const next = { last_created_at: "2026-01-01T00:00:00Z", last_session_id: "s" }
      const service = FakeService.make({
        routes: {
          "/sessions/search": ({ cursor }) =>
            FakeService.json({ sessions: [summary], next_cursor: cursor === undefined ? next : null })
        }
      })
      const [first, second] = yield* withTinker(
        service,
        Effect.flatMap(rest, ({ searchSessions }) =>
          Effect.gen(function*() {
            const first = yield* searchSessions({ displayName: "run", status: "client_finished", limit: 1 })
            const second = yield* searchSessions({ cursor: first.nextCursor, userMetadata: { recipe: "sums" } })
            return [first, second] as const
          }))
      )
      assert.strictEqual(first.sessions[0]?.status?.reason?.type, "errored")
      assert.strictEqual(first.sessions[0]?.checkpointsCount, 3)
      assert.isNull(second.nextCursor)
      const bodies = service.received.filter(({ path }) => path === "/sessions/search").map(({ body }) => body)
      assert.deepStrictEqual(bodies, [
        { user_metadata: {}, limit: 1, display_name: "run", statuses: [{ type: "client_finished" }] },
        { user_metadata: { recipe: "sums" }, limit: 50, cursor: next }
      ])
    }))

  it.effect("searches sessions of other users, and of a project", () =>
    Effect.gen(function*() {
      const failed = {
        ...summary,
        status: {
          type: "failed",
          category: "user",
          message: "no such token",
          reason: { type: "request", request_id: "r", request_type: "sample" }
        },
        checkpoint_storage_bytes: 10
      }
      const service = FakeService.make({
        routes: { "/sessions/search": () => FakeService.json({ sessions: [failed], next_cursor: null }) }
      })
      const { sessions } = yield* withTinker(
        service,
        Effect.flatMap(rest, ({ searchSessions }) =>
          searchSessions({ sessionId: "s", projectIds: ["p"], owner: { urns: ["urn:ada"] } }))
      )
      assert.strictEqual(sessions[0]?.checkpointStorageBytes, 10)
      assert.strictEqual(sessions[0]?.status?.category, "user")
      assert.strictEqual(sessions[0]?.status?.reason?.requestId, "r")
      const [sent] = service.received.filter(({ path }) =>
        path === "/sessions/search"
      )
      assert.deepStrictEqual(sent?.body, {
        user_metadata: {},
        limit: 50,
        session_id: "s",
        project_ids: ["p"],
        owner: { type: "user", owner_urns: ["urn:ada"] }
      })
    }))

  it.effect("copies a checkpoint to a project, and returns the copy's path", () =>
    Effect.gen(function*() {
      const service = FakeService.make({
        routes: { "/copy_weights": () => FakeService.json({ tinker_path: "tinker://copy/weights/a" }) }
      })
      const path = yield* withTinker(
        service,
        Effect.flatMap(rest, ({ copyCheckpoint }) =>
          copyCheckpoint("tinker://run/weights/a", { projectId: "archive", ttl: "2 hours" }))
      )
      assert.strictEqual(path, "tinker://copy/weights/a")
      const [sent] = service.received.filter(({ path }) =>
        path === "/copy_weights"
      )
      assert.deepStrictEqual(sent?.body, {
        source_path: "tinker://run/weights/a",
        destination_project_id: "archive",
        ttl_seconds: 7200
      })
    }))

  it.effect("reports that a server does not support search", () =>
    Effect.gen(function*() {
      const service = FakeService.make({
        routes: { "/sessions/search": () => FakeService.json({ detail: "Not Found" }, 404) }
      })
      const { reason } = yield* withTinker(
        service,
        Effect.flatMap(rest, ({ searchSessions }) => Effect.flip(searchSessions()))
      )
      assert.strictEqual(reason._tag, "Unsupported")
    }))
})
