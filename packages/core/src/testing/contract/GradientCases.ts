import type { NonEmptyReadonlyArray } from "effect/Array"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as LossValue from "../../backend/LossValue.ts"
import type { Pending } from "../../backend/Pending.ts"
import type { Tinker } from "../../backend/Tinker.ts"
import type { TinkerError } from "../../backend/TinkerError.ts"
import type { ForwardBackwardOutput, TrainingClient } from "../../backend/TrainingClient.ts"
import type * as Datum from "../../model/Datum.ts"
import * as Loss from "../../model/Loss.ts"
import * as Case from "./Case.ts"
import * as Fixture from "./Fixture.ts"
import * as LossCases from "./LossCases.ts"

type Pass = (client: TrainingClient) => Effect.Effect<Pending<ForwardBackwardOutput>, TinkerError>

/** An `eps` far above every gradient. A step divides by it alone, so it is a step of gradient descent by `learningRate / eps`. */
const descending = { beta1: 0, beta2: 0, eps: 1e4 }

/** Takes a step of gradient descent along the sum of the passes. Returns the gradient's norm, if the backend reports it. */
const descend = Effect.fnUntraced(function*(client: TrainingClient, passes: ReadonlyArray<Pass>, rate: number) {
  for (const pass of passes) yield* Fixture.run(pass(client))
  const { metrics } = yield* Fixture.run(
    client.optimStep({ learningRate: rate * descending.eps, ...descending })
  )
  return metrics["grad_norm"]
})

const crossEntropy = (...data: NonEmptyReadonlyArray<Datum.Datum<"WeightedTokens">>): Pass => (client) =>
  client.forwardBackward(data, Loss.crossEntropy)

const examples = (weight: number): NonEmptyReadonlyArray<Datum.Datum<"WeightedTokens">> => [
  Fixture.weighted(Fixture.full(weight)),
  Fixture.backwards(Fixture.full(weight))
]

const both = examples(1)

const evaluate = (client: TrainingClient) => Fixture.run(client.forward(both, Loss.crossEntropy))

/** The loss of the examples. */
const lossOf = (client: TrainingClient) => Effect.map(evaluate(client), ({ metrics }) => metrics["loss:sum"] ?? NaN)

/** The log-probabilities of both examples. */
const logprobsOf = (client: TrainingClient) =>
  Effect.map(evaluate(client), ({ logprobs }) => logprobs.flatMap((logprobsT) => [...logprobsT]))

const rounds = 4

/** Steps after which the examples are likely, so no term of their gradient is too small to be seen. Each aims to halve the loss. */
const approach = Effect.fnUntraced(function*(client: TrainingClient) {
  for (let round = 0; round < rounds; round++) {
    const loss = yield* lossOf(client)
    const norm = (yield* descend(client, [crossEntropy(...both)], 0)) ?? NaN
    yield* descend(client, [crossEntropy(...both)], loss / 2 / norm ** 2)
  }
})

interface Measured {
  readonly client: TrainingClient
  /** The result of `read` after a step from the model's first weights. */
  readonly after: <A, E, R>(
    passes: ReadonlyArray<Pass>,
    rate: number,
    read: (client: TrainingClient) => Effect.Effect<A, E, R>
  ) => Effect.Effect<A, E | TinkerError, R>
  /** The squared norm of the gradient of a pass. */
  readonly squaredNorm: (pass: Pass) => Effect.Effect<number, TinkerError>
}

/** Measures steps that start from the same weights. It applies to backends that report `grad_norm` and sum losses over tokens. */
const measuring = (
  options: Fixture.Options,
  prepare: (client: TrainingClient) => Effect.Effect<void, TinkerError>,
  check: (measured: Measured) => Effect.Effect<void, Case.Failure, Tinker | Scope.Scope>
) =>
  Effect.gen(function*() {
    const { lossReduction } = yield* Fixture.capabilities(options)
    const client = yield* Fixture.training(options)
    const reported = yield* descend(client, [crossEntropy(...both)], 0)
    if (lossReduction !== "token-sum" || reported === undefined) return Case.inapplicable
    yield* prepare(client)
    const { path } = yield* Fixture.run(client.saveState("contract"))
    const after: Measured["after"] = (passes, rate, read) =>
      Fixture.run(client.loadState(path)).pipe(
        Effect.andThen(descend(client, passes, rate)),
        Effect.andThen(read(client))
      )
    const squaredNorm: Measured["squaredNorm"] = (pass) =>
      Effect.map(descend(client, [pass], 0), (norm = NaN) => norm ** 2)
    return yield* check({ client, after, squaredNorm })
  })

/** The fall of the loss that a step aims for: far above rounding, and small enough for the loss to be nearly linear along the step. */
const fall = 0.3

/** Log-probabilities of a reduced precision, added up over the examples, may be off by this. */
const rounding = 0.05

const length = (options: Fixture.Options) =>
  Case.make(
    "gradients: a step lowers the loss by its length times the gradient's norm, and raises it in the other direction",
    measuring(options, approach, ({ after, squaredNorm }) =>
      Effect.gen(function*() {
        const rate = fall / (yield* squaredNorm(crossEntropy(...both)))
        const ahead = yield* after([crossEntropy(...both)], rate, lossOf)
        const behind = yield* after([crossEntropy(...examples(-1))], rate, lossOf)
        const found = (behind - ahead) / 2
        yield* Case.expect(
          Math.abs(found - fall) <= rounding,
          `learningRate / eps · grad_norm², ${fall}, within ${rounding} as the fall of the loss`,
          found
        )
      }))
  )

/** The fall of the loss of a step whose effect on single log-probabilities is seen. */
const visible = 1

const sum = (options: Fixture.Options) =>
  Case.make(
    "gradients: the gradient of a pass is the sum over its data",
    measuring(options, () => Effect.void, ({ after, squaredNorm }) =>
      Effect.gen(function*() {
        const rate = visible / (yield* squaredNorm(crossEntropy(...both)))
        const apart = both.map((datum) => crossEntropy(datum))
        const together = yield* after([crossEntropy(...both)], rate, logprobsOf)
        yield* Case.expectClose(
          "logprobs after one pass of two data",
          together,
          yield* after(apart, rate, logprobsOf)
        )
      }))
  )

/** Compares the step of a policy loss with that of a cross entropy whose weights are the loss's negative derivatives. */
const policyLosses = (options: Fixture.Options) =>
  LossCases.formulas.map(([title, loss]) =>
    Case.make(
      `gradients: ${title} has the gradient of its formula`,
      measuring(options, () => Effect.void, ({ after, client, squaredNorm }) =>
        Effect.gen(function*() {
          const logprobs = yield* Fixture.logprobs(client)
          const datum = LossCases.drifted(logprobs)
          const { gradient } = LossValue.evaluate(loss, datum.inputs, logprobs)
          const expected = crossEntropy(Fixture.weighted(Float32Array.from(gradient, (slope) => -slope)))
          const rate = visible / (yield* squaredNorm(expected))
          const found = yield* after([(client) => client.forwardBackward([datum], loss)], rate, logprobsOf)
          yield* Case.expectClose("logprobs after the step", found, yield* after([expected], rate, logprobsOf))
        }))
    )
  )

/** Cases about the direction and the length of gradients. They take steps of gradient descent, because Adam hides a gradient's length. */
export const cases = (options: Fixture.Options): ReadonlyArray<Case.Case> => [
  length(options),
  sum(options),
  ...policyLosses(options)
]
