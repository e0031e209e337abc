/** A client of a fake service, and control over its time. */
import { TinkerHttp } from "@effect-rl/tinker"
import { assert } from "@effect/vitest"
import { Effect, Fiber, flow, Layer, Random, Redacted, type Scope } from "effect"
import { TestClock } from "effect/testing"
import type * as FakeService from "./FakeService.ts"

const connect = (service: FakeService.FakeService, options: TinkerHttp.TinkerHttpOptions) =>
  Layer.build(
    Layer.provide(
      TinkerHttp.layerOptions({
        baseUrl: "http://fake/prefix/",
        apiKey: Redacted.make("tml-secret"),
        deadline: "5 minutes",
        ...options
      }),
      service.layer
    )
  )

/** Advances the test clock until the effect is done. */
export const elapse = Effect.fnUntraced(function*<A, E, R>(effect: Effect.Effect<A, E, R>, most = 10_000) {
  const fiber = yield* Effect.forkChild(effect)
  for (let second = 0; second < most && fiber.pollUnsafe() === undefined; second++) {
    yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
    yield* TestClock.adjust("1 second")
  }
  assert.isDefined(fiber.pollUnsafe(), "the effect to end")
  return yield* Fiber.join(fiber)
})

/**
 * Runs `use` with a client of the service, whose session ends with `use`. The client's random delays are the same in every run. Work that
 * takes real time, such as compression, needs the live clock.
 */
export const withTinkerLive = <A, E>(
  service: FakeService.FakeService,
  use: Effect.Effect<A, E, Layer.Success<ReturnType<typeof TinkerHttp.layerOptions>> | Scope.Scope>,
  options: TinkerHttp.TinkerHttpOptions = {}
) =>
  Effect.scoped(Effect.flatMap(connect(service, options), (context) => Effect.provideContext(use, context))).pipe(
    Random.withSeed(1)
  )

/** Uses a client of the service while the test clock advances. */
export const withTinker = flow(withTinkerLive, (use) => elapse(use))
