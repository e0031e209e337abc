import { assert, describe, it } from "@effect/vitest"
import { DateTime, Effect } from "effect"
import { asking } from "./Asking.ts"
import * as FakeService from "./FakeService.ts"

const start = DateTime.makeUnsafe("2026-01-01T00:00:00Z")
const bucket = { bucket_start: "2026-01-01T00:00:00Z", bucket_end: "2026-01-01T01:00:00Z" }

describe("a service's usage", () => {
  it.effect("is reported per hour, with its cost if known", () =>
    Effect.gen(function*() {
      const { answer, asked } = yield* asking(
        {
          "/billing/usage/events": () =>
            FakeService.json({
              data: [
                {
                  ...bucket,
                  estimated_cost_usd: 0.25,
                  effective_rate_usd_per_million_tokens: 0.5,
                  event_info: { type: "sampling_prefill", cached: true, token_count: 500_000 }
                },
                { ...bucket, event_info: { type: "storage", free: true, gigabyte_hours: 0.5 } }
              ],
              sessions: { a: { user_metadata: { run: "one" } } },
              cost_data_through: "2026-01-01T00:00:00Z"
            })
        },
        (rest) => rest.getBillingUsage(start, DateTime.add(start, { days: 1 }))
      )
      assert.deepStrictEqual(answer.data.map(({ estimatedCostUsd, event }) => [estimatedCostUsd, event]), [
        [0.25, { type: "sampling_prefill", cached: true, tokenCount: 500_000 }],
        [undefined, { type: "storage", free: true, gigabyteHours: 0.5 }]
      ])
      assert.deepStrictEqual(answer.costDataThrough, start)
      assert.deepStrictEqual(asked.map(({ query }) => query), [
        { starting_on: "2026-01-01T00:00:00.000Z", ending_before: "2026-01-02T00:00:00.000Z" }
      ])
    }))

  it.effect("is reported for the stored checkpoints, by project and owner", () =>
    Effect.gen(function*() {
      const { answer, asked } = yield* asking(
        {
          "/billing/usage/checkpoints/current": () =>
            FakeService.json({
              effective_rate_usd_per_gigabyte_month: 0.1,
              data: [{
                project_id: "p",
                org_user_urn: "urn:ada",
                user_email: null,
                user_name: "ada",
                checkpoint_count: 2,
                size_bytes: 3_000_000_000,
                size_gigabytes: 3,
                estimated_monthly_cost_usd: 0.3
              }]
            })
        },
        (rest) => rest.getCheckpointStorage({ projectId: "p" })
      )
      assert.deepStrictEqual(answer, {
        usdPerGigabyteMonth: 0.1,
        data: [{
          projectId: "p",
          userUrn: "urn:ada",
          userEmail: null,
          userName: "ada",
          checkpointCount: 2,
          sizeBytes: 3_000_000_000,
          sizeGigabytes: 3,
          estimatedMonthlyCostUsd: 0.3
        }]
      })
      assert.deepStrictEqual(asked.map(({ query }) => query), [{ project_id: "p" }])
    }))

  it.effect("is reported as events with their subjects", () =>
    Effect.gen(function*() {
      const event = {
        timestamp: "2026-01-01T00:00:00Z",
        event: "project_grant_set",
        event_details: { project: "p", by: "ada" }
      }
      const { answer, asked } = yield* asking(
        { "/audit": () => FakeService.json({ entries: [event] }) },
        (rest) => rest.getAuditLog({ day: "2026-01-01", eventType: "projects" })
      )
      const [{ details, event: name } = { details: undefined, event: "" }] = answer.entries
      assert.deepStrictEqual([name, details], ["project_grant_set", { project: "p", by: "ada" }])
      assert.deepStrictEqual(asked.map(({ query }) => query), [{ day: "2026-01-01", event_type: "projects" }])
    }))
})
