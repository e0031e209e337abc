/** Clients that start from the same saved state and take one step each, so they differ only in the gradients of their passes. */
import { Loss, Tinker, type TinkerError } from "@effect-rl/core"
import type { Pending, TrainingClient } from "@effect-rl/core/backend"
import * as Effect from "effect/Effect"
import * as Check from "./Check.ts"
import * as Examples from "./Examples.ts"
import { RawRequests } from "./RawRequests.ts"

type Client = TrainingClient.TrainingClient
type Output = TrainingClient.ForwardBackwardOutput

export type Submit = (client: Client) => Effect.Effect<Pending.Pending<Output>, TinkerError.TinkerError>

export interface Moved {
  readonly output: Output
  /** Gradient norm before clipping, if the server reports it. */
  readonly gradNorm: number | undefined
  /** The change of the examples' log-probabilities by the step, `[T]`. */
  readonly changeT: Float32Array
}

export interface StateTwins {
  readonly logprobs: Float32Array
  /** The decrease of a pass's loss after a plain gradient descent step with this learning rate. `loss` reads the loss from the result. */
  readonly fall: (
    submit: Submit,
    learningRate: number,
    loss: Submit
  ) => Effect.Effect<number, Check.Failure, Check.Needs>
  /** Gradient norm of a pass before clipping, if the server reports it. */
  readonly gradNorm: (submit: Submit) => Effect.Effect<number | undefined, Check.Failure, Check.Needs>
  /** The effect of a plain gradient descent step with this learning rate after the pass. */
  readonly moved: (submit: Submit, learningRate: number) => Effect.Effect<Moved, Check.Failure, Check.Needs>
}

/** Submits a request and awaits its result. */
export const run = <A, E, R>(submitted: Effect.Effect<Pending.Pending<A>, E, R>) =>
  Effect.flatMap(submitted, (pending) => pending.await)

/** The trainer's log-probabilities of the examples, `[T]`. */
export const logprobsOf = (client: Client) =>
  Effect.map(
    run(client.forward([Examples.weighted()], Loss.crossEntropy)),
    ({ logprobs: [found = new Float32Array()] }) => found
  )

/** Relative difference allowed between two ways to compute the same gradient. */
const tolerance = 0.05

/** Rounding error of log-probabilities, including in bfloat16. */
const rounding = 5e-3

/** Fails unless two steps changed the log-probabilities equally. */
export const expectSameStep = (what: string, found: Moved, expected: Moved) =>
  Check.expectClose(
    what,
    found.changeT,
    expected.changeT,
    tolerance * Math.max(...expected.changeT.map(Math.abs)) + rounding
  )

/**
 * An `eps` far above every gradient, so Adam's denominator is constant and its first step is a gradient descent step.
 */
const eps = 1e4

/** Saves the state of a new model. Each measurement begins with a client that starts from this state. */
export const make = Effect.gen(function*() {
  const { model: baseModel } = yield* RawRequests
  const tinker = yield* Tinker.Tinker
  const origin = yield* tinker.createLoraTrainingClient({ baseModel, loraRank: 8, seed: 1 })
  const { path } = yield* run(origin.saveState("certify"))
  const logprobs = yield* logprobsOf(origin)
  const stepped = Effect.fnUntraced(function*(submit: Submit, learningRate: number) {
    const client = yield* tinker.createTrainingClientFromState(path)
    const output = yield* run(submit(client))
    const { metrics } = yield* run(client.optimStep({ learningRate: learningRate * eps, eps }))
    return { client, gradNorm: metrics["grad_norm"], output }
  })
  const gradNorm: StateTwins["gradNorm"] = (submit) => Effect.map(stepped(submit, 0), ({ gradNorm }) => gradNorm)
  const moved: StateTwins["moved"] = Effect.fnUntraced(function*(submit, learningRate) {
    const { client, ...found } = yield* stepped(submit, learningRate)
    const after = yield* logprobsOf(client)
    return { ...found, changeT: after.map((value, t) => value - (logprobs[t] ?? NaN)) }
  })
  const fall: StateTwins["fall"] = Effect.fnUntraced(function*(submit, learningRate, loss) {
    const { client, output } = yield* stepped(submit, learningRate)
    const after = yield* run(loss(client))
    return (output.metrics["loss:sum"] ?? NaN) - (after.metrics["loss:sum"] ?? NaN)
  })
  return { fall, gradNorm, logprobs, moved } satisfies StateTwins
})
