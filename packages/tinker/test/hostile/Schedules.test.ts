/** Ten thousand ways for a service to be hostile, in virtual time. */
import { Draw, Simulation } from "@effect-rl/core/testing"
import { TinkerHttp } from "@effect-rl/tinker"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Duration, Effect, Exit, Layer, Option, Random, Redacted, References } from "effect"
import * as HonestService from "./HonestService.ts"
import * as Mischief from "./Mischief.ts"
import * as VirtualNetwork from "./VirtualNetwork.ts"
import * as Workload from "./Workload.ts"

const deadline = Duration.minutes(5)

const connect = (network: VirtualNetwork.VirtualNetwork) =>
  Layer.provide(
    TinkerHttp.layerOptions({ baseUrl: "http://hostile", apiKey: Redacted.make("tml-test"), deadline }),
    network.layer
  )

/** In some schedules the program is interrupted at a task drawn from the seed. */
const interruption = (seed: number) => {
  const draw = Draw.make(seed, "interruption")
  return draw.chance(0.15) ? { interruptAfter: draw.integer(1, 4000) } : {}
}

interface Outcome {
  readonly seed: number
  readonly violations: ReadonlyArray<string>
  readonly network: VirtualNetwork.VirtualNetwork
  /** None where the session could not be opened, or the program was interrupted. */
  readonly report: Option.Option<Workload.Report>
}

const simulate = Effect.fnUntraced(function*(seed: number): Effect.fn.Return<Outcome> {
  const service = HonestService.make()
  const network = VirtualNetwork.make(service, Mischief.schedule(seed))
  const program = Workload.workload.pipe(
    Effect.provide(connect(network)),
    Effect.provideService(References.MinimumLogLevel, "None"),
    Random.withSeed(seed)
  )
  const { exit, hang, leakedFibers } = yield* Simulation.run(seed, program, {
    deadline: "12 hours",
    ...interruption(seed)
  })
  const report = Option.flatMap(exit, Exit.getSuccess)
  return {
    seed,
    network,
    report,
    violations: [
      ...Option.match(hang, { onNone: () => [], onSome: ({ millis }) => [`hangs at ${millis} ms`] }),
      ...Option.match(exit, { onNone: () => ["does not end"], onSome: untyped }),
      ...Option.match(report, {
        onNone: () => [],
        onSome: (report) => Workload.violations(report, service.deeds, deadline)
      }),
      ...(leakedFibers === 0 ? [] : [`${leakedFibers} fibers leaked`]),
      ...(network.open() === 0 ? [] : [`${network.open()} requests left open`])
    ]
  }
})

const untyped = (exit: Exit.Exit<unknown, unknown>) =>
  Exit.isSuccess(exit) || exit.cause.reasons.every(({ _tag }) => _tag !== "Die") ? [] : [Cause.pretty(exit.cause)]

const story = ({ network, seed, violations }: Outcome) =>
  [
    `seed ${seed}: ${violations.join("; ")}`,
    ...network.trace,
    `Again with EFFECT_RL_HOSTILE_SEED=${seed} npx vitest run packages/tinker/test/hostile`
  ].join("\n")

const done = (outcomes: ReadonlyArray<Outcome>, kind: Mischief.Mischief["_tag"]) =>
  outcomes.reduce((total, { network }) => total + (network.done.get(kind) ?? 0), 0)

/** Operations of which some ended so. */
const endings = (outcomes: ReadonlyArray<Outcome>, so: (exit: Exit.Exit<unknown, unknown>) => boolean) =>
  new Set(
    outcomes.flatMap(({ report }) => Option.toArray(report)).flatMap((report) => report.outcomes)
      .filter(({ exit }) => so(exit)).map(({ operation }) => operation)
  )

const only = process.env["EFFECT_RL_HOSTILE_SEED"]
const soak = process.env["EFFECT_RL_SOAK"] !== undefined
const seeds = only === undefined ? Array.from({ length: soak ? 10_000 : 200 }, (_, seed) => seed) : [Number(only)]

describe("a hostile service", () => {
  it.effect(`meets with ${seeds.length} schedules and gets nowhere`, () =>
    Effect.gen(function*() {
      const outcomes = yield* Effect.forEach(seeds, simulate)
      const bad = outcomes.filter(({ violations }) => violations.length > 0)
      assert.strictEqual(bad.length, 0, bad.slice(0, 3).map(story).join("\n\n"))
      if (only !== undefined) return
      for (const kind of Mischief.kinds) assert.isAbove(done(outcomes, kind), seeds.length, kind)
      assert.sameMembers([...endings(outcomes, Exit.isSuccess)], Workload.operations)
      assert.sameMembers(
        [...endings(outcomes, Exit.isFailure)],
        Workload.operations.filter((name) => name !== "unload")
      )
    }), { timeout: 3_600_000 })
})
