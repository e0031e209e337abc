import * as Effect from "effect/Effect"
import { Tinker } from "../../backend/Tinker.ts"
import * as Loss from "../../model/Loss.ts"
import * as Case from "./Case.ts"
import * as Fixture from "./Fixture.ts"

/** An example whose gradient has the opposite direction. Under Adam, the effect of its step depends on earlier steps. */
const away = Fixture.weighted(Fixture.full(-1))

const missing = "no-such-checkpoint"

const snapshots = (options: Fixture.Options): ReadonlyArray<Case.Case> => [
  Case.make(
    "checkpoints: a snapshot keeps its weights while training continues",
    Fixture.where(
      options,
      ({ promptLogprobs }) => promptLogprobs,
      Effect.gen(function*() {
        const client = yield* Fixture.training(options)
        yield* Fixture.learn(client)
        const sampler = yield* client.saveWeightsAndGetSamplingClient
        const before = yield* Fixture.sampled(sampler)
        yield* Fixture.learn(client)
        yield* Case.expectClose("logprobs of the snapshot", yield* Fixture.sampled(sampler), before)
        yield* Case.expectDifferent("logprobs of the trainer", yield* Fixture.logprobs(client), before)
      })
    )
  ),
  Case.make(
    "checkpoints: weights saved for sampling are sampled from by their path",
    Fixture.where(
      options,
      ({ promptLogprobs }) => promptLogprobs,
      Effect.gen(function*() {
        const client = yield* Fixture.training(options)
        yield* Fixture.learn(client)
        const { path } = yield* Fixture.run(client.saveWeightsForSampler("contract"))
        const trained = yield* Fixture.logprobs(client)
        yield* Fixture.learn(client)
        const sampler = yield* (yield* Tinker).createSamplingClient({ modelPath: path })
        yield* Case.expectEqual("modelPath", sampler.modelPath, path)
        yield* Case.expectClose("logprobs of the saved weights", yield* Fixture.sampled(sampler), trained)
      })
    )
  ),
  Case.make(
    "checkpoints: different names give different paths",
    Effect.gen(function*() {
      const client = yield* Fixture.training(options)
      const one = yield* Fixture.run(client.saveState("contract-1"))
      const other = yield* Fixture.run(client.saveState("contract-2"))
      yield* Case.expect(one.path !== other.path, "two paths", one.path)
    })
  )
]

const identities = (options: Fixture.Options): ReadonlyArray<Case.Case> => [
  Case.make(
    "states: training does not continue from weights saved for sampling",
    Effect.gen(function*() {
      const client = yield* Fixture.training(options)
      const { path } = yield* Fixture.run(client.saveWeightsForSampler("contract"))
      yield* Case.expectFailure((yield* Tinker).createTrainingClientFromState(path), "Rejected")
    })
  ),
  Case.make(
    "states: clients that save under the same name have different paths",
    Effect.gen(function*() {
      const save = Effect.flatMap(Fixture.training(options), (client) => Fixture.run(client.saveState("contract")))
      const [one, other] = [yield* save, yield* save]
      yield* Case.expect(one.path !== other.path, "two paths", one.path)
    })
  )
]

/** Log-probabilities after a step away from a saved state, and after loading the state and repeating the step. */
const resumedStep = Effect.fnUntraced(function*(options: Fixture.Options, loading?: { readonly optimizer: boolean }) {
  const client = yield* Fixture.training(options)
  yield* Fixture.learn(client)
  const { path } = yield* Fixture.run(client.saveState("contract"))
  yield* Fixture.learn(client, away)
  const uninterrupted = yield* Fixture.logprobs(client)
  yield* Fixture.run(client.loadState(path, loading))
  yield* Fixture.learn(client, away)
  return { resumed: yield* Fixture.logprobs(client), uninterrupted }
})

const states = (options: Fixture.Options): ReadonlyArray<Case.Case> => [
  Case.make(
    "checkpoints: loading a state gives its weights back",
    Effect.gen(function*() {
      const client = yield* Fixture.training(options)
      yield* Fixture.learn(client)
      const saved = yield* Fixture.logprobs(client)
      const { path } = yield* Fixture.run(client.saveState("contract"))
      yield* Fixture.learn(client)
      yield* Fixture.run(client.loadState(path))
      yield* Case.expectClose("logprobs after loading", yield* Fixture.logprobs(client), saved)
    })
  ),
  Case.make(
    "checkpoints: loading a state with its optimizer continues training as if it had not stopped",
    Effect.gen(function*() {
      const { resumed, uninterrupted } = yield* resumedStep(options, { optimizer: true })
      yield* Case.expectClose("logprobs of the resumed step", resumed, uninterrupted)
    })
  ),
  Case.make(
    "checkpoints: loading a state without its optimizer starts a new optimizer",
    Effect.gen(function*() {
      const { resumed, uninterrupted } = yield* resumedStep(options)
      yield* Case.expectDifferent("logprobs of a step with a new optimizer", resumed, uninterrupted)
    })
  ),
  Case.make(
    "checkpoints: loading drops gradients that no step has used",
    Effect.gen(function*() {
      const client = yield* Fixture.training(options)
      const { path } = yield* Fixture.run(client.saveState("contract"))
      const saved = yield* Fixture.logprobs(client)
      yield* Fixture.run(client.forwardBackward([Fixture.weighted()], Loss.crossEntropy))
      yield* Fixture.run(client.loadState(path))
      yield* Fixture.run(Fixture.step(client))
      yield* Case.expectClose("logprobs after a step without gradient", yield* Fixture.logprobs(client), saved)
    })
  ),
  Case.make(
    "checkpoints: a new client continues from a state, including the optimizer",
    Effect.gen(function*() {
      const client = yield* Fixture.training(options)
      yield* Fixture.learn(client)
      const { path } = yield* Fixture.run(client.saveState("contract"))
      const next = yield* (yield* Tinker).createTrainingClientFromState(path)
      yield* Fixture.learn(client, away)
      yield* Fixture.learn(next, away)
      yield* Case.expectEqual("info.baseModel", next.info.baseModel, options.baseModel)
      yield* Case.expectEqual("info.loraRank", next.info.loraRank, client.info.loraRank)
      yield* Case.expectClose("logprobs", yield* Fixture.logprobs(next), yield* Fixture.logprobs(client))
    })
  )
]

const absent = (options: Fixture.Options): ReadonlyArray<Case.Case> => [
  Case.make(
    "checkpoints: loading one that is missing is NotFound",
    Effect.gen(function*() {
      const client = yield* Fixture.training(options)
      yield* Case.expectFailure(Fixture.run(client.loadState(missing)), "NotFound", missing)
    })
  ),
  Case.make(
    "checkpoints: sampling from one that is missing is NotFound",
    Effect.flatMap(
      Tinker,
      (tinker) => Case.expectFailure(tinker.createSamplingClient({ modelPath: missing }), "NotFound", missing)
    )
  ),
  Case.make(
    "checkpoints: training from one that is missing is NotFound",
    Effect.flatMap(
      Tinker,
      (tinker) => Case.expectFailure(tinker.createTrainingClientFromState(missing), "NotFound", missing)
    )
  )
]

/** Cases about saving and loading checkpoints. */
export const cases = (options: Fixture.Options): ReadonlyArray<Case.Case> => [
  ...snapshots(options),
  ...states(options),
  ...identities(options),
  ...absent(options)
]
