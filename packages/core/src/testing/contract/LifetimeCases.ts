import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import * as Loss from "../../model/Loss.ts"
import * as Case from "./Case.ts"
import * as Fixture from "./Fixture.ts"

const one = { prompt: Fixture.input, params: { maxTokens: 1 } }

/** Cases about how long a client stays usable. */
export const cases = (options: Fixture.Options): ReadonlyArray<Case.Case> => [
  Case.make(
    "lifetime: an unloaded training client is Closed",
    Effect.gen(function*() {
      const client = yield* Fixture.training(options)
      yield* client.unload
      yield* Case.expectFailure(Fixture.run(client.forward([Fixture.weighted()], Loss.crossEntropy)), "Closed")
      yield* Case.expectFailure(Fixture.run(Fixture.step(client)), "Closed")
      yield* Case.expectFailure(client.saveWeightsAndGetSamplingClient, "Closed")
    })
  ),
  Case.make(
    "lifetime: requests submitted before unloading are done",
    Effect.gen(function*() {
      const client = yield* Fixture.training(options)
      const pass = yield* client.forward([Fixture.weighted()], Loss.crossEntropy)
      const waiting = yield* Effect.forkChild(pass.await, { startImmediately: true })
      yield* client.unload
      const { logprobs } = yield* Fiber.join(waiting)
      yield* Case.expectEqual("logprobs.length", logprobs.length, 1)
    })
  ),
  Case.make(
    "lifetime: a training client is Closed once its scope is",
    Effect.gen(function*() {
      const client = yield* Effect.scoped(Fixture.training(options))
      yield* Case.expectFailure(Fixture.run(client.forward([Fixture.weighted()], Loss.crossEntropy)), "Closed")
      yield* Case.expectFailure(Fixture.run(client.saveState("contract")), "Closed")
    })
  ),
  Case.make(
    "lifetime: a sampling client is Closed once its scope is",
    Effect.gen(function*() {
      const client = yield* Effect.scoped(Fixture.sampling(options))
      yield* Case.expectFailure(client.sample(one), "Closed")
    })
  ),
  Case.make(
    "lifetime: a snapshot is Closed once its scope is closed, while training continues",
    Effect.gen(function*() {
      const client = yield* Fixture.training(options)
      const sampler = yield* Effect.scoped(client.saveWeightsAndGetSamplingClient)
      yield* Case.expectFailure(sampler.sample(one), "Closed")
      yield* Fixture.learn(client)
    })
  ),
  Case.make(
    "lifetime: a request under way when the scope closes gives a result or Closed",
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      const client = yield* Scope.provide(scope)(Fixture.training(options))
      const pass = yield* client.forward([Fixture.weighted()], Loss.crossEntropy)
      const waiting = yield* Effect.forkChild(pass.await, { startImmediately: true })
      yield* Scope.close(scope, Exit.void)
      const outcome = yield* Effect.matchEffect(Fiber.join(waiting), {
        onSuccess: () => Effect.succeed("a result"),
        onFailure: (error) => Effect.succeed(error.reason._tag)
      })
      yield* Case.expect(outcome === "a result" || outcome === "Closed", "a result or Closed", outcome)
    })
  )
]
