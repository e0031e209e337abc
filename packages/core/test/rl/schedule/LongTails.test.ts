/** Groups per second if some answers take twenty times as long as most, measured in exact virtual time. */
import { Pace, RunRecord } from "@effect-rl/core"
import { Seed } from "@effect-rl/core/environments"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Schedules from "./Schedules.ts"

/** Log-normal seconds with median 1; one in a hundred exceeds 20. */
const seconds = (next: () => number) => {
  const normal = Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next())
  return Math.ceil(1000 * Math.exp((Math.log(20) / 2.3263) * normal)) / 1000
}

const [iterations, groupsPerUpdate] = [13, 8]

const worldOf = (seed: number): Schedules.World => {
  const next = Seed.uniform(Seed.derive(seed, "LongTails"))
  const groups = Array.from({ length: iterations * groupsPerUpdate }, () => ({ seconds: seconds(next) }))
  return { batches: Schedules.inBatches(groups, groupsPerUpdate), trainSeconds: 3, publishSeconds: 0 }
}

const trained = Effect.fnUntraced(function*(seed: number, pace: Pace.Pace) {
  const { records, simulation } = yield* Schedules.run(worldOf(seed), pace, { seed })
  const groups = records.filter(RunRecord.guards.Credited).flatMap((record) => record.groups)
  assert.lengthOf(groups.filter(({ verdict }) => verdict === "informative"), iterations * groupsPerUpdate)
  const ages = groups.map(({ staleness = { inFlight: 0, inQueue: 0 } }) => staleness.inFlight + staleness.inQueue)
  return { millis: simulation.millis, oldest: Math.max(...ages) }
})

describe("if some answers take long", () => {
  it.effect.each([0, 1, 2])(
    "sampling further ahead trains on more groups per second, none too old, seed %i",
    (seed) =>
      Effect.gen(function*() {
        const synchronous = yield* trained(seed, Pace.synchronous)
        for (const [lead, least] of [[1, 1.3], [2, 1.6], [4, 2.3]] as const) {
          const ahead = yield* trained(seed, Pace.async({ maxStepsOffPolicy: lead }))
          assert.isAtLeast(synchronous.millis / ahead.millis, least)
          assert.isAtMost(ahead.oldest, lead)
        }
      })
  )
})
