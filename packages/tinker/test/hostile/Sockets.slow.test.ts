/** Hostile schedules over real sockets. Time is real, so only what happens is checked, not when. */
import { TinkerHttp } from "@effect-rl/tinker"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Exit, Layer, Metric, Redacted, References, type Scope } from "effect"
import { FetchHttpClient } from "effect/http"
import * as Encounter from "./Encounter.ts"
import * as HonestService from "./HonestService.ts"
import * as Mischief from "./Mischief.ts"
import * as OwnServer from "./OwnServer.ts"
import * as SocketNetwork from "./SocketNetwork.ts"
import * as Workload from "./Workload.ts"

/** Scales minutes to tenths of seconds. */
const pace = 1 / 600

const connect = (baseUrl: string) =>
  Layer.provide(
    TinkerHttp.layerOptions({ baseUrl, apiKey: Redacted.make("tml-test"), deadline: "3 seconds" }),
    FetchHttpClient.layer
  )

/** Counts the fibers of a program that are still running. */
const counted = <A, E, R>(program: Effect.Effect<A, E, R>) =>
  Effect.gen(function*() {
    let live = 0
    const metrics: Metric.FiberRuntimeMetricsService = {
      recordFiberStart: () => void live++,
      recordFiberEnd: () => void live--
    }
    const exit = yield* Effect.exit(Effect.provideService(program, Metric.FiberRuntimeMetrics, metrics))
    return { exit, live }
  })

const meet = (make: Effect.Effect<HonestService.HonestService, unknown, Scope.Scope>) =>
  Effect.fnUntraced(function*(seed: number) {
    const service = yield* make
    const encounter = Encounter.make(service, Mischief.schedule(seed), { pace })
    const network = yield* SocketNetwork.make(encounter)
    const program = Workload.workload.pipe(
      Effect.provide(connect(network.baseUrl)),
      Effect.provideService(References.MinimumLogLevel, "None")
    )
    const { exit, live } = yield* counted(program)
    const left = yield* network.left
    const deeds = yield* service.deeds
    const violations = [
      ...(Exit.isSuccess(exit) ? Workload.violations(exit.value, deeds, Duration.infinity) : []),
      ...Workload.disorder(deeds),
      ...(live === 0 ? [] : [`${live} fibers leaked`]),
      ...(left === 0 ? [] : [`${left} connections left open`])
    ]
    return {
      endings: Exit.isSuccess(exit)
        ? exit.value.outcomes.map(({ exit, operation }) => `${operation}: ${exit._tag}`)
        : [],
      story: violations.length === 0 ? [] : [[
        `seed ${seed}: ${violations.join("; ")}`,
        ...encounter.trace,
        `Again with EFFECT_RL_HOSTILE_SEED=${seed} npx vitest run packages/tinker/test/hostile`
      ].join("\n")]
    }
  }, Effect.scoped)

const only = process.env["EFFECT_RL_HOSTILE_SEED"]
const soak = process.env["EFFECT_RL_SOAK"] !== undefined
const seeds = only === undefined ? Array.from({ length: soak ? 200 : 10 }, (_, seed) => seed) : [Number(only)]

const services = [
  { name: "an honest service", make: Effect.sync(() => HonestService.make({ proto_compress_fwdbwd: true })) },
  { name: "this project's server", make: OwnServer.make }
]

describe("a hostile network of sockets", () => {
  it.live.each(services)(
    `breaks no guarantee between the client and $name in ${seeds.length} runs`,
    ({ make }) =>
      Effect.gen(function*() {
        const outcomes = yield* Effect.forEach(seeds, meet(make), { concurrency: 10 })
        const stories = outcomes.flatMap(({ story }) => story)
        assert.strictEqual(stories.length, 0, stories.slice(0, 3).join("\n\n"))
        if (only !== undefined) return
        const endings = outcomes.flatMap(({ endings }) => endings).join()
        assert.include(endings, "Success")
        assert.include(endings, "Failure")
      }),
    { timeout: 1_800_000 }
  )
})
