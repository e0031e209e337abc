/** Servers whose backend has one fault each, with the check that finds it. */
import { type Loss, TinkerError } from "@effect-rl/core"
import type { AdamParams, Sampling, SamplingClient, TrainingClient } from "@effect-rl/core/backend"
import { Array, Effect } from "effect"
import type { Port } from "./Served.ts"
import type { Mutant } from "./WireMutants.ts"

type Sampler = SamplingClient.SamplingClient
type Trainer = TrainingClient.TrainingClient

const training = (change: (client: Trainer) => Partial<Trainer>) => (port: Port): Port => ({
  ...port,
  createLoraTrainingClient: (options) =>
    Effect.map(port.createLoraTrainingClient(options), (client) => ({ ...client, ...change(client) }))
})

const sampling = (change: (client: Sampler) => Partial<Sampler>) => (port: Port): Port => ({
  ...port,
  createSamplingClient: (from) =>
    Effect.map(port.createSamplingClient(from), (client) => ({ ...client, ...change(client) }))
})

const sequences = (
  change: (
    all: ReadonlyArray<Sampling.SampledTokens>,
    request: Sampling.SampleRequest
  ) => ReadonlyArray<Sampling.SampledTokens>
) =>
  sampling((client) => ({
    sample: (request) =>
      Effect.map(client.sample(request), (response) => ({
        ...response,
        sequences: change(response.sequences, request)
      }))
  }))

const params = (change: (params: Sampling.SamplingParams) => Sampling.SamplingParams) =>
  sampling((client) => ({ sample: (request) => client.sample({ ...request, params: change(request.params) }) }))

const lastOf = (stop: Sampling.Stop): Sampling.Stop => {
  const last = stop.at(-1)
  return typeof last === "string" ? [last] : last === undefined ? [] : [last]
}

const adam = (change: (adam: AdamParams.AdamParams) => AdamParams.AdamParams) =>
  training((client) => ({ optimStep: (params) => client.optimStep(change(params)) }))

/** Replaces each value by its predecessor. */
const shifted = (values: Float32Array) => values.map((_, at) => values[at - 1] ?? -1)

/** Changes the log-probabilities that passes return. */
const outputs = (change: (logprobs: ReadonlyArray<Float32Array>) => ReadonlyArray<Float32Array>) =>
  training((client) => ({
    forward: (data, loss) =>
      Effect.map(client.forward(data, loss), (pending) => ({
        await: Effect.map(pending.await, (output) => ({ ...output, logprobs: change(output.logprobs) }))
      }))
  }))

/** The pass returns correct outputs, but its gradient is that of another loss. */
const gradientOf = (name: Loss.Name, other: Partial<Pick<Loss.Loss<"PolicyTokens">, "name" | "config">>) =>
  training((client) => ({
    forwardBackward: (data, loss) =>
      loss.name === name
        ? Effect.flatMap(client.forward(data, loss), (reported) =>
          Effect.as(client.forwardBackward(data, { ...loss, ...other }), reported))
        : client.forwardBackward(data, loss)
  }))

const samplers: ReadonlyArray<Mutant> = [
  {
    fault: "gives a sample's log-probabilities one position late",
    foundBy: "logprobs: a sample's equal those of computeLogprobs over prompt and sample",
    backend: sequences(Array.map((one) => ({ ...one, logprobs: shifted(one.logprobs) })))
  },
  {
    fault: "gives a prompt's log-probabilities one position late",
    foundBy: "logprobs: a sample's equal those of computeLogprobs over prompt and sample",
    backend: sampling((client) => ({
      sample: (request) =>
        Effect.map(client.sample(request), (response) =>
          response.promptLogprobs === undefined
            ? response
            : { ...response, promptLogprobs: shifted(response.promptLogprobs) })
    }))
  },
  {
    fault: "gives tempered log-probabilities",
    foundBy: "sampling: log-probabilities are untempered and unfiltered",
    backend: sequences((all, { params: { temperature = 1 } }) =>
      all.map((one) => ({ ...one, logprobs: one.logprobs.map((logprob) => logprob / temperature) }))
    )
  },
  {
    fault: "ignores seeds",
    foundBy: "seeds: seeds behave as the server's capabilities say",
    backend: sampling((client) => ({
      sample: (request) => client.sample({ ...request, params: { maxTokens: request.params.maxTokens } })
    }))
  },
  {
    fault: "answers a request for several samples with copies of one",
    foundBy: "sampling: samples of one request differ",
    backend: sequences((all) => all.map((one) => all[0] ?? one))
  },
  {
    fault: "gives the samples of a request in another order",
    foundBy: "sampling: sample i of a request with a seed is the sample of seed + i",
    backend: sequences((all) => all.toReversed())
  },
  {
    fault: "leaves the stop token out",
    foundBy: "sampling: a stop token ends the sequence and is part of it",
    backend: sequences(Array.map((one) =>
      one.stopReason === "length"
        ? one
        : { ...one, tokens: one.tokens.subarray(0, -1), logprobs: one.logprobs.subarray(0, -1) }
    ))
  },
  {
    fault: "rounds log-probabilities to two decimals",
    foundBy: "logprobs: log-probabilities have float32 precision",
    backend: sequences(Array.map((one) => ({
      ...one,
      logprobs: one.logprobs.map((logprob) => Math.round(logprob * 100) / 100)
    })))
  },
  {
    fault: "samples at temperature 1 unless 0 is requested",
    foundBy: "sampling: a temperature of 2 draws tokens in proportion to their probabilities to the power 0.5",
    backend: params(({ temperature = 1, ...others }) => ({ ...others, temperature: temperature === 0 ? 0 : 1 }))
  },
  {
    fault: "ignores top_p above a tenth",
    foundBy:
      "sampling: top_p draws only the smallest set of most likely tokens that reaches it, in proportion to their probabilities",
    backend: params((given) => ({ ...given, topP: (given.topP ?? 1) > 0.1 ? 1 : 0.1 }))
  },
  {
    fault: "makes an adapter of another rank than was asked for",
    foundBy: "archive: the list of runs has each run's rank and checkpoints",
    backend: (port) => ({
      ...port,
      createLoraTrainingClient: (options) =>
        Effect.map(port.createLoraTrainingClient(options), (client) => ({
          ...client,
          info: { ...client.info, loraRank: 4 }
        }))
    })
  }
]

const trainers: ReadonlyArray<Mutant> = [
  {
    fault: "gives a trainer's log-probabilities one position late",
    foundBy: "training: the trainer's log-probabilities are the sampler's",
    backend: outputs(Array.map(shifted))
  },
  {
    fault: "gives the outputs of a batch in another order",
    foundBy: "training: a pass gives one log-probability per position of each datum, in order",
    backend: outputs(Array.reverse)
  },
  {
    fault: "takes no optimizer step",
    foundBy: "order: a model's concurrent requests run one after another",
    backend: training((client) => ({ optimStep: (adam) => client.optimStep({ ...adam, learningRate: 0 }) }))
  },
  {
    fault: "keeps the gradients of forward passes",
    foundBy: "training: forward leaves no gradient",
    backend: training((client) => ({ forward: client.forwardBackward }))
  },
  {
    fault: "does not load the optimizer",
    foundBy: "checkpoints: loading a state with its optimizer continues training as if it had not stopped",
    backend: training((client) => ({ loadState: (path) => client.loadState(path) }))
  },
  {
    fault: "does not load the weights",
    foundBy: "checkpoints: loading a state gives its weights back",
    backend: training(() => ({ loadState: () => Effect.succeed({ await: Effect.void }) }))
  },
  {
    fault: "samples a snapshot from the newest weights",
    foundBy: "checkpoints: a snapshot keeps its weights while training continues",
    backend: training((client) => ({
      saveWeightsAndGetSamplingClient: Effect.map(client.saveWeightsAndGetSamplingClient, (sampler) => ({
        ...sampler,
        sample: (request) =>
          Effect.scoped(Effect.flatMap(client.saveWeightsAndGetSamplingClient, (newest) => newest.sample(request)))
      }))
    }))
  },
  {
    fault: "is out of service for models that it does not have",
    foundBy: "errors: a base model that is not served is a client error",
    backend: (port) => ({
      ...port,
      createLoraTrainingClient: (options) =>
        Effect.mapError(
          port.createLoraTrainingClient(options),
          ({ message: detail, operation }) =>
            new TinkerError.TinkerError({ operation, reason: new TinkerError.Unavailable({ detail }) })
        )
    })
  }
]

const gradients: ReadonlyArray<Mutant> = [
  {
    fault: "computes every gradient twice",
    foundBy: "gradients: a small gradient descent step lowers the loss by its length times the gradient's norm",
    backend: training((client) => ({
      forwardBackward: (data, loss) =>
        Effect.andThen(client.forwardBackward(data, loss), client.forwardBackward(data, loss))
    }))
  },
  {
    fault: "computes the gradient of importance sampling twice",
    foundBy: "gradients: importance_sampling has the value and the gradient of its formula in float64",
    backend: training((client) => ({
      forwardBackward: (data, loss) =>
        loss.name === "importance_sampling"
          ? Effect.andThen(client.forwardBackward(data, loss), client.forwardBackward(data, loss))
          : client.forwardBackward(data, loss)
    }))
  },
  {
    fault: "does not clip the gradient of ppo",
    foundBy: "gradients: ppo has the value and the gradient of its formula in float64",
    backend: gradientOf("ppo", { name: "importance_sampling", config: {} })
  },
  {
    fault: "sends the gradient of cispo through its ratio",
    foundBy: "gradients: cispo has the value and the gradient of its formula in float64",
    backend: gradientOf("cispo", { name: "importance_sampling", config: {} })
  },
  {
    fault: "leaves the penalty out of the gradient of dro",
    foundBy: "gradients: dro has the value and the gradient of its formula in float64",
    backend: gradientOf("dro", { config: { beta: 0 } })
  },
  {
    fault: "gives each token its own ratio in the gradient of gspo",
    foundBy: "gradients: gspo has the value and the gradient of its formula in float64",
    backend: gradientOf("gspo", { name: "ppo", config: { clip_low_threshold: 0.9997, clip_high_threshold: 1.01 } })
  },
  {
    fault: "steps by less where a batch has more data",
    foundBy: "gradients: the gradient of a pass is the sum over its datums",
    backend: training((client) => ({
      forwardBackward: ([first, ...others], loss) =>
        Effect.flatMap(
          client.forward([first, ...others], loss),
          (reported) => Effect.as(client.forwardBackward([first], loss), reported)
        )
    }))
  },
  {
    fault: "takes every weight for 1",
    foundBy: "gradients: cross_entropy multiplies each token's loss by its weight",
    backend: training((client) => ({
      forwardBackward: (data, loss) =>
        client.forwardBackward(
          Array.map(data, (datum) =>
            "weights" in datum.inputs
              ? { ...datum, inputs: { ...datum.inputs, weights: datum.inputs.weights.map(() => 1) } }
              : datum),
          loss
        )
    }))
  }
]

const optimizers: ReadonlyArray<Mutant> = [
  {
    fault: "ignores beta1",
    foundBy: "optimizer: beta1 sets how much a gradient counts in the next step",
    backend: adam((given) => ({ ...given, beta1: 0.9 }))
  },
  {
    fault: "ignores weight_decay",
    foundBy: "optimizer: a step removes weight_decay times the learning rate of each weight",
    backend: adam((given) => ({ ...given, weightDecay: 0 }))
  }
]

/** Faults whose checks sample or train for several seconds. */
export const long: ReadonlyArray<Mutant> = [
  {
    fault: "draws at a temperature that is a quarter too high",
    foundBy: "sampling: tokens are drawn as often as their log-probabilities say",
    backend: params(({ temperature = 1, ...others }) => ({ ...others, temperature: temperature * 1.25 }))
  },
  {
    fault: "draws one token more than top_k",
    foundBy: "sampling: top_k draws only the k most likely tokens, in proportion to their probabilities",
    backend: params((given) => given.topK === undefined || given.topK < 2 ? given : { ...given, topK: given.topK + 1 })
  },
  {
    fault: "stops only at the last of several stop tokens",
    foundBy: "sampling: the first of several stop tokens ends a sample, drawn or not",
    backend: params((given) => given.stop === undefined ? given : { ...given, stop: lastOf(given.stop) })
  },
  {
    fault: "takes steps of half the learning rate where gradients are steep",
    foundBy: "optimizer: Adam's first step moves each weight by the learning rate, whatever its gradient",
    backend: adam((given) => given.beta1 === 0 ? { ...given, learningRate: given.learningRate / 2 } : given)
  },
  {
    fault: "ignores beta2",
    foundBy: "optimizer: beta2 sets how long a large gradient shortens later steps",
    backend: adam((given) => ({ ...given, beta2: 0.95 }))
  },
  {
    fault: "has an eps of at least 1e-8",
    foundBy: "optimizer: an eps of 1e-12 does not shorten the steps of small gradients",
    backend: adam((given) => ({ ...given, eps: Math.max(given.eps ?? 0, 1e-8) }))
  },
  {
    fault: "ignores eps",
    foundBy: "optimizer: eps is added to the root of the mean squared gradient",
    backend: adam((given) => ({ ...given, eps: 1e-8 }))
  },
  {
    fault: "has other defaults than the API",
    foundBy: "optimizer: a step with only a learning rate uses beta1 0.9 and beta2 0.95, without decay or clipping",
    backend: adam((given) => given.beta2 === undefined || given.beta2 === 0.95 ? { ...given, beta2: 0.999 } : given)
  },
  {
    fault: "ignores grad_clip_norm",
    foundBy: "optimizer: grad_clip_norm shortens longer gradients to that norm",
    backend: adam((given) => ({ ...given, gradClipNorm: 0 }))
  },
  {
    fault: "clips every gradient",
    foundBy: "optimizer: a grad_clip_norm above the gradient's norm changes nothing",
    backend: adam(({ gradClipNorm = 0, ...given }) => ({ ...given, gradClipNorm: gradClipNorm > 0 ? 0.01 : 0 }))
  }
]

export const all: ReadonlyArray<Mutant> = [...samplers, ...trainers, ...optimizers, ...gradients]
