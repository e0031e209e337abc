/** What our client and a server should do together, whoever made the server. */
import { Datum, Loss, ModelInput, type Pending, Tinker, type TinkerError, type TrainingClient } from "@effect-rl/core"
import { Effect, type Scope } from "effect"
import { type Check, check, close, distance, expect, orRefused, refused } from "./Check.ts"
import { checks as restChecks } from "./RestChecks.ts"
import { checks as samplingChecks } from "./SamplingChecks.ts"

const promptTokens = [12, 7, 9, 31, 5]
const prompt = ModelInput.fromTokens(promptTokens)
const targetTokens = Int32Array.of(7, 9, 31, 5, 14)

const weighted = (...weights: ReadonlyArray<number>) =>
  Datum.weightedTokens(prompt, { targetTokens, weights: Float32Array.from(weights) })

const policy = Datum.policyTokens(prompt, {
  targetTokens,
  logprobs: Float32Array.of(0, -2, -3, -2.5, -2),
  advantages: Float32Array.of(0, 1, -1, 0.5, 2),
  mask: Float32Array.of(0, 1, 1, 1, 1)
})

const first = weighted(0, 1, 1, 1, 1)
const data = [first, weighted(0, 0, 1, 1, 0.5), weighted(0, 1, 0, 0, 0)] as const
const silent = [weighted(0, 0, 0, 0, 0)] as const

type Client = TrainingClient.TrainingClient

const awaited = <A, E, R>(submitted: Effect.Effect<Pending.Pending<A>, E, R>) =>
  Effect.flatMap(submitted, (pending) => pending.await)

const logprobs = (client: Client) =>
  Effect.map(awaited(client.forward([first], Loss.crossEntropy)), ({ logprobs: [found = new Float32Array()] }) => found)

/** Both are submitted before either is awaited. */
const learn = Effect.fnUntraced(function*(client: Client) {
  const pass = yield* client.forwardBackward(data, Loss.crossEntropy)
  const step = yield* client.optimStep({ learningRate: 1e-2 })
  yield* step.await
  return yield* pass.await
})

const models = (baseModel: string, create: Create): ReadonlyArray<Check> => [
  check(
    "the model is listed",
    Tinker.Tinker.use(({ models }) =>
      Effect.flatMap(models, (names) => expect(names.includes(baseModel), `listed are ${names}`))
    )
  ),
  check(
    "a training client says what it trains",
    Effect.flatMap(
      create,
      ({ info }) => expect(info.baseModel === baseModel && info.loraRank === 8, JSON.stringify(info))
    )
  ),
  check(
    "an unknown model is NotFound",
    refused(Tinker.Tinker.use((tinker) => tinker.createLoraTrainingClient({ baseModel: "nobody" })), "NotFound")
  ),
  check(
    "an unloaded client is Closed",
    Effect.gen(function*() {
      const client = yield* create
      yield* client.unload
      yield* refused(awaited(client.optimStep({ learningRate: 1 })), "Closed")
    })
  )
]

const passes = (create: Create): ReadonlyArray<Check> => [
  check(
    "forward_backward and optim_step, submitted together: three outputs, and the weights move",
    Effect.gen(function*() {
      const client = yield* create
      const before = yield* logprobs(client)
      const { logprobs: outputs } = yield* learn(client)
      yield* expect(outputs.length === 3 && outputs.every((one) => one.length === 5), `outputs are ${outputs.length}`)
      yield* close("log-probabilities before the step", outputs[0] ?? [], before, 0.05)
      yield* learn(client)
      yield* expect(distance(yield* logprobs(client), before) > 0.1, "nothing was learned")
    })
  ),
  check(
    "a datum of weight zero moves nothing",
    Effect.gen(function*() {
      const client = yield* create
      const before = yield* logprobs(client)
      yield* awaited(client.forwardBackward(silent, Loss.crossEntropy))
      yield* awaited(client.optimStep({ learningRate: 1e-2 }))
      yield* close("log-probabilities", yield* logprobs(client), before, 1e-6)
    })
  ),
  ...[Loss.importanceSampling, Loss.ppo(), Loss.cispo(), Loss.dro({ beta: 0.1 })].map((loss) =>
    check(
      `${loss.name}, or a refusal that names it`,
      Effect.gen(function*() {
        const client = yield* create
        return yield* orRefused(
          Effect.gen(function*() {
            const { logprobs: [found] } = yield* awaited(client.forwardBackward([policy], loss))
            yield* expect(found?.length === 5 && found.every(Number.isFinite), `log-probabilities are ${found}`)
            yield* awaited(client.optimStep({ learningRate: 1e-3 }))
          }),
          "Unsupported"
        )
      })
    )
  ),
  check(
    "a custom loss of plain cross entropy is cross entropy",
    Effect.gen(function*() {
      const [custom, builtIn] = [yield* create, yield* create]
      const gradients = data.map(({ inputs }) => inputs.weights.map((weight) => -weight))
      return yield* orRefused(
        Effect.gen(function*() {
          yield* awaited(custom.forwardBackwardCustom(data, () => Effect.succeed({ loss: 1, gradients })))
          yield* awaited(custom.optimStep({ learningRate: 1e-2 }))
          yield* learn(builtIn)
          yield* close("log-probabilities", yield* logprobs(custom), yield* logprobs(builtIn), 0.05)
        }),
        "Unsupported"
      )
    })
  ),
  check(
    "a token id outside of the vocabulary is refused, and the client goes on",
    Effect.gen(function*() {
      const client = yield* create
      const input = { targetTokens: Int32Array.of(1), weights: Float32Array.of(1) }
      const wrong = Datum.weightedTokens(ModelInput.fromTokens([999_999]), input)
      const said = yield* orRefused(awaited(client.forward([wrong], Loss.crossEntropy)), "Rejected", "Unavailable")
      yield* logprobs(client)
      return said === "passed" ? "accepted by the server, which clamps it" : said
    })
  )
]

const checkpoints = (create: Create): ReadonlyArray<Check> => [
  check(
    "a state and weights for sampling of one name do not clash",
    Effect.gen(function*() {
      const client = yield* create
      const state = yield* awaited(client.saveState("both"))
      const weights = yield* awaited(client.saveWeightsForSampler("both"))
      yield* expect(state.path !== weights.path, `both are at ${state.path}`)
    })
  ),
  check(
    "a client made from a state has its weights, and its optimizer",
    Effect.gen(function*() {
      const client = yield* create
      yield* learn(client)
      const { path } = yield* awaited(client.saveState("state"))
      const saved = yield* logprobs(client)
      yield* learn(client)
      const other = yield* Tinker.Tinker.use((tinker) => tinker.createTrainingClientFromState(path))
      yield* close("log-probabilities", yield* logprobs(other), saved, 1e-6)
      yield* learn(other)
      yield* close("log-probabilities after a step", yield* logprobs(other), yield* logprobs(client), 0.05)
    })
  ),
  ...[false, true].map((optimizer) =>
    check(
      `load_state ${optimizer ? "with" : "without"} the optimizer after training, or a refusal that names it`,
      Effect.gen(function*() {
        const client = yield* create
        const { path } = yield* awaited(client.saveState(`load-${optimizer}`))
        const saved = yield* logprobs(client)
        yield* learn(client)
        return yield* orRefused(
          Effect.gen(function*() {
            yield* awaited(client.loadState(path, { optimizer }))
            yield* close("log-probabilities", yield* logprobs(client), saved, 1e-6)
          }),
          "Unsupported"
        )
      })
    )
  ),
  check(
    "a checkpoint that is not there is NotFound",
    refused(
      Tinker.Tinker.use((tinker) => tinker.createTrainingClientFromState("tinker://nobody/weights/nothing")),
      "NotFound"
    )
  ),
  check(
    "sampling from saved weights, and from a snapshot, is sampling from what was trained",
    Effect.gen(function*() {
      const client = yield* create
      yield* learn(client)
      const { path } = yield* awaited(client.saveWeightsForSampler("trained"))
      const named = yield* Tinker.Tinker.use((tinker) => tinker.createSamplingClient({ modelPath: path }))
      const snapshot = yield* client.saveWeightsAndGetSamplingClient
      const whole = ModelInput.append(prompt, targetTokens.subarray(-1))
      const trained = yield* logprobs(client)
      for (const one of [named, snapshot]) {
        const found = yield* one.computeLogprobs(whole)
        yield* close("log-probabilities", found.subarray(1), trained, 0.15)
      }
    })
  )
]

type Create = Effect.Effect<Client, TinkerError.TinkerError, Tinker.Tinker | Scope.Scope>

/** In the order of the life of a run. */
export const checks = (baseModel: string): ReadonlyArray<Check> => {
  const create = Tinker.Tinker.use((tinker) => tinker.createLoraTrainingClient({ baseModel, loraRank: 8, seed: 3 }))
  const sampler = Tinker.Tinker.use((tinker) => tinker.createSamplingClient({ baseModel }))
  return [
    ...models(baseModel, create),
    ...passes(create),
    ...checkpoints(create),
    ...restChecks(create),
    ...samplingChecks(sampler)
  ]
}
