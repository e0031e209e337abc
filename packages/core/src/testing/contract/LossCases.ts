import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import type * as Datum from "../../model/Datum.ts"
import * as Loss from "../../model/Loss.ts"
import * as Statistics from "../../records/Statistics.ts"
import * as Case from "./Case.ts"
import * as Fixture from "./Fixture.ts"

/** The loss L of one token as documented in `Loss`, as a function of ratio, log-probability and advantage. */
type Formula = (ratio: number, logprob: number, advantage: number) => number

const clip = (ratio: number, low: number, high: number) => Math.min(Math.max(ratio, low), high)

/** The difference of the trainer's log-probability from the sampler's, per position. */
const drifts = [0.6, -0.6, 0.1, -0.1, 0.3, 0, -0.2]
const advantages = Float32Array.of(1, -1, 0.5, -0.5, 2, 1, -2)

const sequenceRatio = Math.exp(Statistics.mean(drifts))

/** The policy losses with their settings, and their documented values. */
export const formulas: ReadonlyArray<readonly [title: string, loss: Loss.Loss<"PolicyTokens">, formula: Formula]> = [
  ["importance_sampling", Loss.importanceSampling, (ratio, _, advantage) => -ratio * advantage],
  [
    "ppo",
    Loss.ppo(),
    (ratio, _, advantage) => -Math.min(ratio * advantage, clip(ratio, 0.8, 1.2) * advantage)
  ],
  [
    "ppo with wider clipping",
    Loss.ppo({ clipLow: 0.5, clipHigh: 1.5 }),
    (ratio, _, advantage) => -Math.min(ratio * advantage, clip(ratio, 0.5, 1.5) * advantage)
  ],
  ["cispo", Loss.cispo({ clipHigh: 1.4 }), (ratio, logprob, advantage) => -clip(ratio, 0, 1.4) * logprob * advantage],
  ["dro", Loss.dro({ beta: 0.2 }), (ratio, logprob, advantage) => -(logprob * advantage - 0.1 * Math.log(ratio) ** 2)],
  [
    "gspo",
    Loss.gspo({ clipHigh: 1.01 }),
    (_ratio, _logprob, advantage) => -Math.min(sequenceRatio * advantage, clip(sequenceRatio, 0.9997, 1.01) * advantage)
  ]
]

/** An example whose log-probabilities differ from the trainer's. */
export const drifted = (logprobs: Float32Array) =>
  Fixture.policy({ advantages, logprobs: logprobs.map((value, t) => value - (drifts[t] ?? 0)) })

const policyLosses = (options: Fixture.Options): ReadonlyArray<Case.Case> =>
  formulas.map(([title, loss, formula]) =>
    Case.make(
      `losses: ${title} is the documented sum over tokens`,
      Fixture.where(
        options,
        ({ lossReduction }) => lossReduction === "token-sum",
        Effect.gen(function*() {
          const client = yield* Fixture.training(options)
          const logprobs = yield* Fixture.logprobs(client)
          const datum = drifted(logprobs)
          const { metrics } = yield* Fixture.run(client.forwardBackward([datum, datum], loss))
          const terms = drifts.map((drift, t) => formula(Math.exp(drift), logprobs[t] ?? NaN, advantages[t] ?? NaN))
          const expected = 2 * terms.reduce((sum, term) => sum + term, 0)
          yield* Case.expectClose("loss:sum", [metrics["loss:sum"] ?? NaN], [expected])
        })
      )
    )
  )

/** Two candidates per target, with the same weights at every position. */
const soft = (candidates: (target: number) => readonly [number, number], weights: readonly [number, number]) => ({
  kind: "WeightedCandidates",
  modelInput: Fixture.input,
  inputs: {
    candidates: 2,
    targetTokens: Int32Array.from([...Fixture.targetTokens].flatMap(candidates)),
    weights: Float32Array.from([...Fixture.targetTokens].flatMap(() => weights))
  }
} satisfies Datum.Datum<"WeightedCandidates">)

const supervised = (options: Fixture.Options): ReadonlyArray<Case.Case> => [
  Case.make(
    "losses: cross_entropy is the weighted sum of negative log-probabilities",
    Fixture.where(
      options,
      ({ lossReduction }) => lossReduction === "token-sum",
      Effect.gen(function*() {
        const client = yield* Fixture.training(options)
        const weights = Float32Array.of(0, 0, 1, 2, 0.5, 1, 1)
        const { logprobs: [logprobs = new Float32Array()], metrics } = yield* Fixture.run(
          client.forward([Fixture.weighted(weights)], Loss.crossEntropy)
        )
        const expected = logprobs.reduce((sum, value, t) => sum - value * (weights[t] ?? NaN), 0)
        yield* Case.expectClose("loss:sum", [metrics["loss:sum"] ?? NaN], [expected])
      })
    )
  ),
  Case.make(
    "losses: soft targets with all weight on one are that target",
    Effect.gen(function*() {
      const client = yield* Fixture.training(options)
      const certain = soft((target) => [target, 7], [1, 0])
      const hard = yield* Fixture.run(client.forward([Fixture.weighted()], Loss.crossEntropy))
      const found = yield* Fixture.run(client.forward([certain], Loss.crossEntropyCandidates))
      yield* Case.expectClose("loss:sum", [found.metrics["loss:sum"] ?? NaN], [hard.metrics["loss:sum"] ?? NaN])
    })
  ),
  Case.make(
    "losses: soft targets have a log-probability for every candidate",
    Effect.gen(function*() {
      const client = yield* Fixture.training(options)
      const even = soft((target) => [7, target], [0.5, 0.5])
      const { logprobs: [hard = []] } = yield* Fixture.run(client.forward([Fixture.weighted()], Loss.crossEntropy))
      const { logprobs: [found = []] } = yield* Fixture.run(client.forward([even], Loss.crossEntropyCandidates))
      yield* Case.expectEqual("logprobs.length", found.length, 2 * Fixture.targetTokens.length)
      yield* Case.expectClose("logprobs", Array.from(found).filter((_, at) => at % 2 === 1), Array.from(hard))
    })
  ),
  Case.make(
    "losses: masked tokens do not count, and need no log-probability",
    Effect.gen(function*() {
      const client = yield* Fixture.training(options)
      const head = (masked: number, kept: number) => Fixture.full(kept).fill(masked, 0, 3)
      const mask = head(0, 1)
      const lossOf = (logprobs: Float32Array) =>
        Effect.map(
          Fixture.run(
            client.forward([Fixture.policy({ logprobs, advantages: mask, mask })], Loss.importanceSampling)
          ),
          ({ metrics }) => [metrics["loss:sum"] ?? NaN]
        )
      yield* Case.expectClose("loss:sum", yield* lossOf(head(NaN, -2)), yield* lossOf(Fixture.full(-2)))
    })
  )
]

class OwnFailure extends Schema.TaggedError<OwnFailure>()("OwnFailure", {}) {}

const custom = (options: Fixture.Options): ReadonlyArray<Case.Case> => [
  Case.make(
    "losses: a custom loss gets the log-probabilities, and its value and metrics are returned",
    Effect.gen(function*() {
      const client = yield* Fixture.training(options)
      const expected = yield* Fixture.logprobs(client)
      const { metrics } = yield* Fixture.run(
        client.forwardBackwardCustom(
          [Fixture.weighted()],
          (_, [logprobs = new Float32Array()]) =>
            Effect.succeed({ loss: 42, gradients: [Fixture.full(0)], metrics: { first: logprobs[0] ?? NaN } })
        )
      )
      yield* Case.expectClose("loss:sum", [metrics["loss:sum"] ?? NaN], [42])
      yield* Case.expectClose("first", [metrics["first"] ?? NaN], [expected[0] ?? NaN])
    })
  ),
  Case.make(
    "losses: a custom cross entropy trains as the built-in one",
    Effect.gen(function*() {
      const builtIn = yield* Fixture.training(options)
      yield* Fixture.learn(builtIn)
      const client = yield* Fixture.training(options)
      yield* Fixture.run(
        client.forwardBackwardCustom(
          [Fixture.weighted()],
          (_, logprobs) => Effect.succeed({ loss: 0, gradients: logprobs.map((logprobsT) => logprobsT.map(() => -1)) })
        )
      )
      yield* Fixture.run(Fixture.step(client))
      yield* Case.expectClose("logprobs", yield* Fixture.logprobs(client), yield* Fixture.logprobs(builtIn))
    })
  ),
  Case.make(
    "losses: a custom loss fails with its own error, and the client stays usable",
    Effect.gen(function*() {
      const client = yield* Fixture.training(options)
      const failed = yield* client.forwardBackwardCustom([Fixture.weighted()], () => Effect.fail(new OwnFailure()))
        .pipe(
          Effect.flatMap((pending) => pending.await),
          Effect.as("success"),
          Effect.catchTag("OwnFailure", () => Effect.succeed("OwnFailure"))
        )
      yield* Case.expectEqual("the outcome", failed, "OwnFailure")
      yield* Fixture.learn(client)
    })
  ),
  Case.make(
    "losses: a custom loss is submitted without waiting for it, and later requests run after it",
    Effect.gen(function*() {
      const waiting = yield* Fixture.training(options)
      yield* Fixture.learn(waiting)
      const client = yield* Fixture.training(options)
      const gate = yield* Deferred.make<void>()
      const gradient = [Fixture.full(-1)]
      const pass = yield* client.forwardBackwardCustom(
        [Fixture.weighted()],
        () => Effect.as(Deferred.await(gate), { loss: 0, gradients: gradient })
      )
      const step = yield* Fixture.step(client)
      yield* Deferred.succeed(gate, undefined)
      yield* pass.await
      yield* step.await
      yield* Case.expectClose("logprobs", yield* Fixture.logprobs(client), yield* Fixture.logprobs(waiting))
    })
  ),
  Case.make(
    "losses: a step submitted after a custom loss is not taken if the loss fails",
    Effect.gen(function*() {
      const client = yield* Fixture.training(options)
      yield* Fixture.learn(client)
      const trained = yield* Fixture.logprobs(client)
      const gate = yield* Deferred.make<void>()
      const pass = yield* client.forwardBackwardCustom(
        [Fixture.weighted()],
        () => Effect.andThen(Deferred.await(gate), Effect.fail(new OwnFailure()))
      )
      const step = yield* Fixture.step(client)
      const failed = yield* Effect.forkChild(Effect.ignore(pass.await), { startImmediately: true })
      yield* Deferred.succeed(gate, undefined)
      yield* Fiber.join(failed)
      yield* Case.expectFailure(step.await, "Closed")
      yield* Case.expectClose("logprobs", yield* Fixture.logprobs(client), trained)
    })
  )
]

const configs = (options: Fixture.Options): ReadonlyArray<Case.Case> => [
  Case.make(
    "losses: a setting the loss does not have is Rejected",
    Effect.gen(function*() {
      const client = yield* Fixture.training(options)
      const loss: Loss.Loss<"PolicyTokens"> = { ...Loss.ppo(), config: { ...Loss.ppo().config, clip_sideways: 1 } }
      const pass = Fixture.run(client.forwardBackward([Fixture.policy()], loss))
      yield* Case.expectFailure(pass, "Rejected", "clip_sideways")
    })
  ),
  Case.make(
    "losses: a setting that is not a number is Rejected",
    Effect.gen(function*() {
      const client = yield* Fixture.training(options)
      const pass = Fixture.run(client.forwardBackward([Fixture.policy()], Loss.ppo({ clipHigh: NaN })))
      yield* Case.expectFailure(pass, "Rejected", "clip_high_threshold")
    })
  )
]

/** Cases about the values, gradients and configurations of losses. */
export const cases = (options: Fixture.Options): ReadonlyArray<Case.Case> => [
  ...policyLosses(options),
  ...supervised(options),
  ...custom(options),
  ...configs(options)
]
