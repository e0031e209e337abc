import * as Effect from "effect/Effect"
import * as Loss from "../../model/Loss.ts"
import * as Case from "./Case.ts"
import * as Fixture from "./Fixture.ts"

/** Log-probabilities after one optimizer step on the passes that `accumulate` submits. */
const after = Effect.fnUntraced(function*(
  options: Fixture.Options,
  accumulate: (client: Effect.Success<ReturnType<typeof Fixture.training>>) => Effect.Effect<unknown, Case.Failure>
) {
  const client = yield* Fixture.training(options)
  yield* accumulate(client)
  yield* Fixture.run(Fixture.step(client))
  return yield* Fixture.logprobs(client)
})

const sum = (values: Float32Array) => values.reduce((total, value) => total + value, 0)

const passes = (options: Fixture.Options): ReadonlyArray<Case.Case> => [
  Case.make(
    "training: a pass gives one log-probability per position of each datum, in order",
    Effect.gen(function*() {
      const client = yield* Fixture.training(options)
      const data = [Fixture.weighted(), Fixture.backwards()] as const
      const both = yield* Fixture.run(client.forward(data, Loss.crossEntropy))
      yield* Case.expectEqual("logprobs.length", both.logprobs.length, 2)
      for (const [index, datum] of data.entries()) {
        const alone = yield* Fixture.run(client.forward([datum], Loss.crossEntropy))
        const found = both.logprobs[index] ?? new Float32Array()
        yield* Case.expectEqual(`logprobs[${index}].length`, found.length, Fixture.size)
        yield* Case.expectClose(`logprobs[${index}]`, found, alone.logprobs[0] ?? new Float32Array())
      }
    })
  ),
  Case.make(
    "training: forward and forwardBackward give the same outputs",
    Effect.gen(function*() {
      const client = yield* Fixture.training(options)
      const forward = yield* Fixture.run(client.forward([Fixture.weighted()], Loss.crossEntropy))
      const both = yield* Fixture.run(client.forwardBackward([Fixture.weighted()], Loss.crossEntropy))
      const found = both.logprobs[0] ?? new Float32Array()
      yield* Case.expectClose("logprobs", found, forward.logprobs[0] ?? new Float32Array())
      yield* Case.expectClose("loss:sum", [both.metrics["loss:sum"] ?? NaN], [forward.metrics["loss:sum"] ?? NaN])
    })
  ),
  Case.make(
    "training: the trainer's log-probabilities are the sampler's",
    Fixture.where(
      options,
      ({ promptLogprobs }) => promptLogprobs,
      Effect.gen(function*() {
        const client = yield* Fixture.training(options)
        yield* Fixture.learn(client)
        const sampler = yield* client.saveWeightsAndGetSamplingClient
        yield* Case.expectClose("logprobs", yield* Fixture.sampled(sampler), yield* Fixture.logprobs(client))
      })
    )
  ),
  Case.make(
    "training: neither pass changes the weights",
    Effect.gen(function*() {
      const client = yield* Fixture.training(options)
      const before = yield* Fixture.logprobs(client)
      yield* Fixture.run(client.forward([Fixture.backwards()], Loss.crossEntropy))
      yield* Fixture.run(client.forwardBackward([Fixture.backwards()], Loss.crossEntropy))
      yield* Case.expectClose("logprobs before the step", yield* Fixture.logprobs(client), before)
    })
  ),
  Case.make(
    "training: forward leaves no gradient",
    Effect.gen(function*() {
      const plain = yield* after(options, (client) => client.forwardBackward([Fixture.weighted()], Loss.crossEntropy))
      const mixed = yield* after(options, (client) =>
        Effect.andThen(
          client.forward([Fixture.weighted(Fixture.full(-2))], Loss.crossEntropy),
          client.forwardBackward([Fixture.weighted()], Loss.crossEntropy)
        ))
      yield* Case.expectClose("logprobs after a forward on other data", mixed, plain)
    })
  )
]

const steps = (options: Fixture.Options): ReadonlyArray<Case.Case> => [
  Case.make(
    "training: a step changes the weights",
    Effect.gen(function*() {
      const client = yield* Fixture.training(options)
      const before = yield* Fixture.logprobs(client)
      yield* Fixture.learn(client)
      yield* Case.expectDifferent("logprobs after a step", yield* Fixture.logprobs(client), before)
    })
  ),
  Case.make(
    "training: a step with learning rate 0 does not change the weights",
    Effect.gen(function*() {
      const client = yield* Fixture.training(options)
      const before = yield* Fixture.logprobs(client)
      yield* Fixture.run(client.forwardBackward([Fixture.weighted()], Loss.crossEntropy))
      yield* Fixture.run(client.optimStep({ learningRate: 0 }))
      yield* Case.expectClose("logprobs after a step of 0", yield* Fixture.logprobs(client), before)
    })
  ),
  Case.make(
    "training: cross entropy makes its targets more likely",
    Effect.gen(function*() {
      const client = yield* Fixture.training(options)
      const before = sum(yield* Fixture.logprobs(client))
      yield* Fixture.learn(client)
      const learned = sum(yield* Fixture.logprobs(client))
      yield* Case.expect(learned > before, `a log-probability above ${before}`, learned)
    })
  ),
  Case.make(
    "training: a negative advantage makes its tokens less likely",
    Effect.gen(function*() {
      const client = yield* Fixture.training(options)
      const logprobs = yield* Fixture.logprobs(client)
      const data = [Fixture.policy({ logprobs, advantages: Fixture.full(-1) })] as const
      yield* Fixture.run(client.forwardBackward(data, Loss.importanceSampling))
      yield* Fixture.run(Fixture.step(client))
      const learned = sum(yield* Fixture.logprobs(client))
      yield* Case.expect(learned < sum(logprobs), `a log-probability below ${sum(logprobs)}`, learned)
    })
  ),
  Case.make(
    "training: advantages of 0 change nothing",
    Effect.gen(function*() {
      const client = yield* Fixture.training(options)
      const before = yield* Fixture.logprobs(client)
      const data = [Fixture.policy({ logprobs: before, advantages: Fixture.full(0) })] as const
      yield* Fixture.run(client.forwardBackward(data, Loss.importanceSampling))
      yield* Fixture.run(Fixture.step(client))
      yield* Case.expectClose("logprobs", yield* Fixture.logprobs(client), before)
    })
  ),
  Case.make(
    "training: gradients of several passes add up",
    Fixture.where(
      options,
      ({ lossReduction }) => lossReduction === "token-sum",
      Effect.gen(function*() {
        const apart = yield* after(options, (client) =>
          Effect.andThen(
            client.forwardBackward([Fixture.weighted()], Loss.crossEntropy),
            client.forwardBackward([Fixture.weighted(Fixture.full(-0.5))], Loss.crossEntropy)
          ))
        const together = yield* after(
          options,
          (client) => client.forwardBackward([Fixture.weighted(Fixture.full(0.5))], Loss.crossEntropy)
        )
        yield* Case.expectClose("logprobs", apart, together)
      })
    )
  ),
  Case.make(
    "training: the second of two passes counts as much as the first",
    Fixture.where(
      options,
      ({ lossReduction }) => lossReduction === "token-sum",
      Effect.gen(function*() {
        const both = yield* after(options, (client) =>
          Effect.andThen(
            client.forwardBackward([Fixture.weighted()], Loss.crossEntropy),
            client.forwardBackward([Fixture.weighted(Fixture.full(-2))], Loss.crossEntropy)
          ))
        const away = yield* after(
          options,
          (client) => client.forwardBackward([Fixture.weighted(Fixture.full(-1))], Loss.crossEntropy)
        )
        yield* Case.expectClose("logprobs", both, away)
      })
    )
  ),
  Case.make(
    "training: equal seeds and equal requests give equal weights",
    Fixture.where(
      options,
      ({ seeds }) => seeds !== "none",
      Effect.gen(function*() {
        const learn = Effect.flatMap(
          Fixture.training(options),
          (client) => Effect.andThen(Fixture.learn(client), Fixture.logprobs(client))
        )
        yield* Case.expectClose("logprobs", yield* learn, yield* learn)
      })
    )
  ),
  Case.make(
    "training: clients do not share weights",
    Effect.gen(function*() {
      const one = yield* Fixture.training(options)
      const other = yield* Fixture.training(options)
      const before = yield* Fixture.logprobs(other)
      yield* Fixture.learn(one)
      yield* Case.expectClose("logprobs of the other client", yield* Fixture.logprobs(other), before)
    })
  )
]

/** Cases about the outputs of passes, and the effects of passes and optimizer steps on the weights. */
export const cases = (options: Fixture.Options): ReadonlyArray<Case.Case> => [...passes(options), ...steps(options)]
