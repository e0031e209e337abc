/** Submits a policy loss in the best way that a backend offers, and says which it was. */
import type * as Array from "effect/Array"
import * as Effect from "effect/Effect"
import type * as LossExpression from "../losses/LossExpression.ts"
import type * as Loss from "../model/Loss.ts"
import * as LossGraphPass from "./LossGraphPass.ts"
import type { Pending } from "./Pending.ts"
import * as RequestRules from "./RequestRules.ts"
import { TinkerError, Unsupported } from "./TinkerError.ts"
import type { ForwardBackwardOutput, TrainingClient } from "./TrainingClient.ts"

/** The backend knew the loss by name, computed its graph in one pass, or gave log-probabilities and took a gradient. */
export type Route = "name" | "graph" | "two-pass"

/** A submitted pass, and the route that it took. */
export interface Submitted<out E = TinkerError> {
  readonly pending: Pending<ForwardBackwardOutput, E>
  readonly route: Route
}

type Data<X extends LossExpression.Extras> = Array.NonEmptyReadonlyArray<LossExpression.Example<X>>

type Attempt = Effect.Effect<Submitted, TinkerError>

/** Adds to a submitted pass the route that it took. */
export const by = (route: Route) =>
<E, R>(
  submitted: Effect.Effect<Pending<ForwardBackwardOutput, E>, TinkerError, R>
): Effect.Effect<Submitted<E>, TinkerError, R> => Effect.map(submitted, (pending) => ({ pending, route }))

/** Tries the next route where the backend does not have this one. */
const orElse = (next: () => Attempt) => (attempt: Attempt): Attempt =>
  Effect.catchIf(attempt, ({ reason }) => reason._tag === "Unsupported", next)

const unavailable = (operation: string) =>
  Effect.fail(
    new TinkerError({
      operation,
      reason: new Unsupported({ capability: operation, detail: "the backend computes no loss graphs" })
    })
  )

/** Log-probabilities off the mask may be NaN. */
const byName = <X extends LossExpression.Extras>(
  client: TrainingClient,
  data: Data<X>,
  loss: Loss.Loss<"PolicyTokens">
) => by("name")(client.forwardBackward<"PolicyTokens">(data, loss, { logprobs: "counted" }))

const checked = <X extends LossExpression.Extras>(data: Data<X>) =>
  Effect.mapError(
    RequestRules.policyData(data),
    (reason) => new TinkerError({ operation: "forwardBackward", reason })
  )

/**
 * Submits by name where the backend has the loss, otherwise in one pass by its graph, otherwise in two passes. All routes give the same
 * gradient. Fails as `Unsupported` where the backend offers no route, and as `Rejected` where the data do not fit the loss.
 *
 * @example
 * ```ts
 * const { pending, route } = yield* LossSubmission.submit(training, data, PolicyLoss.dppo())
 * ```
 */
export const submit = Effect.fnUntraced(function*<X extends LossExpression.Extras = {}>(
  client: TrainingClient,
  data: Data<X>,
  loss: Loss.Loss<"PolicyTokens"> | LossExpression.LossExpression<X>
): Effect.fn.Return<Submitted, TinkerError> {
  if (!("scope" in loss)) return yield* byName(client, data, loss)
  yield* checked(data)
  const graph = Effect.suspend(() =>
    by("graph")(
      client.forwardBackwardGraph?.(LossGraphPass.fromExamples(data, loss), loss.graph) ??
        unavailable("forwardBackwardGraph")
    )
  )
  const twoPass = () =>
    by("two-pass")(LossGraphPass.twoPass(client, LossGraphPass.fromExamples(data, loss), loss.graph))
  const others = () => orElse(twoPass)(graph)
  return yield* loss.equivalent === undefined
    ? others()
    : orElse(others)(byName(client, data, loss.equivalent))
})
