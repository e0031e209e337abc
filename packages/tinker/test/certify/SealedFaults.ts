/** Sealed faults of a server. */
import type { TinkerError } from "@effect-rl/core"
import {
  ModelInput,
  type Pending,
  type Sampling,
  type SamplingClient,
  type TrainingClient
} from "@effect-rl/core/backend"
import { Effect } from "effect"
import {
  adam,
  type Answered,
  asking,
  data,
  each,
  type Fault,
  fieldsOf,
  gradient,
  json,
  losses,
  params,
  pathOf,
  requests,
  responses,
  sample,
  sequences,
  signalOf,
  training,
  without,
  withSignal
} from "./Fault.ts"

const greedyTemperatureIgnored: Fault = {
  id: "greedyTemperatureIgnored",
  sentence: "Temperature 0 is taken for an unset temperature, so that greedy requests sample at temperature 1.",
  backend: params((params) => params.temperature === 0 ? { ...params, temperature: 1 } : params)
}

const temperatureAtMostOne: Fault = {
  id: "temperatureAtMostOne",
  sentence: "Temperatures above 1 are lowered to 1 without a word.",
  backend: params((params) => ({ ...params, temperature: Math.min(params.temperature ?? 1, 1) }))
}

const temperedLogprobs: Fault = {
  id: "temperedLogprobs",
  sentence: "Log-probabilities of samples are those of the tempered distribution that drew them, not the model's own.",
  backend: sample((sample) => (request) => {
    const { temperature = 1 } = request.params
    if (temperature === 1 || temperature === 0) return sample(request)
    return Effect.map(sample({ ...request, topkSampleLogprobs: 20 }), (response) => ({
      ...response,
      sequences: response.sequences.map((sequence) => ({
        ...without(sequence, "topkLogprobs"),
        logprobs: sequence.logprobs.map((logprob, t) => {
          const likely = sequence.topkLogprobs?.[t] ?? []
          const total = likely.reduce((sum, { logprob }) => sum + Math.exp(logprob / temperature), 0)
          return Math.min(0, logprob / temperature - Math.log(total))
        })
      }))
    }))
  })
}

const seedOfEightBits: Fault = {
  id: "seedOfEightBits",
  sentence: "Only the low 8 bits of a seed are used, so that seeds 256 apart give the same samples.",
  backend: params((params) => params.seed === undefined ? params : { ...params, seed: Number(params.seed) % 256 })
}

const likelierHalf: Fault = {
  id: "likelierHalf",
  sentence:
    "Each request draws twice the samples it was asked for and returns the likelier half, so samples are too good.",
  backend: sample((sample) => (request) => {
    const { numSamples = 1 } = request
    const mean = ({ logprobs }: Sampling.SampledTokens) => logprobs.reduce((sum, one) => sum + one, 0) / logprobs.length
    return Effect.map(sample({ ...request, numSamples: 2 * numSamples }), (response) => ({
      ...response,
      sequences: response.sequences.toSorted((left, right) => mean(right) - mean(left)).slice(0, numSamples)
    }))
  })
}

const stopTokenDropped: Fault = {
  id: "stopTokenDropped",
  sentence: "The token that stopped a sequence is left out of its tokens and log-probabilities.",
  backend: sequences((sequence) =>
    sequence.stopReason === "length" || sequence.tokens.length < 2 ? sequence : {
      ...sequence,
      tokens: sequence.tokens.slice(0, -1),
      logprobs: sequence.logprobs.slice(0, -1)
    }
  )
}

const endNeverStops: Fault = {
  id: "endNeverStops",
  sentence: "Where no stop is given, the model's end of sequence does not stop either.",
  backend: params((params) => params.stop === undefined ? { ...params, stop: [] } : params)
}

const promptScoresOfOldWeights: Fault = {
  id: "promptScoresOfOldWeights",
  sentence:
    "The prefix cache knows prompts by their tokens alone: other weights answer with the first ones' log-probabilities.",
  backend: (tinker) => {
    const known = new Map<string, Float32Array>()
    return sample((sample) => (request) =>
      Effect.map(sample(request), (response) => {
        if (response.promptLogprobs === undefined) return response
        const chunks = request.prompt.chunks.flatMap((chunk) =>
          "tokens" in chunk ? [...chunk.tokens] : [-chunk.data.length]
        )
        const key = chunks.join(" ")
        const found = known.get(key)
        if (found === undefined) known.set(key, response.promptLogprobs)
        return { ...response, promptLogprobs: found ?? response.promptLogprobs }
      })
    )(tinker)
  }
}

const tokenBetweenChunks: Fault = {
  id: "tokenBetweenChunks",
  sentence: "A prompt of several text chunks is read with a token 0 between them.",
  backend: asking((request) => ({
    ...request,
    prompt: request.promptLogprobs === true
      ? request.prompt
      : ModelInput.fromChunks(
        request.prompt.chunks.flatMap((chunk, index) =>
          index === 0 ? [chunk] : [{ _tag: "EncodedText", tokens: Int32Array.of(0) }, chunk]
        )
      )
  }))
}

const gradientsKept: Fault = {
  id: "gradientsKept",
  sentence: "Gradients are not cleared by a step: the next one uses the last pass's data again.",
  backend: training((client) => {
    let last: Effect.Effect<Pending.Pending<TrainingClient.ForwardBackwardOutput>, TinkerError.TinkerError> | undefined
    return {
      ...client,
      forwardBackward: (data, loss, options) => {
        last = client.forwardBackward(data, loss, options)
        return last
      },
      optimStep: Effect.fnUntraced(function*(adam) {
        const step = yield* client.optimStep(adam)
        if (last !== undefined) yield* (yield* last).await
        return step
      })
    }
  })
}

const clippedByDefault: Fault = {
  id: "clippedByDefault",
  sentence: "Gradients are clipped to norm 1 where the caller asked for no clipping.",
  backend: adam((params) => (params.gradClipNorm ?? 0) === 0 ? { ...params, gradClipNorm: 1 } : params)
}

const clippingIgnored: Fault = {
  id: "clippingIgnored",
  sentence: "grad_clip_norm is accepted and not applied.",
  backend: adam((params) => ({ ...params, gradClipNorm: 0 }))
}

const smallStepsLost: Fault = {
  id: "smallStepsLost",
  sentence: "Master weights are kept in low precision: steps with a learning rate below 2e-5 change nothing.",
  backend: adam((params) => params.learningRate < 2e-5 ? { ...params, learningRate: 0 } : params)
}

const lossConfigIgnored: Fault = {
  id: "lossConfigIgnored",
  sentence: "PPO and CISPO use their own thresholds of 0.8 and 1.2, whatever loss_fn_config says.",
  backend: losses((loss) =>
    loss.name === "ppo" || loss.name === "cispo"
      ? { ...loss, config: { clip_low_threshold: 0.8, clip_high_threshold: 1.2 } }
      : loss
  )
}

const advantagesNormalised: Fault = {
  id: "advantagesNormalised",
  sentence: "Advantages are divided by their standard deviation over the request.",
  backend: data((data) => {
    const all = data.flatMap((datum) =>
      "advantages" in datum.inputs ? [...signalOf(datum)].filter((one) => one !== 0) : []
    )
    const mean = all.reduce((sum, one) => sum + one, 0) / all.length
    const deviation = Math.sqrt(all.reduce((sum, one) => sum + (one - mean) ** 2, 0) / all.length)
    return all.length === 0 ? data : each(data, (datum) => withSignal(datum, (value) => value / (deviation + 1e-6)))
  })
}

const advantagesBounded: Fault = {
  id: "advantagesBounded",
  sentence: "Advantages are cut off at −1 and 1.",
  backend: data((data) =>
    each(
      data,
      (datum) => "advantages" in datum.inputs ? withSignal(datum, (value) => Math.max(-1, Math.min(1, value))) : datum
    )
  )
}

const negativeWeightsDropped: Fault = {
  id: "negativeWeightsDropped",
  sentence: "Negative weights of cross entropy count as 0, which breaks custom losses.",
  backend: data((data) =>
    each(data, (datum) => "advantages" in datum.inputs ? datum : withSignal(datum, (value) => Math.max(0, value)))
  )
}

const lastTargetMasked: Fault = {
  id: "lastTargetMasked",
  sentence: "The last target of every datum is left out of the gradient, as if the targets still had to be shifted.",
  backend: gradient((data) =>
    each(data, (datum) => withSignal(datum, (value, t, all) => t === all.length - 1 ? 0 : value))
  )
}

const sharedAdapter: Fault = {
  id: "sharedAdapter",
  sentence: "All models of one base model and rank share one adapter.",
  backend: (tinker) => {
    const known = new Map<string, TrainingClient.TrainingClient>()
    return {
      ...tinker,
      createLoraTrainingClient: (options) => {
        const key = `${options.baseModel} ${options.loraRank ?? 32}`
        const found = known.get(key)
        return found === undefined
          ? Effect.tap(tinker.createLoraTrainingClient(options), (client) => Effect.sync(() => known.set(key, client)))
          : Effect.succeed(found)
      }
    }
  }
}

const samplerOneStepBehind: Fault = {
  id: "samplerOneStepBehind",
  sentence: "Weights saved under a name to sample from are those of the save before it; only the first is right.",
  backend: training((client) => {
    let last: Pending.Pending<TrainingClient.Checkpoint> | undefined
    return {
      ...client,
      saveWeightsForSampler: (name, options) =>
        Effect.map(client.saveWeightsForSampler(name, options), (saved) => {
          const previous = last ?? saved
          last = saved
          return previous
        })
    }
  })
}

const newestWeightsForAll: Fault = {
  id: "newestWeightsForAll",
  sentence: "One adapter slot serves all snapshots of a model: an older sampler answers with the newest weights.",
  backend: training((client) => {
    let newest: SamplingClient.SamplingClient | undefined
    return {
      ...client,
      saveWeightsAndGetSamplingClient: Effect.map(client.saveWeightsAndGetSamplingClient, (sampler) => {
        newest = sampler
        return {
          ...sampler,
          sample: (request) => (newest ?? sampler).sample(request),
          computeLogprobs: (prompt) => (newest ?? sampler).computeLogprobs(prompt)
        }
      })
    }
  })
}

const optimizerNotRestored: Fault = {
  id: "optimizerNotRestored",
  sentence: "Loading a state with its optimizer loads the weights alone.",
  wire: requests("/load_weights", (fields) => ({ ...fields, optimizer: false }))
}

const optimizerAlwaysRestored: Fault = {
  id: "optimizerAlwaysRestored",
  sentence: "Loading weights alone brings the optimizer's state back as well.",
  wire: requests("/load_weights", (fields) => ({ ...fields, optimizer: true }))
}

const deletedStays: Fault = {
  id: "deletedStays",
  sentence: "A deleted checkpoint is answered with success and stays.",
  wire: (handler) => (asked) =>
    asked.method === "DELETE" && pathOf(asked).includes("/checkpoints/") && !pathOf(asked).endsWith("/publish")
      ? Effect.succeed(json(200, {}))
      : handler(asked)
}

const sameNumberSampledAgain: Fault = {
  id: "sameNumberSampledAgain",
  sentence: "A request to sample that is sent again under its seq_id is sampled and charged again.",
  wire: (handler) => {
    let next = 1_000_000
    return requests("/asample", (fields) => "seq_id" in fields ? { ...fields, seq_id: next++ } : fields)(handler)
  }
}

const largeNumbersCollide: Fault = {
  id: "largeNumbersCollide",
  sentence: "seq_id is read as a floating-point number: large ones that differ in the last digits are one request.",
  wire: (handler) => {
    const known = new Map<string, Answered>()
    return (asked) => {
      if (pathOf(asked) !== "/asample") return handler(asked)
      const { sampling_session_id, seq_id } = fieldsOf(asked)
      const key = `${String(sampling_session_id)} ${String(seq_id)}`
      const found = known.get(key)
      if (typeof seq_id !== "number" || seq_id < Number.MAX_SAFE_INTEGER) return handler(asked)
      return found === undefined
        ? Effect.tap(handler(asked), (answered) => Effect.sync(() => known.set(key, answered)))
        : Effect.succeed(found)
    }
  }
}

const blameOnServer: Fault = {
  id: "blameOnServer",
  sentence: "Failures that the caller caused are reported in the category server, which invites to try again.",
  wire: responses(/^\/retrieve_future$/, (fields) => "error" in fields ? { ...fields, category: "server" } : fields)
}

const failedForEver: Fault = {
  id: "failedForEver",
  sentence: "A request that failed stays in the queue: polls of it are told to try again forever.",
  wire: (handler) => (asked) =>
    Effect.map(handler(asked), (answered) =>
      pathOf(asked) === "/retrieve_future" && "error" in fieldsOf(answered)
        ? json(408, { type: "try_again", request_id: fieldsOf(asked)["request_id"], queue_state: "active" })
        : answered)
}

const oneSequenceName: Fault = {
  id: "oneSequenceName",
  sentence: "All sample_sequence_ids of a request are the same.",
  wire: responses(/^\/asample$/, (fields) => ({
    ...fields,
    ...(Array.isArray(fields["sample_sequence_ids"])
      ? { sample_sequence_ids: fields["sample_sequence_ids"].map(() => fields["request_id"]) }
      : {})
  }))
}

const limitOfSixteen: Fault = {
  id: "limitOfSixteen",
  sentence: "A request without max_tokens gets 16 tokens at most.",
  wire: requests("/asample", (fields) => {
    const { sampling_params: given } = fields
    return typeof given === "object" && given !== null && (!("max_tokens" in given) || given.max_tokens === null)
      ? { ...fields, sampling_params: { ...given, max_tokens: 16 } }
      : fields
  })
}

export const faults: ReadonlyArray<Fault> = [
  greedyTemperatureIgnored,
  temperatureAtMostOne,
  temperedLogprobs,
  seedOfEightBits,
  likelierHalf,
  stopTokenDropped,
  endNeverStops,
  promptScoresOfOldWeights,
  tokenBetweenChunks,
  gradientsKept,
  clippedByDefault,
  clippingIgnored,
  smallStepsLost,
  lossConfigIgnored,
  advantagesNormalised,
  advantagesBounded,
  negativeWeightsDropped,
  lastTargetMasked,
  sharedAdapter,
  samplerOneStepBehind,
  newestWeightsForAll,
  optimizerNotRestored,
  optimizerAlwaysRestored,
  deletedStays,
  sameNumberSampledAgain,
  largeNumbersCollide,
  blameOnServer,
  failedForEver,
  oneSequenceName,
  limitOfSixteen
]
