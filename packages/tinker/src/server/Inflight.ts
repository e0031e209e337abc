/** Weights that all inflight samplers of a model share. A later publication replaces them for every sampler. */
import { TinkerError } from "@effect-rl/core"
import type { SamplingClient } from "@effect-rl/core/backend"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import type { Model } from "./ClientSession.ts"

/** A published snapshot, which is released once a newer snapshot has replaced it and no sample uses it. */
export interface Published {
  readonly client: SamplingClient.SamplingClient
  readonly scope: Scope.Closeable
  users: number
  isReplaced: boolean
}

const closeUnused = (published: Published) =>
  published.isReplaced && published.users === 0 ? Scope.close(published.scope, Exit.void) : Effect.void

const missing = new TinkerError.TinkerError({
  operation: "sample",
  reason: new TinkerError.Unavailable({ detail: "no weights of the model are published" })
})

/** Uses the newest snapshot for one request. */
const use = <A>(
  model: Model,
  request: (client: SamplingClient.SamplingClient) => Effect.Effect<A, TinkerError.TinkerError>
) =>
  Effect.acquireUseRelease(
    Effect.suspend(() => {
      const published = model.inflight
      if (published === undefined) return Effect.fail(missing)
      published.users++
      return Effect.succeed(published)
    }),
    ({ client }) => request(client),
    (published) =>
      Effect.suspend(() => {
        published.users--
        return closeUnused(published)
      })
  )

/** Publishes the model's current weights, and returns a client that follows later publications. */
export const publish = Effect.fnUntraced(function*(model: Model) {
  const scope = yield* Scope.fork(model.scope)
  const client = yield* Scope.provide(model.client.saveWeightsAndGetSamplingClient, scope).pipe(
    Effect.onError((cause) => Scope.close(scope, Exit.failCause(cause)))
  )
  const { memoryBytes = 0 } = client
  model.inflightBytes += memoryBytes
  yield* Scope.addFinalizer(
    scope,
    Effect.sync(() => {
      model.inflightBytes -= memoryBytes
    })
  )
  const before = model.inflight
  model.inflight = { client, scope, users: 0, isReplaced: false }
  if (before !== undefined) {
    before.isReplaced = true
    yield* closeUnused(before)
  }
  return {
    modelPath: client.modelPath,
    sample: (request) => use(model, (client) => client.sample(request)),
    computeLogprobs: (prompt) => use(model, (client) => client.computeLogprobs(prompt))
  } satisfies SamplingClient.SamplingClient
})
