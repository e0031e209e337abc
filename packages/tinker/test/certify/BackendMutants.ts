/** Servers before a backend that is wrong in one way, and the check that finds it. */
import { type Loss, type Sampling, type SamplingClient, TinkerError, type TrainingClient } from "@effect-rl/core"
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

/** Each value in the place of the next. */
const shifted = (values: Float32Array) => values.map((_, at) => values[at - 1] ?? -1)

/** The log-probabilities of passes. */
const outputs = (change: (logprobs: ReadonlyArray<Float32Array>) => ReadonlyArray<Float32Array>) =>
  training((client) => ({
    forward: (data, loss) =>
      Effect.map(client.forward(data, loss), (pending) => ({
        await: Effect.map(pending.await, (output) => ({ ...output, logprobs: change(output.logprobs) }))
      }))
  }))

/** What it reports is right, and its gradient is that of another loss. */
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
    foundBy: "logprobs: those of a sample are those of computeLogprobs over prompt and sample",
    backend: sequences(Array.map((one) => ({ ...one, logprobs: shifted(one.logprobs) })))
  },
  {
    fault: "gives a prompt's log-probabilities one position late",
    foundBy: "logprobs: those of a sample are those of computeLogprobs over prompt and sample",
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
    foundBy: "seeds: the meaning of a seed is what the server says",
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
    fault: "makes an adapter of another rank than was asked for",
    foundBy: "archive: a run is listed with its rank and its checkpoints",
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
    foundBy: "order: requests of a model that are sent at once run one after the other",
    backend: training((client) => ({ optimStep: (adam) => client.optimStep({ ...adam, learningRate: 0 }) }))
  },
  {
    fault: "keeps the gradients of passes forward",
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
    foundBy: "checkpoints: a snapshot keeps its weights while training goes on",
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
    foundBy: "errors: a base model that is not served is the client's fault",
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
    foundBy: "gradients: a step of gradient descent lowers the loss by its length times the gradient's",
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
    foundBy: "gradients: the gradients of the datums of a pass add up",
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
    foundBy: "gradients: cross_entropy weighs each token by its weight",
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

export const all: ReadonlyArray<Mutant> = [...samplers, ...trainers, ...gradients]
