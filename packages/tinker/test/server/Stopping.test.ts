/** A stopping server ends soon, whatever its clients are waiting for. */
import type { Script } from "@effect-rl/core/testing"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Exit, Fiber, Layer, Scope } from "effect"
import { TestClock } from "effect/testing"
import * as Api from "./Api.ts"

describe("a server that stops", () => {
  layer(NodeServices.layer)((it) => {
    it.effect("gives accepted requests ten seconds, and ends the polls for those that take longer", () =>
      Effect.gen(function*() {
        const scope = yield* Scope.make()
        const script: Script.Script = { sample: () => Effect.never }
        const services = yield* Layer.buildWithScope(Api.server({ script }), scope)
        yield* Effect.gen(function*() {
          const sampler = yield* Api.sampler(yield* Api.session)
          const promise = yield* Api.sample(sampler, 0)
          const poll = yield* Effect.forkChild(Api.poll(promise), { startImmediately: true })
          for (let count = 0; count < 3; count++) yield* Api.session
          const closing = yield* Effect.forkChild(Scope.close(scope, Exit.void), { startImmediately: true })
          for (let second = 0; second < 60 && closing.pollUnsafe() === undefined; second++) {
            yield* TestClock.withLive(Effect.sleep("10 millis"))
            yield* TestClock.adjust("1 second")
          }
          assert.isDefined(closing.pollUnsafe())
          assert.include([408, 503], (yield* Fiber.join(poll)).status)
        }).pipe(Effect.provide(services))
      }))
  })
})
