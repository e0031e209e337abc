/**
 * One forward and backward pass of an update.
 *
 * @example
 * const passes = Pass.ofArray(data, Loss.importanceSampling)
 */
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as LossGraphPass from "../backend/LossGraphPass.ts"
import type { Pending } from "../backend/Pending.ts"
import * as RequestRules from "../backend/RequestRules.ts"
import { TinkerError, Unsupported } from "../backend/TinkerError.ts"
import type { CustomLoss, ForwardBackwardOutput, TrainingClient } from "../backend/TrainingClient.ts"
import type * as LossExpression from "../losses/LossExpression.ts"
import type * as Datum from "../model/Datum.ts"
import type * as Loss from "../model/Loss.ts"

/**
 * How a loss was computed: by the backend from its name (`name`) or its graph (`graph`), or in two passes with a gradient computed in this
 * process (`two-pass`).
 */
export type Route = "name" | "graph" | "two-pass"

/** A submitted pass, and how its loss was computed. */
export interface Submitted<out E = TinkerError> {
  readonly pending: Pending<ForwardBackwardOutput, E>
  readonly route: Route
}

type Data<X extends LossExpression.Extras> = Arr.NonEmptyReadonlyArray<LossExpression.Example<X>>

type Attempt = Effect.Effect<Submitted, TinkerError>

/** Adds the route to a submitted pass. */
const by = (route: Route) =>
<E, R>(
  submitted: Effect.Effect<Pending<ForwardBackwardOutput, E>, TinkerError, R>
): Effect.Effect<Submitted<E>, TinkerError, R> => Effect.map(submitted, (pending) => ({ pending, route }))

/** Tries the next route if the backend does not support the attempted one. */
const orElse = (next: () => Attempt) => (attempt: Attempt): Attempt =>
  Effect.catchIf(attempt, ({ reason }) => reason._tag === "Unsupported", next)

const unavailable = (operation: string) =>
  Effect.fail(
    new TinkerError({
      operation,
      reason: new Unsupported({ capability: operation, detail: "the backend computes no loss graphs" })
    })
  )

/** Submits the backend's own loss; log-probabilities of unmasked positions may be NaN. */
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
 * Submits a loss. A backend loss is submitted by name. An expression is submitted by name if the backend has an equivalent loss, otherwise
 * as a graph in one pass, otherwise in two passes; all routes give the same gradient. Fails with `Unsupported` if the backend supports no
 * route, and with `Rejected` if the data do not fit the loss.
 *
 * @example
 * ```ts
 * const { pending, route } = yield* Pass.submit(training, data, PolicyLoss.dppo())
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

/** One pass: its data and its loss. The gradients of an update's passes add up. */
export interface Pass<out E = never, out R = never> {
  /** The loss's name, for records. */
  readonly loss: string
  readonly data: ReadonlyArray<Datum.Datum<Datum.Kind>>
  /** The number of positions in all datums of the pass. */
  readonly tokens: number
  /** Submits the pass; returns once the backend has accepted it. */
  readonly submit: (client: TrainingClient) => Effect.Effect<Submitted<TinkerError | E>, TinkerError, R>
}

const sizes = (data: ReadonlyArray<Datum.Datum<Datum.Kind>>) => ({
  data,
  tokens: data.reduce((sum, { modelInput }) => sum + modelInput.length, 0)
})

/** A pass with one of the backend's own losses. Its log-probabilities may be NaN at positions that the loss does not read. */
export const make = <K extends Datum.Kind>(
  data: Arr.NonEmptyReadonlyArray<Datum.Datum<NoInfer<K>>>,
  loss: Loss.Loss<K>
): Pass => ({
  ...sizes(data),
  loss: loss.name,
  submit: (client) => by("name")(client.forwardBackward(data, loss, { logprobs: "counted" }))
})

/** A pass with a loss expression, submitted by name, as a graph or in two passes, whichever the backend supports first. */
export const expression = <X extends LossExpression.Extras>(
  data: Arr.NonEmptyReadonlyArray<LossExpression.Example<X>>,
  loss: LossExpression.LossExpression<X>
): Pass => ({
  ...sizes(data),
  loss: loss.name,
  submit: (client) => submit(client, data, loss)
})

/** A pass with a loss that is computed in this process, possibly across datums. */
export const custom = <E, R>(
  name: string,
  data: Arr.NonEmptyReadonlyArray<Datum.Datum<"WeightedTokens">>,
  loss: CustomLoss<E, R>
): Pass<E, R> => ({
  ...sizes(data),
  loss: name,
  submit: (client) => by("two-pass")(client.forwardBackwardCustom(data, loss))
})

/** One pass over the data, as an array; an empty array if there are no data. */
export const ofArray = <K extends Datum.Kind>(
  data: ReadonlyArray<Datum.Datum<NoInfer<K>>>,
  loss: Loss.Loss<K>
): ReadonlyArray<Pass> => Arr.isReadonlyArrayNonEmpty(data) ? [make(data, loss)] : []
