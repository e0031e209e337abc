/** Trains one adapter: checks calls and queues them for the threads. */
import { type Datum, type Loss, type SamplingClient, TinkerError, type TrainingClient } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import * as CustomLoss from "./CustomLoss.ts"
import type { AdapterSnapshot, Factory } from "./Snapshot.ts"
import type { StoredAdapter } from "./StoredAdapter.ts"
import type { TrainedAdapter } from "./TrainedAdapter.ts"
import * as TrainingCheck from "./TrainingCheck.ts"
import type { TrainingQueue } from "./TrainingQueue.ts"

/** What a client is made of. */
export interface Parts {
  readonly info: TrainingClient.ModelInfo
  readonly limits: TrainingCheck.Limits
  readonly adapter: TrainedAdapter
  readonly stored: StoredAdapter
  readonly queue: TrainingQueue
  readonly snapshot: Factory
  readonly sampleFrom: (snapshot: AdapterSnapshot) => Effect.Effect<SamplingClient.SamplingClient, never, Scope.Scope>
  /** Holds the adapter's room and the queue. */
  readonly scope: Scope.Closeable
}

const named = (operation: string) => <A, R>(self: Effect.Effect<A, TinkerError.Reason, R>) =>
  Effect.mapError(self, (reason) => new TinkerError.TinkerError({ operation, reason }))

type Data<K extends Datum.Kind> = ReadonlyArray<Datum.Datum<NoInfer<K>>>

export const make = ({ adapter, info, limits, queue, sampleFrom, scope, snapshot, stored }: Parts) => {
  const forwardBackward = Effect.fn("TrainingClient.forwardBackward")(
    function*<K extends Datum.Kind>(data: Data<K>, loss: Loss.Loss<K>) {
      const items = yield* TrainingCheck.data("forwardBackward", data, loss, limits)
      return yield* queue.submit("forwardBackward", named("forwardBackward")(adapter.forwardBackward(items, loss)))
    }
  )

  const forward = Effect.fn("TrainingClient.forward")(
    function*<K extends Datum.Kind>(data: Data<K>, loss: Loss.Loss<K>) {
      const items = yield* TrainingCheck.data("forward", data, loss, limits)
      return yield* queue.submit("forward", named("forward")(adapter.forward(items, loss)))
    }
  )

  /** The copy is skipped where nobody waits for it any more, as its room is then somebody else's. */
  const copyTo = (target: AdapterSnapshot) =>
    Effect.suspend(() => target.isReleased() ? Effect.void : target.use(adapter.copyTo(target.adapter)))

  const saveWeightsAndGetSamplingClient = Effect.gen(function*() {
    const operation = "saveWeightsAndGetSamplingClient"
    const target = yield* Effect.acquireRelease(named(operation)(snapshot(adapter.layout)), ({ release }) => release)
    const pending = yield* queue.submit(operation, named(operation)(copyTo(target)))
    yield* pending.await
    return yield* sampleFrom(target)
  }).pipe(Effect.withSpan("TrainingClient.saveWeightsAndGetSamplingClient"))

  const client: TrainingClient.TrainingClient = {
    info,
    forward,
    forwardBackward,
    forwardBackwardCustom: CustomLoss.forwardBackward({ forward, forwardBackward }),
    optimStep: Effect.fn("TrainingClient.optimStep")(function*(params) {
      const config = yield* TrainingCheck.adam("optimStep", params)
      return yield* queue.submit("optimStep", named("optimStep")(adapter.optimize(config)))
    }),
    saveState: Effect.fn("TrainingClient.saveState")((name) =>
      queue.submit("saveState", stored.save("saveState", "weights", name))
    ),
    saveWeightsForSampler: Effect.fn("TrainingClient.saveWeightsForSampler")((name) =>
      queue.submit("saveWeightsForSampler", stored.save("saveWeightsForSampler", "sampler_weights", name))
    ),
    saveWeightsAndGetSamplingClient,
    loadState: Effect.fn("TrainingClient.loadState")((path, options) =>
      queue.submit("loadState", stored.load("loadState", path, options?.optimizer ?? false))
    ),
    unload: queue.close("the training client was unloaded").pipe(
      Effect.andThen(Scope.close(scope, Exit.void)),
      Effect.withSpan("TrainingClient.unload")
    )
  }
  return client
}
