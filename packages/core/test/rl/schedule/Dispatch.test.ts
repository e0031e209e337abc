/**
 * Checks random schedules, played without a run, against the rules of `ScheduleRules`, and that intentionally wrong scheduling rules are
 * caught.
 */
import { RunRecord } from "@effect-rl/core"
import * as Dispatch from "@effect-rl/core/rl/schedule/Dispatch"
import { Draw } from "@effect-rl/core/testing"
import { assert, describe, it } from "@effect/vitest"
import * as Player from "./Player.ts"
import * as Scenario from "./Scenario.ts"
import * as ScheduleRules from "./ScheduleRules.ts"

const replayed = process.env["EFFECT_RL_SEED"]
const count = process.env["EFFECT_RL_SOAK"] === undefined ? 1000 : 10_000

const seeds = replayed === undefined ? Array.from({ length: count }, (_, seed) => seed) : [Number(replayed)]

/** The violations of a complete run. */
const played = (scenario: Scenario.Scenario, rules = Dispatch.rules): ReadonlyArray<string> => {
  try {
    const ran = Player.play(scenario, { rules })
    return ScheduleRules.broken(Scenario.story(scenario, ran, ran.isOver))
  } catch (error) {
    return [String(error)]
  }
}

/** The violations of a run that is killed after each of these numbers of records and then resumed to its end. */
const resumed = (scenario: Scenario.Scenario, kills: ReadonlyArray<number>): ReadonlyArray<string> => {
  let before: ReadonlyArray<RunRecord.RunRecord> = []
  for (const killAfter of kills) before = Player.play(scenario, { records: before, killAfter }).records
  const ran = Player.play(scenario, { records: before })
  const again = new Set(ran.seen.opened.map(({ key }) => key))
  const last = new Map(Scenario.updatesOf(ran.records))
  return [
    ...before.filter(RunRecord.guards.GroupRolledOut).flatMap(({ key }) =>
      again.has(key) ? [`group ${key} is sampled again`] : []
    ),
    ...Scenario.updatesOf(ran.records).flatMap(([name, update]) =>
      update === last.get(name) ? [] : [`${name} was another one`]
    ),
    ...ScheduleRules.broken(Scenario.story(scenario, ran, ran.isOver))
  ]
}

const check = (brokenIn: (seed: number) => ReadonlyArray<string>) => {
  const failed = seeds.flatMap((seed) => {
    const broken = brokenIn(seed)
    return broken.length > 0 ? [[`EFFECT_RL_SEED=${seed}:`, ...broken.slice(0, 5)].join("\n  ✗ ")] : []
  })
  assert.isEmpty(failed, `${failed.length} of ${seeds.length} schedules:\n${failed.slice(0, 5).join("\n\n")}`)
}

it(`${seeds.length} random schedules train on every group once and on none that is too old`, () => {
  check((seed) => played(Scenario.make(seed)))
})

it(`${seeds.length} killed schedules, half of them killed twice, resume as recorded`, () => {
  check((seed) => {
    const draw = Draw.make(seed, "kill")
    const kill = () => draw.integer(1, 80)
    return resumed(Scenario.make(seed), draw.chance(0.5) ? [kill()] : [kill(), kill()])
  })
})

/** Changes the pace's rules in one respect. */
const wrong = (change: (rules: Dispatch.Rules) => Partial<Dispatch.Rules>): typeof Dispatch.rules => (settings) => {
  const rules = Dispatch.rules(settings)
  return { ...rules, ...change(rules) }
}

const mutants: Readonly<Record<string, typeof Dispatch.rules>> = {
  "begins groups one iteration too early": wrong(({ horizon }) => ({ horizon: (iteration) => horizon(iteration) + 1 })),
  "keeps groups that are one iteration too old": wrong(({ isStale }) => ({
    isStale: (group, iteration) => isStale(group, iteration - 1)
  })),
  "drops groups that are not too old": wrong(({ isStale }) => ({
    isStale: (group, iteration) => isStale(group, iteration + 1)
  })),
  "does not wait for groups on their way": wrong(({ batch }) => ({
    batch: (collecting) => batch({ ...collecting, onTheirWay: [] })
  })),
  "gives away places that groups on their way will need": wrong(({ batch }) => ({
    batch: (collecting) => batch({ ...collecting, size: () => Infinity })
  })),
  "trains on the newest first": wrong(() => ({
    batch: ({ places, waiting }) =>
      waiting.length < places ? undefined : waiting.toSorted((a, b) => b.began - a.began).slice(0, places)
  })),
  "fills the update's places with what has ended": wrong(({ next }) => ({
    next: (collecting) => next({ ...collecting, onTheirWay: [] })
  })),
  "trains on what is filtered": wrong(() => ({ isFiltered: () => false })),
  "filters a group with a signal": wrong(() => ({ isFiltered: () => true })),
  "trains on one group less": wrong(({ batch }) => ({
    batch: (collecting) => batch({ ...collecting, places: Math.max(1, collecting.places - 1) })
  }))
}

describe("the rules catch a schedule that", () => {
  for (const [mistake, rules] of Object.entries(mutants)) {
    it(mistake, () => {
      const isCaught = (seed: number) => played(Scenario.make(seed), rules).length > 0
      assert.isTrue(
        Array.from({ length: 200 }, (_, seed) => seed).some(isCaught),
        "200 schedules, and no rule was broken"
      )
    })
  }
})
