/** An engine in virtual time. Its results are real; the time of each answer is drawn at random and does not depend on the machine. */
import { Tinker } from "@effect-rl/core"
import type { SamplingClient, TrainingClient } from "@effect-rl/core/backend"
import { Seed } from "@effect-rl/core/environments"
import { Clock, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"

/** Durations in milliseconds of virtual time. */
export interface Times {
  /** Median duration of an answer. */
  readonly median: number
  /** Ratio of the 99th percentile to the median. */
  readonly tail: number
  /** Duration of an optimizer step with its training passes. */
  readonly step: number
}

/** The virtual time during which a request was sampled. */
export interface Sampled {
  readonly from: number
  readonly until: number
}

/** The 99th percentile of the standard normal distribution. */
const z99 = 2.3263

/** A lognormal duration in whole milliseconds, from two uniform numbers (Box-Muller). */
const millis = ({ median, tail }: Times, seed: number) => {
  const next = Seed.uniform(Seed.derive(seed, "LongTail"))
  const normal = Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next())
  return Math.ceil(median * Math.exp((Math.log(tail) / z99) * normal))
}

/** A turn of the event loop. */
const turn = Effect.callback<void>((resume) => void setImmediate(() => resume(Effect.void)))

/** Number of idle event-loop turns after which nothing more is expected at the current virtual time. */
const settlingTurns = 20

/** Virtual time for a program. It stands still while the engine works, and advances to the next answer when all fibers wait. */
export const make = (times: Times) => {
  const sampled: Array<Sampled> = []
  const due: Array<number> = []
  let working = 0
  let begun = 0

  /** Runs work of the engine in real time; no virtual time passes meanwhile. */
  const work = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    Effect.acquireUseRelease(
      Effect.sync(() => {
        working++
        begun++
      }),
      () => TestClock.withLive(effect),
      () => Effect.sync(() => void working--)
    )

  const pass = Effect.fnUntraced(function*(time: number) {
    const from = yield* Clock.currentTimeMillis
    begun++
    due.push(from + time)
    yield* Effect.sleep(time)
    return { from, until: from + time }
  })

  const sampler = (client: SamplingClient.SamplingClient): SamplingClient.SamplingClient => ({
    ...client,
    sample: (request) =>
      Effect.tap(
        work(client.sample(request)),
        () => Effect.map(pass(millis(times, request.params.seed ?? 0)), (span) => void sampled.push(span))
      )
  })

  const training = (client: TrainingClient.TrainingClient): TrainingClient.TrainingClient => ({
    ...client,
    forwardBackward: (data, loss) =>
      Effect.map(work(client.forwardBackward(data, loss)), (pending) => ({ await: work(pending.await) })),
    optimStep: (adam) =>
      Effect.map(work(client.optimStep(adam)), (pending) => ({
        await: Effect.tap(work(pending.await), () => pass(times.step))
      })),
    saveState: (...given) => work(client.saveState(...given)),
    saveWeightsForSampler: (...given) => work(client.saveWeightsForSampler(...given)),
    saveWeightsAndGetSamplingClient: Effect.map(work(client.saveWeightsAndGetSamplingClient), sampler)
  })

  const layer = Layer.effect(
    Tinker.Tinker,
    Effect.map(Tinker.Tinker, (tinker) =>
      Tinker.Tinker.of({
        ...tinker,
        createLoraTrainingClient: (options) => Effect.map(work(tinker.createLoraTrainingClient(options)), training)
      }))
  )

  const settled = Effect.gen(function*() {
    for (let turns = 0, last = begun; turns < settlingTurns; turns++) {
      yield* turn
      if (working > 0) yield* TestClock.withLive(Effect.sleep(1))
      if (working > 0 || begun > last) [turns, last] = [0, begun]
    }
  })

  const drive = Effect.gen(function*() {
    yield* settled
    due.sort((left, right) => left - right)
    const next = due.shift()
    if (next !== undefined) yield* TestClock.setTime(next)
  }).pipe(Effect.forever)

  /** Runs a program to completion in virtual time. */
  const run = <A, E, R>(program: Effect.Effect<A, E, R>) =>
    Effect.raceFirst(program, drive).pipe(
      Effect.provide(layer, { local: true }),
      Effect.provide(TestClock.layer(), { local: true })
    )

  return { run, sampled }
}
