// A complete custom backend: a model whose next letter depends only on the previous letter, with one table of logits. It satisfies the
// contract of every backend (examples/test/09-own-backend.test.ts), so any training program runs on it. In this example it learns the
// alphabet.
import {
  Advantage,
  type ChatModel,
  Credit,
  Env,
  EnvGroupBuilder,
  Loss,
  Rl,
  RLDataset,
  RunRecord,
  RunStore,
  Tinker,
  TinkerError
} from "@effect-rl/core"
import {
  type AdamParams,
  type Capabilities,
  CustomLoss,
  type Datum,
  LossValue,
  ModelInput,
  RequestQueue,
  RequestRules,
  type Sampling,
  type SamplingClient,
  type TrainingClient
} from "@effect-rl/core/backend"
import { Seed } from "@effect-rl/core/environments"
import { Renderers, type Tokenizer } from "@effect-rl/core/renderers"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Console, Effect, identity, Layer, Stream } from "effect"

export const name = "letters"

/** Token ids are ASCII codes. */
const vocabulary = 128

export const tokenizer: Tokenizer.Tokenizer = {
  encode: (text) => Int32Array.from(text, (letter) => letter.charCodeAt(0) % vocabulary),
  decode: (tokens) => String.fromCharCode(...Array.from(tokens)),
  specialToken: () => undefined,
  bosToken: undefined,
  eosTokenId: undefined,
  fingerprint: "ascii"
}

const capabilities: Capabilities.Capabilities = {
  contextLength: 256,
  lossReduction: "token-sum",
  seeds: "sample",
  promptLogprobs: true,
  topkPromptLogprobs: 0,
  loraRank: [1, 64],
  tokenizerFingerprint: tokenizer.fingerprint
}

const limits: RequestRules.Limits = { capabilities, vocabulary }

/** Model and optimizer state. `weights[before * vocabulary + next]` is a logit; the other arrays belong to Adam. */
interface State {
  readonly weights: Float64Array
  readonly first: Float64Array
  readonly second: Float64Array
  readonly steps: number
}

const zeros = () => new Float64Array(vocabulary * vocabulary)

const untrained: State = (() => {
  const next = Seed.uniform(1)
  return { weights: zeros().map(() => 2 * next() - 1), first: zeros(), second: zeros(), steps: 0 }
})()

/** Log-probabilities `[V]` of the letter after `before`. */
const logprobsAfter = (weights: Float64Array, before: number) => {
  const logits = weights.subarray(before * vocabulary, (before + 1) * vocabulary)
  const normalizer = Math.log(logits.reduce((sum, logit) => sum + Math.exp(logit), 0))
  return logits.map((logit) => logit - normalizer)
}

const tokensOf = (input: ModelInput.ModelInput) =>
  input.chunks.flatMap((chunk) =>
    chunk._tag === "Image" ? Array.from({ length: chunk.expectedTokens }, () => 0) : Array.from(chunk.tokens)
  )

const logprobsOf = (weights: Float64Array, prompt: ModelInput.ModelInput) => {
  const tokens = tokensOf(prompt)
  return Float32Array.from(tokens, (token, t) => logprobsAfter(weights, tokens[t - 1] ?? 0)[token] ?? NaN).fill(
    NaN,
    0,
    1
  )
}

/**
 * Draws a token. Applies the temperature, then keeps the `topK` likeliest tokens, then the fewest whose total probability reaches `topP`.
 * At temperature 0 the likeliest token is drawn.
 */
const draw = (logprobsV: Float64Array, params: Sampling.SamplingParams, uniform: number) => {
  const { temperature = 1, topK = 0, topP = 1 } = params
  const likeliest = Array.from(logprobsV.keys()).toSorted((a, b) => (logprobsV[b] ?? 0) - (logprobsV[a] ?? 0))
  const best = likeliest[0] ?? 0
  if (temperature === 0) return best
  const kept = topK > 0 ? likeliest.slice(0, topK) : likeliest
  const massesK = kept.map((token) => Math.exp((logprobsV[token] ?? -Infinity) / temperature))
  const total = massesK.reduce((sum, mass) => sum + mass, 0)
  const nucleus = massesK.findIndex((_, k) =>
    massesK.slice(0, k + 1).reduce((sum, mass) => sum + mass, 0) >= topP * total
  )
  const choices = nucleus < 0 ? massesK : massesK.slice(0, nucleus + 1)
  let left = uniform * choices.reduce((sum, mass) => sum + mass, 0)
  return kept[choices.findIndex((mass) => (left -= mass) < 0)] ?? best
}

const isStopped = (stop: Sampling.Stop, tokens: ReadonlyArray<number>) =>
  stop.some((end) => typeof end === "number" ? tokens.at(-1) === end : tokenizer.decode(tokens).endsWith(end))

const continuation = (weights: Float64Array, before: number, params: Sampling.SamplingParams, seed: number) => {
  const next = Seed.uniform(seed)
  const tokens: Array<number> = []
  const logprobs: Array<number> = []
  let stopReason: Sampling.SampleStopReason = "length"
  while (stopReason === "length" && tokens.length < params.maxTokens) {
    const logprobsV = logprobsAfter(weights, tokens.at(-1) ?? before)
    const token = draw(logprobsV, params, next())
    tokens.push(token)
    logprobs.push(logprobsV[token] ?? NaN)
    if (isStopped(params.stop ?? [], tokens)) stopReason = "stop"
  }
  return { tokens: Int32Array.from(tokens), logprobs: Float32Array.from(logprobs), stopReason }
}

const naming = (operation: string) => <A, R>(self: Effect.Effect<A, TinkerError.Reason, R>) =>
  Effect.mapError(self, (reason) => new TinkerError.TinkerError({ operation, reason }))

const makeSampler = Effect.fnUntraced(function*(modelPath: string, weights: Float64Array) {
  let isOpen = true
  let seeds = 0
  yield* Effect.addFinalizer(() => Effect.sync(() => isOpen = false))
  const open = Effect.suspend(() =>
    isOpen ? Effect.void : Effect.fail(new TinkerError.Closed({ detail: "the scope of the sampling client closed" }))
  )
  const client: SamplingClient.SamplingClient = {
    modelPath,
    capabilities,
    sample: Effect.fnUntraced(function*(request) {
      yield* open
      yield* RequestRules.sample(request, limits)
      const { numSamples = 1, params, prompt, promptLogprobs = false } = request
      const seed = params.seed ?? Seed.derive(0, modelPath, seeds++)
      const before = tokensOf(prompt).at(-1) ?? 0
      const sequences = Array.from({ length: numSamples }, (_, i) => continuation(weights, before, params, seed + i))
      return { sequences, ...(promptLogprobs && { promptLogprobs: logprobsOf(weights, prompt) }) }
    }, naming("sample")),
    computeLogprobs: Effect.fnUntraced(function*(prompt) {
      yield* open
      yield* RequestRules.prompt(prompt, limits)
      return logprobsOf(weights, prompt)
    }, naming("computeLogprobs"))
  }
  return client
})

type AnyDatum = Datum.Datum<Datum.Kind>

/** Returns the log-probabilities of each datum's targets and the summed loss. Adds the gradient of the loss to `gradient`, if given. */
const pass = (
  weights: Float64Array,
  data: ReadonlyArray<AnyDatum>,
  loss: Loss.Loss<Datum.Kind>,
  gradient?: Float64Array
) => {
  let total = 0
  const logprobs = data.map(({ inputs, modelInput }) => {
    const tokens = tokensOf(modelInput)
    const { targetTokens } = inputs
    const candidates = targetTokens.length / tokens.length
    const beforeOf = (at: number) => tokens[Math.floor(at / candidates)] ?? 0
    const logprobsTK = Float32Array.from(
      targetTokens,
      (token, at) => logprobsAfter(weights, beforeOf(at))[token] ?? NaN
    )
    const value = LossValue.evaluate(loss, inputs, logprobsTK)
    total += value.loss
    if (gradient !== undefined) {
      value.gradient.forEach((slope, at) => {
        const row = beforeOf(at) * vocabulary
        const logprobsV = logprobsAfter(weights, beforeOf(at))
        for (let v = 0; v < vocabulary; v++) {
          const isTarget = v === targetTokens[at] ? 1 : 0
          gradient[row + v] = (gradient[row + v] ?? 0) + slope * (isTarget - Math.exp(logprobsV[v] ?? 0))
        }
      })
    }
    return logprobsTK
  })
  return { logprobs, metrics: { "loss:sum": total } }
}

const norm = (values: Float64Array) => Math.sqrt(values.reduce((sum, value) => sum + value * value, 0))

/** One Adam step with gradient clipping and weight decay. Returns the new state and the norm of the gradient before clipping. */
const step = (state: State, gradient: Float64Array, adam: Required<AdamParams.AdamParams>) => {
  const { beta1, beta2, eps, gradClipNorm, learningRate, weightDecay } = adam
  const steps = state.steps + 1
  const gradNorm = norm(gradient)
  const scale = gradClipNorm > 0 && gradNorm > gradClipNorm ? gradClipNorm / gradNorm : 1
  const first = state.first.map((moment, i) => beta1 * moment + (1 - beta1) * scale * (gradient[i] ?? 0))
  const second = state.second.map((moment, i) => beta2 * moment + (1 - beta2) * (scale * (gradient[i] ?? 0)) ** 2)
  const weights = state.weights.map((weight, i) => {
    const deviation = Math.sqrt((second[i] ?? 0) / (1 - beta2 ** steps)) + eps
    return weight - learningRate * ((first[i] ?? 0) / (1 - beta1 ** steps) / deviation + weightDecay * weight)
  })
  return { state: { weights, first, second, steps }, metrics: { grad_norm: gradNorm } }
}

/** The contents of a checkpoint. `hasOptimizer` is false for a sampler checkpoint, from which training cannot be resumed. */
interface Saved {
  readonly state: State
  readonly loraRank: number
  readonly hasOptimizer: boolean
}

const make = Effect.sync(() => {
  const checkpoints = new Map<string, Saved>()
  let clients = 0

  const find = (path: string) => {
    const saved = checkpoints.get(path)
    const available = [...checkpoints.keys()]
    return saved === undefined
      ? Effect.fail(new TinkerError.NotFound({ kind: "checkpoint", name: path, available }))
      : Effect.succeed(saved)
  }

  const findModel = (model: string) =>
    model === name
      ? Effect.succeed(capabilities)
      : Effect.fail(new TinkerError.NotFound({ kind: "model", name: model, available: [name] }))

  const findState = Effect.fnUntraced(function*(path: string) {
    const saved = yield* find(path)
    if (saved.hasOptimizer) return saved
    const detail = `path is ${path}, expected a checkpoint of saveState: it has no optimizer`
    return yield* new TinkerError.Rejected({ detail })
  })

  const train = Effect.fnUntraced(function*(loraRank: number, start: State) {
    const modelId = `${name}-${clients++}`
    const queue = yield* RequestQueue.make
    let state = start
    let gradient = zeros()
    let snapshots = 0

    const submit = <A>(operation: string, call: Effect.Effect<A, TinkerError.Reason>) =>
      queue.submit(operation, naming(operation)(call))

    const passed =
      (operation: "forward" | "forwardBackward") =>
      <K extends Datum.Kind>(data: ReadonlyArray<Datum.Datum<K>>, loss: Loss.Loss<K>) =>
        Effect.andThen(
          naming(operation)(RequestRules.lossName(loss, capabilities)),
          submit(
            operation,
            Effect.map(
              RequestRules.pass(data, loss, limits),
              () => pass(state.weights, data, loss, operation === "forward" ? undefined : gradient)
            )
          )
        )

    const save = (operation: "saveState" | "saveWeightsForSampler") => (label: string) =>
      submit(
        operation,
        Effect.sync(() => {
          const path = `${name}://${modelId}/${operation}/${label}`
          checkpoints.set(path, { state, loraRank, hasOptimizer: operation === "saveState" })
          return { path }
        })
      )

    const replace = (next: State) => {
      state = next
      gradient = zeros()
    }

    const client: TrainingClient.TrainingClient = {
      info: { modelId, baseModel: name, loraRank },
      forward: passed("forward"),
      forwardBackward: passed("forwardBackward"),
      forwardBackwardCustom: Effect.fnUntraced(function*<E, R>(
        data: Parameters<TrainingClient.CustomLoss>[0],
        loss: TrainingClient.CustomLoss<E, R>
      ) {
        const context = yield* Effect.context<R>()
        const passes = Effect.gen(function*() {
          yield* naming("forwardBackwardCustom")(RequestRules.pass(data, Loss.crossEntropy, limits))
          const { logprobs } = pass(state.weights, data, Loss.crossEntropy)
          const second = yield* CustomLoss.secondPass(data, loss, logprobs)
          return second.report(pass(state.weights, second.data, Loss.crossEntropy, gradient))
        })
        return yield* queue.submit("forwardBackwardCustom", Effect.provide(passes, context), { isDecisive: true })
      }),
      optimStep: (adam) =>
        submit(
          "optimStep",
          Effect.map(RequestRules.adam(adam), (complete) => {
            const stepped = step(state, gradient, complete)
            replace(stepped.state)
            return { metrics: stepped.metrics }
          })
        ),
      saveState: save("saveState"),
      saveWeightsForSampler: save("saveWeightsForSampler"),
      saveWeightsAndGetSamplingClient: Effect.gen(function*() {
        const pending = yield* submit("saveWeightsAndGetSamplingClient", Effect.sync(() => state.weights))
        return yield* makeSampler(`${name}://${modelId}/snapshots/${snapshots++}`, yield* pending.await)
      }),
      loadState: (path, { optimizer = false } = {}) =>
        submit(
          "loadState",
          Effect.map(
            optimizer ? findState(path) : find(path),
            (saved) => replace(optimizer ? saved.state : { ...untrained, weights: saved.state.weights })
          )
        ),
      unload: queue.close("the training client was unloaded")
    }
    return client
  })

  return Tinker.Tinker.of({
    health: Effect.void,
    models: Effect.succeed([name]),
    capabilities: (model) => naming("capabilities")(findModel(model)),
    createLoraTrainingClient: Effect.fnUntraced(function*({ baseModel, loraRank = 32 }) {
      yield* findModel(baseModel)
      yield* RequestRules.loraRank(loraRank, capabilities)
      return yield* train(loraRank, untrained)
    }, naming("createLoraTrainingClient")),
    createTrainingClientFromState: Effect.fnUntraced(function*(path) {
      const { loraRank, state } = yield* findState(path)
      return yield* train(loraRank, state)
    }, naming("createTrainingClientFromState")),
    createSamplingClient: Effect.fnUntraced(function*(from) {
      if ("baseModel" in from) {
        yield* findModel(from.baseModel)
        return yield* makeSampler(name, untrained.weights)
      }
      return yield* makeSampler(from.modelPath, (yield* find(from.modelPath)).state.weights)
    }, naming("createSamplingClient"))
  })
})

/** The backend. Checkpoints are kept in memory, as long as the layer. */
export const layer = Layer.effect(Tinker.Tinker, make)

const letters = Array.from("abcdefghijklmnopqrstuvwxy")

/** A group of 32 attempts to name the letter that follows in the alphabet. */
const nextLetter = (letter: string) =>
  EnvGroupBuilder.make({
    key: letter,
    size: 32,
    makeEnv: () =>
      Effect.succeed<Env.Env>({
        initialObservation: Effect.succeed(Env.prompt(ModelInput.fromTokens(tokenizer.encode(letter)), [])),
        step: ({ tokens }) => Effect.succeed({ _tag: "Done", reward: tokens[0] === letter.charCodeAt(0) + 1 ? 1 : 0 })
      })
  })

/** Trains on the letters a to y in every iteration, and returns the mean reward of each. Example 10 uses `change` to wrap the credit. */
export const train = Effect.fnUntraced(function*(
  iterations: number,
  change: (credit: Credit.Credit) => Credit.Credit = identity
) {
  const model: ChatModel.ChatModel = {
    name,
    tokenizer,
    capabilities,
    renderer: yield* Renderers.byName("role_colon", tokenizer)
  }
  const rewards = yield* Rl.run({
    model,
    dataset: RLDataset.fromArray(letters, {
      groupsPerBatch: letters.length,
      epochs: iterations,
      group: nextLetter
    }),
    sampling: { maxTokens: 1 },
    update: { learningRate: 0.6, credit: change(Credit.groupRelative(Advantage.centered)) }
  }).pipe(
    Stream.filter(RunRecord.guards.Updated),
    Stream.map(({ reward }) => reward?.mean ?? NaN),
    Stream.runCollect
  )
  yield* Console.log(rewards.map((mean) => mean.toFixed(2)).join(" "))
  return rewards
})

if (import.meta.main) {
  train(30).pipe(Effect.provide([layer, RunStore.RunStore.layerMemory]), NodeRuntime.runMain)
}
