import * as ProcessMeter from "@effect-rl/cli/train/ProcessMeter"
import { RunOptions } from "@effect-rl/core/program"
import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"

/** Keeps the processor busy until its use is counted. */
const work = () => {
  const { user } = process.cpuUsage()
  for (let at = 0; process.cpuUsage().user === user; at++) Math.sqrt(at)
}

describe("the meter of a process", () => {
  layer(ProcessMeter.layer)((it) => {
    it.effect("measures resident memory, and busy processors since the measurement before", () =>
      Effect.gen(function*() {
        const meter = yield* RunOptions.ProcessMeter
        yield* meter
        work()
        yield* TestClock.adjust("1 hour")
        const use = yield* meter
        assert.isAbove(use?.memory ?? 0, 2 ** 20)
        assert.isAbove(use?.processors ?? 0, 0)
        assert.isBelow(use?.processors ?? 1, 0.1)
      }))
  })
})
