/** A server with a hidden capacity, in virtual time, and clients that keep it busy. */
import { TinkerError } from "@effect-rl/core"
import { type AdaptiveLimiter, ModelInput, type Sampling, type SamplingClient } from "@effect-rl/core/backend"
import { Seed } from "@effect-rl/core/environments"
import { Clock, Effect, Fiber, Semaphore } from "effect"
import { TestClock } from "effect/testing"

export interface Options {
  /** Maximum number of sequences that it computes at the same time. */
  readonly capacity: number
  /** Maximum number of further sequences that may wait. More are rejected. */
  readonly backlog: number
  readonly seed: number
}

const millisPerToken = 10
export const retryAfterMillis = 1000

export const request: Sampling.SampleRequest = { prompt: ModelInput.fromTokens([1]), params: { maxTokens: 64 } }

/** A server whose answers have 16 to 64 tokens. All tokens take the same time; requests over the capacity wait. */
export const make = ({ backlog, capacity, seed }: Options) => {
  const uniform = Seed.uniform(seed)
  const computing = Semaphore.makeUnsafe(capacity)
  const counts = { accepted: 0, rejected: 0, present: 0 }
  const rejection = new TinkerError.TinkerError({
    operation: "sample",
    reason: new TinkerError.RateLimited({ retryAfterMillis })
  })
  const client: SamplingClient.SamplingClient = {
    modelPath: "cliff",
    sample: () =>
      Effect.suspend(() => {
        if (counts.present >= capacity + backlog) {
          counts.rejected++
          return Effect.fail(rejection)
        }
        counts.present++
        counts.accepted++
        const tokens = new Int32Array(16 + Math.floor(uniform() * 49))
        const logprobs = new Float32Array(tokens.length)
        return Effect.sleep(millisPerToken * tokens.length).pipe(
          computing.withPermit,
          Effect.as({ sequences: [{ tokens, logprobs, stopReason: "stop" as const }] }),
          Effect.ensuring(Effect.sync(() => counts.present--))
        )
      }),
    computeLogprobs: () => Effect.die("not asked for")
  }
  return { client, counts }
}

/** Runs an effect to its end while the test clock advances, and returns the virtual milliseconds that it took. */
export const timed = Effect.fnUntraced(function*<A, E, R>(effect: Effect.Effect<A, E, R>) {
  const start = yield* Clock.currentTimeMillis
  const fiber = yield* Effect.forkChild(Effect.andThen(effect, Clock.currentTimeMillis))
  while (fiber.pollUnsafe() === undefined) yield* TestClock.adjust("1 second")
  return (yield* Fiber.join(fiber)) - start
})

/** Sends `requests` requests from `size` clients. Each client sends one after the other. */
export const crowd = (client: SamplingClient.SamplingClient, requests: number, size: number) => {
  let left = requests
  const one: Effect.Effect<void, TinkerError.TinkerError> = Effect.suspend(() =>
    left-- > 0 ? Effect.andThen(client.sample(request), one) : Effect.void
  )
  return Effect.forEach(Array.from({ length: size }), () => one, { concurrency: "unbounded", discard: true })
}

/** Virtual milliseconds with a fixed number of concurrent requests. A rejected request is sent again when the server says so. */
export const fixed = (options: Options, requests: number, concurrency: number) => {
  const { client } = make(options)
  const again: SamplingClient.SamplingClient["sample"] = (request) =>
    Effect.catch(client.sample(request), () => Effect.delay(Effect.suspend(() => again(request)), retryAfterMillis))
  return timed(crowd({ ...client, sample: again }, requests, concurrency))
}

/** Virtual milliseconds under a limiter, and the share of rejected requests. */
export const adaptive = Effect.fnUntraced(function*(
  limiter: AdaptiveLimiter.AdaptiveLimiter,
  options: Options,
  requests: number,
  concurrency: number
) {
  const { client, counts } = make(options)
  const millis = yield* timed(crowd(limiter.sampling(client, "training"), requests, concurrency))
  return { millis, rejected: counts.rejected / (counts.accepted + counts.rejected) }
})
