/** A wire-format client for a model that numbers its own requests, starting at 1. */
import * as Effect from "effect/Effect"
import * as Blame from "./Blame.ts"
import type * as Check from "./Check.ts"
import * as Examples from "./Examples.ts"
import { RawRequests, type Reply } from "./RawRequests.ts"

type Asked<A> = Effect.Effect<A, Check.Failure, RawRequests>

export interface NumberedModel {
  readonly id: string
  /** Submits the next request. */
  readonly send: (path: string, body: object) => Asked<Reply>
  /** Sends the next request and returns its result, which must be a success. */
  readonly ask: (path: string, body: object) => Asked<Reply>
  /** Takes one optimizer step on the examples with these token weights. */
  readonly learn: (weights?: ReadonlyArray<number>) => Asked<Reply>
  /** Log-probabilities `[T]` of the examples. */
  readonly logprobs: Asked<Float32Array>
}

/** The client for a model that has received no requests yet. */
export const of = (model_id: string): Effect.Effect<NumberedModel, never, RawRequests> =>
  Effect.map(RawRequests, ({ post }) => {
    let seq_id = 0
    const send: NumberedModel["send"] = (path, body) =>
      Effect.suspend(() => post(path, { model_id, seq_id: ++seq_id, ...body }))
    const ask: NumberedModel["ask"] = (path, body) => Effect.flatMap(send(path, body), Blame.expectDone)
    const learn: NumberedModel["learn"] = (weights) => {
      const data = [weights === undefined ? Examples.datum() : Examples.datum({ weights })]
      return Effect.suspend(() => post("/forward_backward", Examples.pass(model_id, ++seq_id, data))).pipe(
        Effect.flatMap(Blame.expectDone),
        Effect.andThen(Effect.suspend(() => post("/optim_step", Examples.step(model_id, ++seq_id)))),
        Effect.flatMap(Blame.expectDone)
      )
    }
    const logprobs = Effect.suspend(() => post("/forward", Examples.forward(model_id, ++seq_id))).pipe(
      Effect.flatMap(Blame.expectDone),
      Effect.flatMap(Examples.logprobsOf)
    )
    return { id: model_id, send, ask, learn, logprobs }
  })

/** Creates a model in its own session. */
export const make = Effect.gen(function*() {
  const { session } = yield* RawRequests
  const { model } = yield* session
  return yield* of(yield* model)
})
