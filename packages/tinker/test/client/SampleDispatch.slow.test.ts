import * as SampleResult from "@effect-rl/tinker/wire/SampleResult"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { request, sampler } from "./Calls.ts"
import { withTinker } from "./Elapse.ts"
import * as FakeService from "./FakeService.ts"

describe("ten thousand samples at once", () => {
  it.effect("are all answered by a slow service with little capacity", () =>
    Effect.gen(function*() {
      const count = 10_000
      let open = 0
      let most = 0
      let refused = 0
      const answered = new Map<string, number>()
      /** Answers every request after two seconds. Some posts are told to slow down, and a quarter of the samples take two polls. */
      const service = FakeService.make({
        routes: {
          "/asample": ({ seq_id }, { at }) => {
            if (++refused % 3 === 0 && refused < 30) return FakeService.json({ detail: "slow down" }, 429)
            answered.set(`sample-${seq_id}`, at)
            return FakeService.json({ request_id: `sample-${seq_id}` })
          },
          "/retrieve_future": ({ request_id }, { at }) => {
            const id = String(request_id)
            const posted = answered.get(id)
            if (posted === undefined) return undefined
            const token = Number(id.slice("sample-".length))
            const isReady = token % 4 !== 0 || at - posted >= 3000
            if (!isReady) return FakeService.json({ type: "try_again", request_id: id }, 408)
            const sequence = {
              tokens: Int32Array.of(token),
              logprobs: Float32Array.of(-1),
              stopReason: "stop" as const
            }
            return new Response(new Uint8Array(SampleResult.encode({ sequences: [sequence] })), {
              headers: { "content-type": "application/x-protobuf" }
            })
          }
        },
        delay: (path) => path === "/asample" || path === "/retrieve_future" ? "2 seconds" : undefined,
        observe: (change) => {
          open += change
          most = Math.max(most, open)
        }
      })
      const started = yield* Clock.currentTimeMillis
      const samples = yield* withTinker(
        service,
        Effect.flatMap(
          sampler,
          (client) =>
            Effect.all(Array.from({ length: count }, () => client.sample(request)), { concurrency: "unbounded" })
        ),
        { maxConnections: 256, deadline: "1 hour" }
      )
      const tokens = new Set(samples.map(({ sequences }) => sequences[0]?.tokens[0]))
      assert.strictEqual(samples.length, count)
      assert.strictEqual(tokens.size, count)
      assert.isAtMost(most, 256)
      assert.isAtLeast(most, 200)
      assert.isAtMost((yield* Clock.currentTimeMillis) - started, 3_600_000)
    }))
})
