/** Ten minutes at full load, run by `npm run soak`; EFFECT_RL_SOAK_MINUTES changes the duration. */
import { LeakAudit } from "@effect-rl/core/testing"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Fiber, FileSystem, References, Schedule } from "effect"
import { FetchHttpClient, HttpServer } from "effect/http"
import * as Heap from "./Heap.ts"
import * as MixedLoad from "./MixedLoad.ts"
import * as Served from "./Served.ts"

const minutes = Number(process.env["EFFECT_RL_SOAK_MINUTES"] ?? 10)
const users = 4

/** Samples the heap after garbage collection six times a minute, until interrupted. */
const watched = (samples: Array<Heap.Sample>, start: number) =>
  Effect.map(Clock.currentTimeMillis, (now) => {
    samples.push({ minute: (now - start) / 60_000, mebibytes: Heap.used() })
  }).pipe(Effect.repeat(Schedule.spaced("10 seconds")))

const held = Effect.flatMap(LeakAudit.LeakAudit, ({ counts }) => Effect.map(counts, LeakAudit.live))

describe.skipIf(process.env["EFFECT_RL_SOAK"] === undefined)("a server under load", () => {
  it.live(
    `loses and leaks nothing in ${minutes} minutes, and its heap does not grow in the second half`,
    () =>
      Effect.gen(function*() {
        const fs = yield* FileSystem.FileSystem
        const folder = yield* fs.makeTempDirectoryScoped()
        const tally = MixedLoad.emptyTally()
        const samples: Array<Heap.Sample> = []
        yield* Effect.gen(function*() {
          const url = HttpServer.formatAddress((yield* HttpServer.HttpServer).address)
          const watching = yield* Effect.forkChild(watched(samples, yield* Clock.currentTimeMillis))
          const load = Effect.all(
            Array.from({ length: users }, (_, seed) => MixedLoad.user(url, tally, seed)),
            { concurrency: "unbounded" }
          )
          yield* Effect.timeoutOption(Effect.provide(load, FetchHttpClient.layer), `${minutes} minutes`)
          yield* Fiber.interrupt(watching)
          const counts = yield* held
          assert.deepStrictEqual(counts, {}, "clients of the backend")
        }).pipe(Effect.provide(Served.layer(folder)))
        const files = yield* fs.readDirectory(folder, { recursive: true })
        const left = files.filter((file) => /^[^.].*\/weights\/[^/]+$/.test(file))
        const rest = samples.filter(({ minute }) => minute >= minutes / 2)
        const growth = Heap.growth(rest)
        console.log(
          `${minutes} min, ${users} users: ${tally.begun} calls, ${tally.succeeded} succeeded, ${tally.cancelled} cancelled, `
            + `${tally.failed} failed, ${MixedLoad.lost(tally)} lost; heap ${
              samples.at(-1)?.mebibytes.toFixed(1)
            } MiB, `
            + `${growth.toFixed(2)} MiB a minute over the second half; ${left.length} checkpoints left`
        )
        assert.strictEqual(MixedLoad.lost(tally), 0)
        assert.strictEqual(tally.failed, 0)
        // Each user may be interrupted right after a save.
        assert.isAtMost(left.length, users)
        if (minutes >= 10) assert.isBelow(growth, 1)
      }).pipe(
        Effect.provideService(References.MinimumLogLevel, "None"),
        Effect.provide(NodeServices.layer)
      ),
    { timeout: 3_600_000 }
  )
})
