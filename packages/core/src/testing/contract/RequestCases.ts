import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Loss from "../../model/Loss.ts"
import * as Case from "./Case.ts"
import * as Fixture from "./Fixture.ts"

const bad = Fixture.weighted(Fixture.full(NaN))

const order = (options: Fixture.Options): ReadonlyArray<Case.Case> => [
  Case.make(
    "requests: run in the order of submission, whatever the order of awaiting",
    Effect.gen(function*() {
      const client = yield* Fixture.training(options)
      const untrained = yield* Fixture.logprobs(client)
      const before = yield* client.forward([Fixture.weighted()], Loss.crossEntropy)
      const pass = yield* client.forwardBackward([Fixture.weighted()], Loss.crossEntropy)
      const step = yield* Fixture.step(client)
      const after = yield* client.forward([Fixture.weighted()], Loss.crossEntropy)
      const { logprobs: [trained = new Float32Array()] } = yield* after.await
      yield* step.await
      yield* pass.await
      const { logprobs: [found = new Float32Array()] } = yield* before.await
      yield* Case.expectClose("logprobs submitted before the step", found, untrained)
      yield* Case.expectDifferent("logprobs submitted after the step", trained, untrained)
    })
  ),
  Case.make(
    "requests: run even if they are not awaited",
    Fixture.where(
      options,
      ({ promptLogprobs }) => promptLogprobs,
      Effect.gen(function*() {
        const client = yield* Fixture.training(options)
        const untrained = yield* Fixture.logprobs(client)
        yield* client.forwardBackward([Fixture.weighted()], Loss.crossEntropy)
        yield* Fixture.step(client)
        const sampler = yield* client.saveWeightsAndGetSamplingClient
        yield* Case.expectDifferent("logprobs of the snapshot", yield* Fixture.sampled(sampler), untrained)
      })
    )
  ),
  Case.make(
    "requests: awaiting again gives the same result and runs nothing",
    Effect.gen(function*() {
      const client = yield* Fixture.training(options)
      yield* Fixture.run(client.forwardBackward([Fixture.weighted()], Loss.crossEntropy))
      const step = yield* Fixture.step(client)
      const first = yield* step.await
      const trained = yield* Fixture.logprobs(client)
      const second = yield* step.await
      yield* Case.expectEqual("metrics", JSON.stringify(second.metrics), JSON.stringify(first.metrics))
      yield* Case.expectClose("logprobs after awaiting again", yield* Fixture.logprobs(client), trained)
    })
  ),
  Case.make(
    "requests: interrupting the wait does not cancel them",
    Effect.gen(function*() {
      const client = yield* Fixture.training(options)
      const untrained = yield* Fixture.logprobs(client)
      const pass = yield* client.forwardBackward([Fixture.weighted()], Loss.crossEntropy)
      const step = yield* Fixture.step(client)
      const waiting = yield* Effect.forkChild(Effect.andThen(pass.await, step.await), { startImmediately: true })
      yield* Fiber.interrupt(waiting)
      yield* step.await
      yield* Case.expectDifferent("logprobs after the step", yield* Fixture.logprobs(client), untrained)
    })
  )
]

const failures = (options: Fixture.Options): ReadonlyArray<Case.Case> => [
  Case.make(
    "requests: a rejected request that is awaited leaves the client usable",
    Effect.gen(function*() {
      const client = yield* Fixture.training(options)
      const pass = Fixture.run(client.forwardBackward([bad], Loss.crossEntropy))
      yield* Case.expectFailure(pass, "Rejected", "weights")
      yield* Fixture.learn(client)
    })
  ),
  Case.make(
    "requests: a rejected request leaves no gradient",
    Effect.gen(function*() {
      const client = yield* Fixture.training(options)
      const untrained = yield* Fixture.logprobs(client)
      const pass = Fixture.run(client.forwardBackward([Fixture.weighted(), bad], Loss.crossEntropy))
      yield* Case.expectFailure(pass, "Rejected", "weights")
      yield* Fixture.run(Fixture.step(client))
      yield* Case.expectClose("logprobs", yield* Fixture.logprobs(client), untrained)
    })
  ),
  Case.make(
    "requests: a failure that is not awaited fails later requests as Closed",
    Effect.gen(function*() {
      const client = yield* Fixture.training(options)
      const isAccepted = yield* Effect.isSuccess(client.forwardBackward([bad], Loss.crossEntropy))
      const step = Fixture.run(Fixture.step(client))
      if (isAccepted) yield* Case.expectFailure(step, "Closed")
    })
  )
]

/** Cases about the order of requests, and about failures between submitting and awaiting. */
export const cases = (options: Fixture.Options): ReadonlyArray<Case.Case> => [...order(options), ...failures(options)]
