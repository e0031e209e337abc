/** Random worlds and paces, and the stories of their runs. */
import { RunRecord } from "@effect-rl/core"
import type { DynamicSampling } from "@effect-rl/core/program"
import { Draw } from "@effect-rl/core/testing"
import type * as ScheduleRules from "./ScheduleRules.ts"
import type * as Schedules from "./Schedules.ts"

export interface Scenario {
  readonly seed: number
  readonly world: Schedules.World
  readonly pace: ScheduleRules.Story["pace"] & { readonly isStreaming: boolean }
  readonly dynamic: Required<DynamicSampling.DynamicSettings>
  readonly substeps: number
  readonly concurrency: number
  readonly saveEvery: number
}

/**
 * Draws a group. One in 30 hangs, and one in 10 takes 20 times as long as others. Half have several turns, with the same total duration.
 */
const drawGroup = (draw: Draw.Draw, ofTurns: Draw.Draw): Schedules.Group => {
  const turns = ofTurns.chance(0.5) ? 1 : ofTurns.integer(2, 4)
  return {
    seconds: draw.chance(1 / 30) ? undefined : draw.uniform() * (draw.chance(0.1) ? 40 : 2) / turns,
    turns,
    isConstant: draw.chance(0.2)
  }
}

/** The scenario of a seed. */
export const make = (seed: number): Scenario => {
  const draw = Draw.make(seed, "schedule")
  const size = draw.integer(1, 4)
  const dynamics = Draw.make(seed, "dynamic")
  const turns = Draw.make(seed, "turns")
  const batch = () => Array.from({ length: draw.chance(0.8) ? size : draw.integer(1, 4) }, () => drawGroup(draw, turns))
  return {
    seed,
    world: {
      batches: Array.from({ length: draw.integer(1, 6) }, batch),
      trainSeconds: draw.uniform(),
      publishSeconds: draw.chance(0.5) ? 0 : draw.uniform()
    },
    pace: {
      maxStepsOffPolicy: draw.integer(0, 3),
      onStale: draw.oneOf(["wait", "drop"]),
      turnWeights: turns.oneOf(["pinned", "newest"]),
      isStreaming: draw.chance(0.4),
      minibatches: draw.integer(1, 3)
    },
    dynamic: {
      minInformative: dynamics.chance(0.5) ? dynamics.integer(1, 5) : 0,
      maxBatches: dynamics.oneOf([1, 2, 3, 100])
    },
    substeps: draw.integer(1, 2),
    concurrency: draw.oneOf([64, 64, 2, 1]),
    saveEvery: draw.integer(0, 2)
  }
}

/** The story of a scenario's run. */
export const story = (
  { dynamic, pace, world }: Scenario,
  { records, seen }: Pick<ScheduleRules.Story, "records" | "seen">,
  isOver: boolean
): ScheduleRules.Story => ({
  world,
  pace,
  dynamic,
  records: RunRecord.current(records),
  seen,
  isOver
})

/** The composition and the numbers of updates, without times and total tokens. */
export const updatesOf = (records: ReadonlyArray<RunRecord.RunRecord>) => [
  ...records.filter(RunRecord.guards.Credited).map(({ datums, groups, iteration }) =>
    [`the groups of iteration ${iteration}`, JSON.stringify({ datums, groups })] as const
  ),
  ...records.filter(RunRecord.guards.Updated).map(({ iteration, metrics, updates }) => {
    const numbers = Object.entries(metrics).filter(([name]) => !/^(time|tokens\/total)/.test(name))
    const passes = updates.map(({ passes }) => passes.map(({ datums, tokens }) => [datums, tokens]))
    return [`the update of iteration ${iteration}`, JSON.stringify({ numbers, passes })] as const
  })
]
