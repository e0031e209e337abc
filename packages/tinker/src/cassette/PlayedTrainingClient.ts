/** A training client played by a deck. */
import { Loss, TinkerError } from "@effect-rl/core"
import { CustomLoss, type Datum, type Pending, RequestQueue, type TrainingClient } from "@effect-rl/core/backend"
import type { NonEmptyReadonlyArray } from "effect/Array"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Call from "./Call.ts"
import type { Deck } from "./Deck.ts"
import * as Operation from "./Operation.ts"
import * as PlayedSamplingClient from "./PlayedSamplingClient.ts"

type Live = TrainingClient.TrainingClient

type Weighted = NonEmptyReadonlyArray<Datum.Datum<"WeightedTokens">>

export interface Parts {
  readonly info: TrainingClient.ModelInfo
  /** The name of the client in recorded calls. */
  readonly id: string
  readonly deck: Deck<Live>
}

type Answer<A, R = never> = Effect.Effect<A, TinkerError.TinkerError, R>

/** Creates a training client that is usable until it is unloaded or the scope closes. */
export const make = Effect.fnUntraced(function*({ deck, id, info }: Parts) {
  const queue = yield* RequestQueue.make
  const calls = Call.training(id)
  let lostBecause: string | undefined

  /** Fails as `Closed` after an unrecorded call, because the answer would depend on that call. */
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

  /** Plays a call. The call is made when its turn comes, so calls are numbered in the order in which they run. */
  const play = <A>(makeCall: () => Call.Call<A>, ask: (live: Live) => Answer<Pending.Pending<A>>) =>
    Effect.suspend(() => {
      const call = makeCall()
      return known(
        call.operation.name,
        deck.answer(call, (live) => Effect.flatMap(ask(live), (pending) => pending.await))
      )
    })

  const submit = <A>(
    operation: Operation.Operation<A>,
    makeCall: () => Call.Call<A>,
    ask: (live: Live) => Answer<Pending.Pending<A>>
  ) => queue.submit(operation.name, play(makeCall, ask))

  /** Waits for the answers to all earlier calls, so the snapshot includes their changes. */
  const snapshot = Effect.gen(function*() {
    const context = yield* Effect.context<Scope.Scope>()
    const operation = Operation.saveWeightsAndGetSamplingClient
    const made = Effect.suspend(() => {
      const weights = calls.weights()
      const call = calls.saveWeightsAndGetSamplingClient()
      const ask = (live: Live) => live.saveWeightsAndGetSamplingClient
      return Effect.map(
        known(operation.name, deck.make(call, ask, ({ modelPath }) => ({ modelPath }))),
        ({ answer, deck: sampler }) => ({ ...answer, weights, deck: sampler })
      )
    })
    const pending = yield* queue.submit(operation.name, Effect.provide(made, context))
    return yield* PlayedSamplingClient.make(yield* pending.await)
  })

  const forwardBackwardCustom: Live["forwardBackwardCustom"] = Effect.fnUntraced(function*<E, R>(
    data: Weighted,
    customLoss: TrainingClient.CustomLoss<E, R>
  ) {
    const context = yield* Effect.context<R>()
    const loss = Loss.crossEntropy
    const passes = Effect.gen(function*() {
      const { logprobs } = yield* play(() => calls.forward(data, loss), (live) => live.forward(data, loss))
      const second = yield* CustomLoss.secondPass(data, customLoss, logprobs)
      const output = yield* play(
        () => calls.forwardBackward(second.data, loss),
        (live) => live.forwardBackward(second.data, loss)
      )
      return second.report(output)
    })
    return yield* queue.submit("forwardBackwardCustom", Effect.provide(passes, context), { isDecisive: true })
  })

  const client: Live = {
    info,
    forward: (data, loss) =>
      submit(Operation.forward, () => calls.forward(data, loss), (live) => live.forward(data, loss)),
    forwardBackward: (data, loss) =>
      submit(
        Operation.forwardBackward,
        () => calls.forwardBackward(data, loss),
        (live) => live.forwardBackward(data, loss)
      ),
    forwardBackwardCustom,
    optimStep: (adam) => submit(Operation.optimStep, () => calls.optimStep(adam), (live) => live.optimStep(adam)),
    saveState: (name, options = {}) =>
      submit(Operation.saveState, () => calls.saveState(name, options), (live) => live.saveState(name, options)),
    saveWeightsForSampler: (name, options = {}) =>
      submit(
        Operation.saveWeightsForSampler,
        () => calls.saveWeightsForSampler(name, options),
        (live) => live.saveWeightsForSampler(name, options)
      ),
    saveWeightsAndGetSamplingClient: snapshot,
    loadState: (path, { optimizer = false } = {}) =>
      submit(
        Operation.loadState,
        () => calls.loadState(path, optimizer),
        (live) => live.loadState(path, { optimizer })
      ),
    unload: submit(Operation.unload, () => calls.unload(), (live) => Effect.succeed({ await: live.unload })).pipe(
      Effect.flatMap((pending) => pending.await),
      Effect.andThen(queue.close("the training client was unloaded"))
    )
  }
  return client
})
