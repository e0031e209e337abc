/** Runs `AdaptiveLimiter` in virtual time against servers of unknown capacity, and compares it with the best fixed number of requests. */
import { AdaptiveLimiter } from "@effect-rl/core/backend"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import * as CliffServer from "../../packages/core/test/backend/CliffServer.ts"
import * as Report from "../Report.ts"

const servers = [
  { capacity: 8, backlog: 0, seed: 3 },
  { capacity: 50, backlog: 0, seed: 3 },
  { capacity: 200, backlog: 0, seed: 3 },
  { capacity: 50, backlog: 100, seed: 3 },
  { capacity: 50, backlog: 1000, seed: 3 }
]
const requestsPerSequence = 120
const crowd = 2000

const compare = Effect.fnUntraced(function*(server: CliffServer.Options) {
  const requests = requestsPerSequence * server.capacity
  const settings = [0.8, 1, 1.2].map((share) => Math.round(share * server.capacity))
  const fixed = yield* Effect.forEach(settings, (setting) => CliffServer.fixed(server, requests, setting))
  const { millis, rejected } = yield* CliffServer.adaptive(yield* AdaptiveLimiter.make, server, requests, crowd)
  return { ...server, requests, share: Math.min(...fixed) / millis, rejected }
}, Effect.scoped)

const compared = await Effect.runPromise(
  Effect.forEach(servers, compare).pipe(Effect.provide(TestClock.layer()))
)
const rows = compared.map(({ backlog, capacity, rejected, requests, share }) => [
  `${capacity}`,
  `${backlog}`,
  `${requests}`,
  `${(100 * share).toFixed(1)} %`,
  `${(100 * rejected).toFixed(2)} %`
])

Report.publish("limiter", "A limiter before a hidden capacity", [
  `The simulation runs in virtual time, which other programs cannot slow down. ${crowd} concurrent callers request 16 to 64 tokens each, starting
with the limiter's first request. The server computes \`capacity\` sequences at the same time, queues \`backlog\` more and rejects the rest.
Throughput is relative to the best of three fixed limits: 0.8, 1 and 1.2 times the capacity.`,
  Report.table(["capacity", "backlog", "requests", "of the best fixed throughput", "turned away"], rows),
  [
    Report.aim("lowest throughput", 100 * Math.min(...compared.map(({ share }) => share)), " %", "at least", 90),
    Report.aim(
      "most rejected requests",
      100 * Math.max(...compared.map(({ rejected }) => rejected)),
      " %",
      "at most",
      1
    )
  ].join("\n")
])
