/** Trains as a deck plays. */
import { CustomLoss, type Pending, RequestQueue, TinkerError, type TrainingClient } from "@effect-rl/core"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Semaphore from "effect/Semaphore"
import * as Call from "./Call.ts"
import type { Deck } from "./Deck.ts"
import * as PlayedSamplingClient from "./PlayedSamplingClient.ts"

type Live = TrainingClient.TrainingClient

export interface Parts {
  readonly info: TrainingClient.ModelInfo
  /** Name of the client in calls. */
  readonly id: string
  readonly deck: Deck<Live>
}

type Answer<A, R = never> = Effect.Effect<A, TinkerError.TinkerError, R>

/** Can be used until it is unloaded or the surrounding scope closes. */
export const make = Effect.fnUntraced(function*({ deck, id, info }: Parts) {
  const queue = yield* RequestQueue.make
  const calls = Call.training(id)
  /** Calls are numbered, queued and passed on in one order. */
  const turn = yield* Semaphore.make(1)
  let lostBecause: string | undefined

  /** What follows a call that was not recorded follows from it. */
  const known = <A, R>(operation: string, answer: Answer<A, R>): Answer<A, R> =>
    Effect.suspend(() =>
      lostBecause === undefined ? answer : Effect.fail(
        new TinkerError.TinkerError({ operation, reason: new TinkerError.Closed({ detail: lostBecause }) })
      )
    ).pipe(
      Effect.tapError((error) =>
        Effect.sync(() => {
          if (error.reason._tag === "Unrecorded") lostBecause ??= `after a call that was not recorded: ${error.message}`
        })
      )
    )

  const submit = <A>(makeCall: () => Call.Call<A>, ask: (live: Live) => Answer<Pending.Pending<A>>) =>
    Effect.gen(function*() {
      const submitted = yield* Deferred.make<Answer<A>>()
      const call = makeCall()
      const operation = call.operation.name
      const pending = yield* queue.submit(operation, known(operation, Effect.flatten(Deferred.await(submitted))))
      yield* Deferred.succeed(submitted, yield* deck.submit(call, ask))
      return pending
    }).pipe(Effect.uninterruptible, turn.withPermit)

  /** In its turn, when the calls before have their answers, so that it holds the weights they left. */
  const snapshot = Effect.gen(function*() {
    const call = calls.saveWeightsAndGetSamplingClient()
    const weights = calls.weights()
    const before = yield* queue.submit(call.operation.name, Effect.void)
    yield* before.await
    const { answer, deck: sampler } = yield* known(
      call.operation.name,
      deck.make(call, (live) => live.saveWeightsAndGetSamplingClient, ({ modelPath }) => ({ modelPath }))
    )
    return yield* PlayedSamplingClient.make({ ...answer, weights, deck: sampler })
  })

  const passes: Pick<Live, "forward" | "forwardBackward"> = {
    forward: (data, loss) => submit(() => calls.forward(data, loss), (live) => live.forward(data, loss)),
    forwardBackward: (data, loss) =>
      submit(() => calls.forwardBackward(data, loss), (live) => live.forwardBackward(data, loss))
  }

  const client: Live = {
    info,
    ...passes,
    forwardBackwardCustom: CustomLoss.forwardBackward(passes),
    optimStep: (adam) => submit(() => calls.optimStep(adam), (live) => live.optimStep(adam)),
    saveState: (name, options = {}) =>
      submit(() => calls.saveState(name, options), (live) => live.saveState(name, options)),
    saveWeightsForSampler: (name, options = {}) =>
      submit(() => calls.saveWeightsForSampler(name, options), (live) => live.saveWeightsForSampler(name, options)),
    saveWeightsAndGetSamplingClient: turn.withPermit(snapshot),
    loadState: (path, { optimizer = false } = {}) =>
      submit(() => calls.loadState(path, optimizer), (live) => live.loadState(path, { optimizer })),
    unload: submit(() => calls.unload(), (live) => Effect.succeed({ await: live.unload })).pipe(
      Effect.flatMap((pending) => pending.await),
      Effect.andThen(queue.close("the training client was unloaded"))
    )
  }
  return client
})
