/** Measures the memory and processor use of this process, for the records of iterations. */
import { RunOptions } from "@effect-rl/core/program"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Ref from "effect/Ref"

const reading = Effect.map(Clock.currentTimeMillis, (at) => {
  const { system, user } = process.cpuUsage()
  return { at, busy: (system + user) / 1000 }
})

const make = Effect.map(Effect.flatMap(reading, Ref.make), (last) =>
  Effect.gen(function*() {
    const now = yield* reading
    const before = yield* Ref.getAndSet(last, now)
    return {
      memory: process.memoryUsage.rss(),
      processors: (now.busy - before.busy) / Math.max(1, now.at - before.at)
    }
  }))

/** Measures the process with its threads since the previous measurement; processes that it starts are not included. */
export const layer = Layer.effect(RunOptions.ProcessMeter, make)
