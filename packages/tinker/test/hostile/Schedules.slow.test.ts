/** Thousands of hostile schedules of a service, in virtual time. */
import { Draw, Simulation } from "@effect-rl/core/testing"
import { TinkerHttp } from "@effect-rl/tinker"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Duration, Effect, Exit, Layer, Option, Random, Redacted, References } from "effect"
import * as Encounter from "./Encounter.ts"
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

/** In some schedules the program is interrupted at a random task. */
const interruption = (seed: number) => {
  const draw = Draw.make(seed, "interruption")
  return draw.chance(0.15) ? { interruptAfter: draw.integer(1, 1000) } : {}
}

interface Outcome {
  /** The trace of the schedule if something went wrong. */
  readonly story: Option.Option<string>
  readonly requests: number
  readonly mischief: ReadonlyMap<Mischief.Mischief["_tag"], number>
  /** How calls ended, such as `sample: Failure`. */
  readonly endings: ReadonlyArray<string>
}

const died = (exit: Exit.Exit<unknown, unknown>) =>
  Exit.isFailure(exit) && exit.cause.reasons.some(Cause.isDieReason) ? [Cause.pretty(exit.cause)] : []

const simulate = Effect.fnUntraced(function*(seed: number): Effect.fn.Return<Outcome> {
  const wishes = Draw.make(seed, "wishes")
  const service = HonestService.make({
    parallel_fwdbwd_chunks: wishes.chance(0.5),
    sample_use_retrieve_futures: wishes.chance(0.5)
  })
  const encounter = Encounter.make(service, Mischief.schedule(seed))
  const network = VirtualNetwork.make(encounter)
  const program = Workload.workload.pipe(
    Effect.provide(connect(network)),
    Effect.provideService(References.MinimumLogLevel, "None"),
    Random.withSeed(seed)
  )
  const { exit, hang, leakedFibers } = yield* Simulation.run(seed, program, {
    deadline: "12 hours",
    ...interruption(seed)
  })
  const deeds = yield* service.deeds
  const report = Option.getOrUndefined(Option.flatMap(exit, Exit.getSuccess))
  const violations = [
    ...Option.match(hang, { onNone: () => [], onSome: ({ millis }) => [`hangs at ${millis} ms`] }),
    ...Option.match(exit, { onNone: () => ["does not end"], onSome: died }),
    ...(report === undefined ? [] : Workload.violations(report, deeds, deadline)),
    ...Workload.disorder(deeds),
    ...(leakedFibers === 0 ? [] : [`${leakedFibers} fibers leaked`]),
    ...(network.open() === 0 ? [] : [`${network.open()} requests left open`])
  ]
  return {
    requests: encounter.trace.length,
    mischief: encounter.done,
    endings: report?.outcomes.map(({ exit, operation }) => `${operation}: ${exit._tag}`) ?? [],
    story: violations.length === 0 ? Option.none() : Option.some([
      `seed ${seed}: ${violations.join("; ")}`,
      ...encounter.trace,
      `Again with EFFECT_RL_HOSTILE_SEED=${seed} npx vitest run packages/tinker/test/hostile`
    ].join("\n"))
  }
})

/** The first stories in full, and only the violations of the others. */
const told = (stories: ReadonlyArray<string>) =>
  stories.map((story, index) => index < 3 ? `${story}\n` : story.split("\n", 1).join()).join("\n")

/** Statistics of a soak run. */
const summary = (outcomes: ReadonlyArray<Outcome>) => {
  const sum = (count: (outcome: Outcome) => number) => outcomes.reduce((total, outcome) => total + count(outcome), 0)
  const ended = (how: string) => sum(({ endings }) => endings.filter((ending) => ending.endsWith(how)).length)
  const mischief = sum(({ mischief }) => [...mischief.values()].reduce((total, times) => total + times, 0))
  return `${sum(({ requests }) => requests)} requests, ${mischief} of them to mischief; `
    + `${ended("Success")} calls succeeded, ${ended("Failure")} failed`
}

const only = process.env["EFFECT_RL_HOSTILE_SEED"]
const soak = process.env["EFFECT_RL_SOAK"] !== undefined
/** Seeds that once violated a law or never ended. */
const notorious = [596, 1124, 5438]
const first = (count: number) => Array.from({ length: count }, (_, seed) => seed)
const all = soak ? first(10_000) : [...first(200), ...notorious]
const seeds = only === undefined ? all : [Number(only)]

describe("a hostile service", () => {
  it.effect(`never breaks a guarantee of the client in ${seeds.length} schedules`, () =>
    Effect.gen(function*() {
      const outcomes = yield* Effect.forEach(seeds, simulate)
      const stories = outcomes.flatMap(({ story }) => Option.toArray(story))
      assert.strictEqual(stories.length, 0, told(stories))
      if (only !== undefined) return
      if (soak) console.log(summary(outcomes))
      for (const kind of Mischief.kinds) {
        const times = outcomes.reduce((total, { mischief }) => total + (mischief.get(kind) ?? 0), 0)
        assert.isAbove(times, seeds.length, kind)
      }
      const endings = new Set(outcomes.flatMap(({ endings }) => endings))
      for (const operation of Workload.operations) assert.include(endings, `${operation}: Success`)
      for (const operation of Workload.fallible) assert.include(endings, `${operation}: Failure`)
    }), { timeout: 3_600_000 })
})
