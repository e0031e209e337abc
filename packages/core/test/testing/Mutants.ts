/** Variants of the scripted backend, each of which breaks one rule of the contract. */
import { Tinker, TinkerError } from "@effect-rl/core"
import {
  type AdamParams,
  ModelInput,
  type Pending,
  type Sampling,
  type SamplingClient,
  type TrainingClient
} from "@effect-rl/core/backend"
import { ScriptedTinker } from "@effect-rl/core/testing"
import { Effect, Layer, Scope } from "effect"

type Port = Tinker.Tinker["Service"]
type Sampler = SamplingClient.SamplingClient
type Training = TrainingClient.TrainingClient

interface Mutant {
  /** The backend … */
  readonly rule: string
  readonly breaks: string
  readonly layer: Layer.Layer<Tinker.Tinker>
}

const port = (change: (tinker: Port) => Port) =>
  Layer.effect(Tinker.Tinker, Effect.map(Tinker.Tinker, change)).pipe(Layer.provide(ScriptedTinker.layer()))

const training = (change: (client: Training) => Partial<Training>) =>
  port((tinker) => ({
    ...tinker,
    createLoraTrainingClient: (options) =>
      Effect.map(tinker.createLoraTrainingClient(options), (client) => ({ ...client, ...change(client) }))
  }))

const sampling = (change: (client: Sampler) => Partial<Sampler>) =>
  port((tinker) => ({
    ...tinker,
    createSamplingClient: (from) =>
      Effect.map(tinker.createSamplingClient(from), (client) => ({ ...client, ...change(client) }))
  }))

const lazily = <A, E, R>(submit: Effect.Effect<Pending.Pending<A, E>, TinkerError.TinkerError, R>) =>
  Effect.flatMap(Effect.context<R>(), (context) =>
    Effect.map(
      Effect.cached(Effect.provide(Effect.flatMap(submit, (pending) => pending.await), context)),
      (wait) => ({ await: wait })
    ))

const everOpen = Scope.makeUnsafe()

const unhealthy = new TinkerError.TinkerError({
  operation: "health",
  reason: new TinkerError.Unavailable({ detail: "a compute thread crashed" })
})

const stepping = (change: (adam: AdamParams.AdamParams) => AdamParams.AdamParams) =>
  training((client) => ({ optimStep: (adam) => client.optimStep(change(adam)) }))

/** Changes the parameters of samples that are not drawn at temperature 0. */
const drawing = (change: (params: Sampling.SamplingParams) => Sampling.SamplingParams) =>
  sampling((client) => ({
    sample: (request) =>
      client.sample(request.params.temperature === 0 ? request : { ...request, params: change(request.params) })
  }))

export const all: ReadonlyArray<Mutant> = [
  {
    rule: "reports that it is unhealthy while it answers",
    breaks: "models: a backend that answers is healthy",
    layer: port((tinker) => ({ ...tinker, health: Effect.fail(unhealthy) }))
  },
  {
    rule: "fails as Rejected for an unknown model",
    breaks: "models: capabilities of an unknown model are NotFound",
    layer: port((tinker) => ({
      ...tinker,
      capabilities: (model) =>
        Effect.mapError(
          tinker.capabilities(model),
          ({ message, operation }) =>
            new TinkerError.TinkerError({ operation, reason: new TinkerError.Rejected({ detail: message }) })
        )
    }))
  },
  {
    rule: "returns one sequence, however many are requested",
    breaks: "sampling: the requested number of sequences",
    layer: sampling((client) => ({ sample: (request) => client.sample({ ...request, numSamples: 1 }) }))
  },
  {
    rule: "leaves the stop token out",
    breaks: "sampling: a stop token ends the sequence and is part of it",
    layer: sampling((client) => ({
      sample: (request) =>
        Effect.map(client.sample(request), (response) => ({
          ...response,
          sequences: response.sequences.map((sequence) =>
            sequence.stopReason === "length" ? sequence : { ...sequence, tokens: sequence.tokens.subarray(0, -1) }
          )
        }))
    }))
  },
  {
    rule: "ignores seeds",
    breaks: "sampling: a seed makes sampling reproducible",
    layer: sampling((client) => ({
      sample: (request) => client.sample({ ...request, params: { maxTokens: request.params.maxTokens } })
    }))
  },
  {
    rule: "returns the samples of a request in reverse order",
    breaks: "sampling: sample i of a request with a seed is the sample of seed + i",
    layer: sampling((client) => ({
      sample: (request) =>
        Effect.map(client.sample(request), (response) => ({ ...response, sequences: response.sequences.toReversed() }))
    }))
  },
  {
    rule: "gives tempered log-probabilities",
    breaks: "sampling: log-probabilities are untempered and unfiltered",
    layer: sampling((client) => ({
      sample: (request) =>
        Effect.map(client.sample(request), (response) => ({
          ...response,
          sequences: response.sequences.map((sequence) => ({
            ...sequence,
            logprobs: sequence.logprobs.map((logprob) => logprob / (request.params.temperature ?? 1))
          }))
        }))
    }))
  },
  {
    rule: "gives the first prompt token a log-probability",
    breaks: "logprobs: computeLogprobs gives one value per token, NaN at the first",
    layer: sampling((client) => ({
      computeLogprobs: (prompt) => Effect.map(client.computeLogprobs(prompt), (logprobs) => logprobs.fill(-1, 0, 1))
    }))
  },
  {
    rule: "silently cuts a prompt that is too long",
    breaks: "context: one token more is ContextTooLong",
    layer: sampling((client) => ({
      sample: (request) => client.sample({ ...request, prompt: ModelInput.fromTokens([1]) })
    }))
  },
  {
    rule: "keeps the gradients of forward",
    breaks: "training: forward leaves no gradient",
    layer: training((client) => ({ forward: client.forwardBackward }))
  },
  {
    rule: "steps even with learning rate 0",
    breaks: "training: a step with learning rate 0 does not change the weights",
    layer: training((client) => ({ optimStep: (adam) => client.optimStep({ ...adam, learningRate: 0.05 }) }))
  },
  {
    rule: "keeps only the gradient of the last pass",
    breaks: "training: gradients of several passes add up",
    layer: training((client) => ({
      forwardBackward: (data, loss) =>
        client.saveState("before").pipe(
          Effect.flatMap((saved) => saved.await),
          Effect.flatMap(({ path }) => client.loadState(path)),
          Effect.andThen(client.forwardBackward(data, loss))
        )
    }))
  },
  {
    rule: "computes importance_sampling, whatever loss is requested",
    breaks: "losses: ppo is the documented sum over tokens",
    layer: training((client) => ({
      forwardBackward: (data, loss) =>
        client.forwardBackward(data, { ...loss, name: "importance_sampling", config: {} })
    }))
  },
  {
    rule: "reports no loss",
    breaks: "losses: cross_entropy is the weighted sum of negative log-probabilities",
    layer: training((client) => ({
      forward: (data, loss) =>
        Effect.map(client.forward(data, loss), (pending) => ({
          await: Effect.map(pending.await, (output) => ({ ...output, metrics: {} }))
        }))
    }))
  },
  {
    rule: "gives one log-probability per position, whatever the number of candidates",
    breaks: "losses: soft targets have a log-probability for every candidate",
    layer: training((client) => ({
      forward: (data, loss) =>
        Effect.map(client.forward(data, loss), (pending) => ({
          await: Effect.map(pending.await, (output) => ({
            ...output,
            logprobs: output.logprobs.map((logprobs, index) => logprobs.slice(0, data[index]?.modelInput.length))
          }))
        }))
    }))
  },
  {
    rule: "starts requests when they are awaited",
    breaks: "requests: run in the order of submission, whatever the order of awaiting",
    layer: training((client) => ({ forward: (data, loss) => lazily(client.forward(data, loss)) }))
  },
  {
    rule: "never starts requests that nobody awaits",
    breaks: "requests: run even if they are not awaited",
    layer: training((client) => ({ optimStep: (adam) => lazily(client.optimStep(adam)) }))
  },
  {
    rule: "forgets failures that nobody awaits",
    breaks: "requests: a failure that is not awaited fails later requests as Closed",
    layer: training((client) => ({
      forwardBackward: (data, loss) =>
        Effect.tap(
          client.forwardBackward(data, loss),
          (pending) => Effect.forkDetach(Effect.exit(pending.await), { startImmediately: true })
        )
    }))
  },
  {
    rule: "begins a custom loss when it is awaited",
    breaks: "losses: a custom loss is submitted without waiting for it, and later requests run after it",
    layer: training((client) => ({
      forwardBackwardCustom: (data, loss) => lazily(client.forwardBackwardCustom(data, loss)),
      optimStep: (adam) => Effect.tap(client.optimStep(adam), (pending) => pending.await)
    }))
  },
  {
    rule: "takes a step after a custom loss that failed",
    breaks: "losses: a step submitted after a custom loss is not taken if the loss fails",
    layer: training((client) => ({
      forwardBackwardCustom: (data, loss) => lazily(client.forwardBackwardCustom(data, loss))
    }))
  },
  {
    rule: "samples a snapshot from the newest weights",
    breaks: "checkpoints: a snapshot keeps its weights while training continues",
    layer: training((client) => ({
      saveWeightsAndGetSamplingClient: Effect.map(client.saveWeightsAndGetSamplingClient, (sampler) => ({
        ...sampler,
        computeLogprobs: (prompt) =>
          Effect.scoped(
            Effect.flatMap(client.saveWeightsAndGetSamplingClient, (newest) => newest.computeLogprobs(prompt))
          )
      }))
    }))
  },
  {
    rule: "never loads the optimizer",
    breaks: "checkpoints: loading a state with its optimizer continues training as if it had not stopped",
    layer: training((client) => ({ loadState: (path) => client.loadState(path) }))
  },
  {
    rule: "reads only the first datum",
    breaks: "validation: an advantage that is not a number is Rejected",
    layer: training((client) => ({ forwardBackward: ([first], loss) => client.forwardBackward([first], loss) }))
  },
  {
    rule: "continues after unload",
    breaks: "lifetime: an unloaded training client is Closed",
    layer: training(() => ({ unload: Effect.void }))
  },
  {
    rule: "never closes a sampling client",
    breaks: "lifetime: a sampling client is Closed once its scope is",
    layer: port((tinker) => ({
      ...tinker,
      createSamplingClient: (from) => Scope.provide(everOpen)(tinker.createSamplingClient(from))
    }))
  },
  {
    rule: "adds the gradient of a pass twice",
    breaks:
      "gradients: a step lowers the loss by its length times the gradient's norm, and raises it in the other direction",
    layer: training((client) => ({
      forwardBackward: (data, loss) =>
        Effect.andThen(client.forwardBackward(data, loss), client.forwardBackward(data, loss))
    }))
  },
  {
    rule: "takes steps that are ten times too long",
    breaks:
      "gradients: a step lowers the loss by its length times the gradient's norm, and raises it in the other direction",
    layer: stepping((adam) => ({ ...adam, learningRate: 10 * adam.learningRate }))
  },
  {
    rule: "trains on the first datum only",
    breaks: "gradients: the gradient of a pass is the sum over its data",
    layer: training((client) => ({ forwardBackward: ([first], loss) => client.forwardBackward([first], loss) }))
  },
  {
    rule: "computes the gradient of importance_sampling, whatever loss is requested",
    breaks: "gradients: ppo has the gradient of its formula",
    layer: training((client) => ({
      forwardBackward: (data, loss) =>
        client.forwardBackward(data, loss.name === "ppo" ? { ...loss, name: "importance_sampling", config: {} } : loss)
    }))
  },
  {
    rule: "does not correct the bias of its moments",
    breaks: "optimizer: the first step moves each weight by the learning rate, whatever its gradient, beta1 and beta2",
    layer: stepping(({ beta1 = 0.9, beta2 = 0.95, learningRate, ...adam }) => ({
      ...adam,
      beta1,
      beta2,
      learningRate: learningRate * (1 - beta1) / Math.sqrt(1 - beta2)
    }))
  },
  {
    rule: "ignores beta1 and beta2",
    breaks: "optimizer: beta1 and beta2 set how much earlier gradients count",
    layer: stepping((adam) => ({ ...adam, beta1: 0.9, beta2: 0.95 }))
  },
  {
    rule: "ignores gradClipNorm",
    breaks: "optimizer: gradClipNorm shortens longer gradients to that norm",
    layer: stepping((adam) => ({ ...adam, gradClipNorm: 0 }))
  },
  {
    rule: "ignores weightDecay",
    breaks: "optimizer: a step removes weightDecay times the learning rate of each weight",
    layer: stepping((adam) => ({ ...adam, weightDecay: 0 }))
  },
  {
    rule: "draws every token equally often",
    breaks: "distribution: tokens are drawn as often as their log-probabilities and the temperature say",
    layer: drawing((params) => ({ ...params, temperature: 1e3 }))
  },
  {
    rule: "ignores the temperature",
    breaks: "distribution: tokens are drawn as often as their log-probabilities and the temperature say",
    layer: drawing((params) => ({ ...params, temperature: 1 }))
  },
  {
    rule: "draws from more tokens than topP allows",
    breaks: "distribution: topP draws from the fewest most likely tokens that reach it",
    layer: drawing((params) => ({ ...params, topP: Math.min(1, 1.5 * (params.topP ?? 1)) }))
  },
  {
    rule: "uses the same seed for all requests without one",
    breaks: "distribution: requests without a seed give different samples",
    layer: drawing((params) => ({ seed: 0, ...params }))
  },
  {
    rule: "does not normalize log-probabilities",
    breaks: "distribution: the probabilities of all next tokens add up to 1",
    layer: training((client) => ({
      forward: (data, loss) =>
        Effect.map(client.forward(data, loss), (pending) => ({
          await: Effect.map(pending.await, (output) => ({
            ...output,
            logprobs: output.logprobs.map((logprobs) => logprobs.map((logprob) => logprob - 0.1))
          }))
        }))
    }))
  },
  {
    rule: "continues samples after the end of the sequence",
    breaks: "distribution: the end-of-sequence token ends a sample, unless token ids replace it",
    layer: ScriptedTinker.layer()
  },
  {
    rule: "continues training from weights saved for sampling",
    breaks: "states: training does not continue from weights saved for sampling",
    layer: training((client) => ({ saveWeightsForSampler: client.saveState }))
  },
  {
    rule: "gives the checkpoints of all clients the same paths",
    breaks: "states: clients that save under the same name have different paths",
    layer: training((client) => ({
      saveState: (name) => Effect.map(client.saveState(name), () => ({ await: Effect.succeed({ path: name }) }))
    }))
  },
  {
    rule: "dies of an image",
    breaks: "validation: an image is an error or an answer, not a defect",
    layer: sampling((client) => ({
      sample: (request) =>
        request.prompt.chunks.some(({ _tag }) => _tag === "Image")
          ? Effect.die(new Error("an image"))
          : client.sample(request)
    }))
  }
]
