/** A typical client load: runs one after another that train, sample, save and cancel requests. */
import { Loss, Tinker } from "@effect-rl/core"
import { Datum, ModelInput } from "@effect-rl/core/backend"
import { Draw } from "@effect-rl/core/testing"
import { RestClient, TinkerHttp } from "@effect-rl/tinker"
import { Effect, Exit, Fiber, Redacted } from "effect"
import * as Served from "./Served.ts"

/** Counts of calls by how they ended. Calls that started but did not end are lost. */
export interface Tally {
  begun: number
  succeeded: number
  cancelled: number
  failed: number
}

export const emptyTally = (): Tally => ({ begun: 0, succeeded: 0, cancelled: 0, failed: 0 })

export const lost = ({ begun, cancelled, failed, succeeded }: Tally) => begun - succeeded - cancelled - failed

const counted = (tally: Tally) => <A, E, R>(call: Effect.Effect<A, E, R>) =>
  Effect.suspend(() => {
    tally.begun++
    return Effect.onExit(call, (exit) =>
      Effect.sync(() => {
        if (Exit.isSuccess(exit)) tally.succeeded++
        else if (Exit.hasInterrupts(exit)) tally.cancelled++
        else tally.failed++
      }))
  })

const prompt = ModelInput.fromTokens([3, 1, 4, 1, 5, 9, 2])

const datum = Datum.weightedTokens(prompt, {
  targetTokens: Int32Array.of(1, 4, 1, 5, 9, 2, 6),
  weights: new Float32Array(7).fill(1)
})

const steps = 4
const samples = 8

/** One training step, a snapshot with samples, and an abandoned request. */
const iteration = Effect.fnUntraced(function*(tally: Tally, draw: Draw.Draw, tinker: Tinker.Tinker["Service"]) {
  const count = counted(tally)
  const client = yield* count(tinker.createLoraTrainingClient({ baseModel: Served.model, loraRank: 4, seed: 1 }))
  const rest = yield* RestClient.RestClient
  for (let step = 0; step < steps; step++) {
    const pass = yield* client.forwardBackward([datum, datum], Loss.crossEntropy)
    const update = yield* client.optimStep({ learningRate: 1e-3 })
    yield* count(pass.await)
    yield* count(update.await)
    yield* Effect.scoped(Effect.gen(function*() {
      const sampler = yield* client.saveWeightsAndGetSamplingClient
      const request = (seed: number) => count(sampler.sample({ prompt, numSamples: 2, params: { maxTokens: 8, seed } }))
      const others = yield* Effect.forkChild(
        Effect.all(Array.from({ length: samples }, (_, seed) => request(seed)), { concurrency: "unbounded" })
      )
      const given = yield* Effect.forkChild(request(99))
      if (draw.chance(0.5)) yield* Effect.yieldNow
      yield* Fiber.interrupt(given)
      yield* Fiber.join(others)
    }))
  }
  const { path } = yield* count(Effect.flatMap(client.saveState("last"), (pending) => pending.await))
  yield* count(rest.deleteCheckpoint(path))
})

/** Runs sessions one after another until interrupted, each with its own connection. */
export const user = (baseUrl: string, tally: Tally, seed: number) => {
  const draw = Draw.make(seed, "mixed load")
  const session = Effect.gen(function*() {
    yield* Effect.scoped(iteration(tally, draw, yield* Tinker.Tinker))
  }).pipe(Effect.provide(TinkerHttp.layerOptions({ baseUrl, apiKey: Redacted.make("tml-test") })))
  return Effect.forever(session)
}
