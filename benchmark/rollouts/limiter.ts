/** `AdaptiveLimiter` in virtual time before servers whose capacity it is not told, beside the best fixed number of requests. */
import { AdaptiveLimiter } from "@effect-rl/core"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import * as CliffServer from "../../packages/core/test/backend/CliffServer.ts"

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

const compared = Effect.forEach(servers, compare).pipe(Effect.provide(TestClock.layer()))
process.stdout.write(JSON.stringify(await Effect.runPromise(compared)))
