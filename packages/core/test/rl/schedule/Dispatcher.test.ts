/**
 * Checks whole runs with random schedules, in virtual time, against the rules of `ScheduleRules`. `Dispatch.test.ts` checks many more
 * without runs.
 */
import { Pace, RunRecord } from "@effect-rl/core"
import { Draw, Simulation } from "@effect-rl/core/testing"
import { assert, it } from "@effect/vitest"
import { Effect, Exit, Option } from "effect"
import * as Task from "../Task.ts"
import * as Scenario from "./Scenario.ts"
import * as ScheduleRules from "./ScheduleRules.ts"
import * as Schedules from "./Schedules.ts"

const replayed = process.env["EFFECT_RL_SEED"]
const count = process.env["EFFECT_RL_SOAK"] === undefined ? 40 : 600

/** The time in seconds for which an interruption waits for an update, and then for saving. */
const interruptSeconds = 20
const shutdownSeconds = 2 * interruptSeconds

const settingsOf = ({ concurrency, dynamic, saveEvery, substeps }: Scenario.Scenario) => ({
  overrides: {
    rollout: { concurrency, groupTimeout: "1 minute", ...(dynamic.minInformative > 0 && { dynamic }) },
    update: { substeps },
    run: { saveEvery, interruptTimeout: `${interruptSeconds} seconds` }
  } as const
})

const paceOf = ({ pace: { isStreaming, minibatches, ...settings } }: Scenario.Scenario) =>
  Pace.async({ ...settings, ...(isStreaming ? { minibatches } : {}) })

/** The violations of a complete run. */
const play = Effect.fnUntraced(function*(scenario: Scenario.Scenario) {
  const settings = { ...settingsOf(scenario), seed: scenario.seed }
  const ran = yield* Schedules.run(scenario.world, paceOf(scenario), settings)
  const { exit, hang, leakedFibers } = ran.simulation
  const isOver = Option.isSome(exit) && Exit.isSuccess(exit.value)
  return [
    ...(Option.isSome(hang) ? ["it hangs"] : []),
    ...(isOver ? [] : [`it ends with ${String(exit)}`]),
    ...(leakedFibers > 0 || Object.keys(ran.held).length > 0
      ? [`it leaves ${leakedFibers} fibers and ${JSON.stringify(ran.held)}`]
      : []),
    ...ScheduleRules.broken(Scenario.story(scenario, ran, isOver)),
    ...ScheduleRules.brokenTurns(scenario.pace, ran.results)
  ]
})

const seeds = replayed === undefined ? Array.from({ length: count }, (_, seed) => seed) : [Number(replayed)]

it.live(
  `${seeds.length} random schedules train on every group once and on none too old`,
  () =>
    Effect.gen(function*() {
      const failed: Array<string> = []
      for (const seed of seeds) {
        const broken = yield* play(Scenario.make(seed))
        if (broken.length > 0) failed.push([`EFFECT_RL_SEED=${seed}:`, ...broken.slice(0, 5)].join("\n  ✗ "))
      }
      assert.isEmpty(failed, `${failed.length} of ${seeds.length} schedules:\n${failed.slice(0, 5).join("\n\n")}`)
    }),
  3_600_000
)

it.live(
  `${seeds.length / 4} schedules that are interrupted end within their deadline and leak nothing`,
  () =>
    Effect.gen(function*() {
      const failed: Array<string> = []
      for (const seed of seeds.slice(0, Math.ceil(seeds.length / 4))) {
        const drawn = Scenario.make(seed)
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
          ...ScheduleRules.broken(Scenario.story(chosen, ran, false))
        ]
        if (broken.length > 0) failed.push([`EFFECT_RL_SEED=${seed}:`, ...broken.slice(0, 5)].join("\n  ✗ "))
      }
      assert.isEmpty(failed, `${failed.length} schedules:\n${failed.slice(0, 5).join("\n\n")}`)
    }),
  3_600_000
)

/** The violations of a run that crashes after each of these numbers of tasks and is then resumed to its end. */
const resumed = Effect.fnUntraced(function*(scenario: Scenario.Scenario, crashes: ReadonlyArray<number>) {
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
    const last = new Map(Scenario.updatesOf(all))
    const story = { records: all, seen: { ...seen, opened } }
    return [
      ...(Option.isSome(hang) ? ["it hangs"] : []),
      ...(isOver ? [] : [`it ends with ${String(exit)}`]),
      ...before.filter(RunRecord.guards.GroupRolledOut).flatMap(({ key }) =>
        again.has(key) ? [`group ${key} is sampled again`] : []
      ),
      ...Scenario.updatesOf(all).flatMap(([name, update]) =>
        update === last.get(name) ? [] : [`${name} was another one`]
      ),
      ...ScheduleRules.broken(Scenario.story(scenario, story, isOver)),
      ...ScheduleRules.brokenTurns(scenario.pace, yield* Schedules.results)
    ]
  }).pipe(Effect.provide(Schedules.backend(world, seen), { local: true }))
})

it.live(
  `${seeds.length / 4} schedules that are killed, half of them twice, resume as recorded`,
  () =>
    Effect.gen(function*() {
      const failed: Array<string> = []
      for (const seed of seeds.slice(0, Math.ceil(seeds.length / 4))) {
        const draw = Draw.make(seed, "kill")
        const first = draw.integer(1, 1500)
        const crashes = draw.chance(0.5) ? [first] : [first, draw.integer(1, 1500)]
        const broken = yield* resumed(Scenario.make(seed), crashes)
        if (broken.length > 0) failed.push([`EFFECT_RL_SEED=${seed}:`, ...broken.slice(0, 5)].join("\n  ✗ "))
      }
      assert.isEmpty(failed, `${failed.length} schedules:\n${failed.slice(0, 5).join("\n\n")}`)
    }),
  3_600_000
)
