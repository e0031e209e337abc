/** Random schedules in virtual time, against the rules of `ScheduleRules`, and rules of scheduling that are wrong on purpose. */
import { Pace, RunRecord } from "@effect-rl/core"
import type { DynamicSampling } from "@effect-rl/core/program"
import * as Schedule from "@effect-rl/core/rl/Schedule"
import { Draw, Simulation } from "@effect-rl/core/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Option } from "effect"
import * as ScheduleRules from "./ScheduleRules.ts"
import * as Schedules from "./Schedules.ts"
import * as Task from "./Task.ts"

const replayed = process.env["EFFECT_RL_SEED"]
const count = process.env["EFFECT_RL_SOAK"] === undefined ? 600 : 10_000

interface Scenario {
  readonly seed: number
  readonly world: Schedules.World
  readonly pace: ScheduleRules.Story["pace"] & { readonly isStreaming: boolean }
  readonly dynamic: Required<DynamicSampling.DynamicSettings>
  readonly substeps: number
  readonly concurrency: number
  readonly saveEvery: number
}

/** One in 30 hangs, one in 10 takes 20 times as long as others. */
const drawGroup = (draw: Draw.Draw): Schedules.Group => ({
  seconds: draw.chance(1 / 30) ? undefined : draw.uniform() * (draw.chance(0.1) ? 40 : 2),
  isConstant: draw.chance(0.2)
})

const scenario = (seed: number): Scenario => {
  const draw = Draw.make(seed, "schedule")
  const size = draw.integer(1, 4)
  const dynamics = Draw.make(seed, "dynamic")
  const batch = () => Array.from({ length: draw.chance(0.8) ? size : draw.integer(1, 4) }, () => drawGroup(draw))
  return {
    seed,
    world: {
      batches: Array.from({ length: draw.integer(1, 6) }, batch),
      trainSeconds: draw.uniform(),
      publishSeconds: draw.chance(0.5) ? 0 : draw.uniform()
    },
    pace: {
      maxStepsOffPolicy: draw.integer(0, 3),
      onStale: draw.oneOf(["train", "wait", "drop"]),
      removeConstantRewardGroups: draw.chance(0.4),
      isStreaming: draw.chance(0.4),
      minibatches: draw.integer(1, 3)
    },
    dynamic: {
      minInformative: dynamics.chance(0.3) ? dynamics.integer(1, 5) : 0,
      maxBatches: dynamics.integer(1, 3)
    },
    substeps: draw.integer(1, 2),
    concurrency: draw.oneOf([64, 64, 2, 1]),
    saveEvery: draw.integer(0, 2)
  }
}

/** How long an interruption waits for an update, and then for what is left to be saved. */
const interruptSeconds = 20
const shutdownSeconds = 2 * interruptSeconds

const settingsOf = ({ concurrency, dynamic, saveEvery, substeps }: Scenario) => ({
  overrides: {
    rollout: { concurrency, groupTimeout: "1 minute", ...(dynamic.minInformative > 0 && { dynamic }) },
    update: { substeps },
    run: { saveEvery, interruptTimeout: `${interruptSeconds} seconds` }
  } as const
})

const paceOf = ({ pace: { isStreaming, minibatches, ...settings } }: Scenario) =>
  Pace.async({ ...settings, ...(isStreaming ? { minibatches } : {}) })

/** Groups without a signal are filtered where enough others are sampled for. */
const effective = (pace: Scenario["pace"], { minInformative }: Scenario["dynamic"]) => ({
  ...pace,
  removeConstantRewardGroups: pace.removeConstantRewardGroups || minInformative > 0
})

const storyOf = (
  { dynamic, pace, world }: Scenario,
  { records, seen }: Pick<ScheduleRules.Story, "records" | "seen">,
  isOver: boolean
): ScheduleRules.Story => ({
  world,
  pace: effective(pace, dynamic),
  dynamic,
  records: RunRecord.current(records),
  seen,
  isOver
})

/** What is wrong with a run to its end, if anything is. */
const play = Effect.fnUntraced(function*(scenario: Scenario, rules?: typeof Schedule.rules) {
  const settings = { ...settingsOf(scenario), seed: scenario.seed, ...(rules === undefined ? {} : { rules }) }
  const ran = yield* Schedules.run(scenario.world, paceOf(scenario), settings)
  const { exit, hang, leakedFibers } = ran.simulation
  const isOver = Option.isSome(exit) && Exit.isSuccess(exit.value)
  return [
    ...(Option.isSome(hang) ? ["it hangs"] : []),
    ...(isOver ? [] : [`it ends with ${String(exit)}`]),
    ...(leakedFibers > 0 || Object.keys(ran.held).length > 0
      ? [`it leaves ${leakedFibers} fibers and ${JSON.stringify(ran.held)}`]
      : []),
    ...ScheduleRules.broken(storyOf(scenario, ran, isOver))
  ]
})

const seeds = replayed === undefined ? Array.from({ length: count }, (_, seed) => seed) : [Number(replayed)]

it.live(
  `${seeds.length} random schedules train on every group once and on none too old`,
  () =>
    Effect.gen(function*() {
      const failed: Array<string> = []
      for (const seed of seeds) {
        const broken = yield* play(scenario(seed))
        if (broken.length > 0) failed.push([`EFFECT_RL_SEED=${seed}:`, ...broken.slice(0, 5)].join("\n  ✗ "))
      }
      assert.isEmpty(failed, `${failed.length} of ${seeds.length} schedules:\n${failed.slice(0, 5).join("\n\n")}`)
    }),
  3_600_000
)

it.live(
  `${seeds.length / 4} schedules that are interrupted end within their deadline and hold nothing`,
  () =>
    Effect.gen(function*() {
      const failed: Array<string> = []
      for (const seed of seeds.slice(0, Math.ceil(seeds.length / 4))) {
        const drawn = scenario(seed)
        const draw = Draw.make(seed, "interruption")
        const trainSeconds = draw.chance(0.3) ? 3600 : drawn.world.trainSeconds
        const chosen = { ...drawn, world: { ...drawn.world, trainSeconds } }
        const options = { interruptAfter: draw.integer(1, 1500) }
        const ran = yield* Schedules.run(chosen.world, paceOf(chosen), { ...settingsOf(chosen), seed, options })
        const { exit, interruptedAt, leakedFibers, millis } = ran.simulation
        const seconds = Option.match(interruptedAt, { onNone: () => 0, onSome: (at) => (millis - at) / 1000 })
        const broken = [
          ...(Option.isNone(exit) ? ["it does not end"] : []),
          ...(seconds > shutdownSeconds ? [`it ends ${seconds} seconds after it was interrupted`] : []),
          ...(leakedFibers > 0 ? [`it leaves ${leakedFibers} fibers`] : []),
          ...(Object.keys(ran.held).length > 0 ? [`it holds ${JSON.stringify(ran.held)}`] : []),
          ...ScheduleRules.broken(storyOf(chosen, ran, false))
        ]
        if (broken.length > 0) failed.push([`EFFECT_RL_SEED=${seed}:`, ...broken.slice(0, 5)].join("\n  ✗ "))
      }
      assert.isEmpty(failed, `${failed.length} schedules:\n${failed.slice(0, 5).join("\n\n")}`)
    }),
  3_600_000
)

/** What an update was made of, and its numbers, but for times and tokens in all. */
const updatesOf = (records: ReadonlyArray<RunRecord.RunRecord>) => [
  ...records.filter(RunRecord.guards.Credited).map(({ datums, groups, iteration }) =>
    [`the groups of iteration ${iteration}`, JSON.stringify({ datums, groups })] as const
  ),
  ...records.filter(RunRecord.guards.Updated).map(({ iteration, metrics, updates }) => {
    const numbers = Object.entries(metrics).filter(([name]) => !/^(time|tokens\/total)/.test(name))
    const passes = updates.map(({ passes }) => passes.map(({ datums, tokens }) => [datums, tokens]))
    return [`the update of iteration ${iteration}`, JSON.stringify({ numbers, passes })] as const
  })
]

/** A run that is killed without warning, each time after so many tasks, and then resumed to its end. */
const resumed = Effect.fnUntraced(function*(scenario: Scenario, crashes: ReadonlyArray<number>) {
  const { seed, world } = scenario
  const seen = Schedules.unseen()
  const training = Schedules.training(world, paceOf(scenario), settingsOf(scenario), seen)
  return yield* Effect.gen(function*() {
    for (const [index, crashAfter] of crashes.entries()) {
      yield* Simulation.run(seed + index, training, { deadline: "30 days", crashAfter })
    }
    const before = yield* Task.records
    const openedBefore = seen.opened.length
    const { exit, hang } = yield* Simulation.run(seed + crashes.length, training, { deadline: "30 days" })
    const all = yield* Task.records
    const isOver = Option.isSome(exit) && Exit.isSuccess(exit.value)
    const opened = seen.opened.slice(openedBefore)
    const again = new Set(opened.map(({ key }) => key))
    const last = new Map(updatesOf(all))
    const story = { records: all, seen: { ...seen, opened } }
    return [
      ...(Option.isSome(hang) ? ["it hangs"] : []),
      ...(isOver ? [] : [`it ends with ${String(exit)}`]),
      ...before.filter(RunRecord.guards.GroupRolledOut).flatMap(({ key }) =>
        again.has(key) ? [`group ${key} is sampled again`] : []
      ),
      ...updatesOf(all).flatMap(([name, update]) => update === last.get(name) ? [] : [`${name} was another one`]),
      ...ScheduleRules.broken(storyOf(scenario, story, isOver))
    ]
  }).pipe(Effect.provide(Schedules.backend(world, seen), { local: true }))
})

it.live(
  `${seeds.length / 4} schedules that are killed, half of them twice, go on as recorded`,
  () =>
    Effect.gen(function*() {
      const failed: Array<string> = []
      for (const seed of seeds.slice(0, Math.ceil(seeds.length / 4))) {
        const draw = Draw.make(seed, "kill")
        const first = draw.integer(1, 1500)
        const crashes = draw.chance(0.5) ? [first] : [first, draw.integer(1, 1500)]
        const broken = yield* resumed(scenario(seed), crashes)
        if (broken.length > 0) failed.push([`EFFECT_RL_SEED=${seed}:`, ...broken.slice(0, 5)].join("\n  ✗ "))
      }
      assert.isEmpty(failed, `${failed.length} schedules:\n${failed.slice(0, 5).join("\n\n")}`)
    }),
  3_600_000
)

/** Rules that differ from a pace's own in one respect. */
const wrong = (change: (rules: Schedule.Rules) => Partial<Schedule.Rules>): typeof Schedule.rules => (pace, until) => {
  const rules = Schedule.rules(pace, until)
  return { ...rules, ...change(rules) }
}

const mutants: Readonly<Record<string, typeof Schedule.rules>> = {
  "begins groups one iteration too early": wrong(({ horizon }) => ({ horizon: (iteration) => horizon(iteration) + 1 })),
  "keeps groups that are one iteration too old": wrong(({ isStale }) => ({
    isStale: (group, iteration) => isStale(group, iteration - 1)
  })),
  "drops groups that are not too old": wrong(({ isStale }) => ({
    isStale: (group, iteration) => isStale(group, iteration + 1)
  })),
  "does not wait for groups on their way": wrong(({ batch }) => ({
    batch: (collecting) => batch({ ...collecting, inFlight: [] })
  })),
  "gives away places that groups on their way will need": wrong(({ batch }) => ({
    batch: (collecting) => batch({ ...collecting, size: () => Infinity })
  })),
  "trains on the newest first": wrong(() => ({
    batch: ({ ended, places }) =>
      ended.length < places ? undefined : ended.toSorted((a, b) => b.began - a.began).slice(0, places)
  })),
  "fills the update's places with what has ended": wrong(({ next }) => ({
    next: (collecting) => next({ ...collecting, inFlight: [] })
  })),
  "trains on what is filtered": wrong(() => ({ isFiltered: () => false })),
  "filters a group with a signal": wrong(() => ({ isFiltered: () => true })),
  "trains on one group less": wrong(({ batch }) => ({
    batch: (collecting) => batch({ ...collecting, places: Math.max(1, collecting.places - 1) })
  }))
}

describe("the rules catch a schedule that", () => {
  for (const [mistake, rules] of Object.entries(mutants)) {
    it.live(mistake, () =>
      Effect.gen(function*() {
        for (let seed = 0; seed < 200; seed++) {
          if ((yield* play(scenario(seed), rules)).length > 0) return
        }
        assert.fail("200 schedules, and no rule was broken")
      }), 120_000)
  }
})
