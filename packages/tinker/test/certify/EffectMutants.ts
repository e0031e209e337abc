/** Servers that are wrong only for combinations of several weights, steps, options or sessions. */
import type {
  AdamParams,
  Datum,
  ModelInput,
  Pending,
  Sampling,
  SamplingClient,
  TrainingClient
} from "@effect-rl/core/backend"
import { Effect } from "effect"
import { HttpClient, HttpClientRequest } from "effect/http"
import * as Fault from "./Fault.ts"
import type * as Served from "./Served.ts"
import * as Wire from "./Wire.ts"

export interface Mutant extends Served.Faults {
  readonly fault: string
  readonly foundBy: string
}

type Client = TrainingClient.TrainingClient

/** Changes every training client; the function is called once per client. */
const training = (change: (client: Client) => Partial<Client>) =>
  Fault.training((client) => ({ ...client, ...change(client) }))

/** Changes the settings of each optimizer step, given the number of earlier steps of the model and its first settings. */
const steps = (
  change: (adam: AdamParams.AdamParams, before: number, first: AdamParams.AdamParams) => AdamParams.AdamParams
) =>
  training((client) => {
    let before = 0
    let first: AdamParams.AdamParams | undefined
    return {
      optimStep: (adam) => {
        first ??= adam
        return client.optimStep(change(adam, before++, first))
      }
    }
  })

const weights: ReadonlyArray<Mutant> = [
  {
    fault: "samples from the newest weights, whichever are asked for by name",
    foundBy:
      "checkpoints: samplers of weights saved under several names keep their weights, also when used at the same time",
    backend: (tinker) => {
      let newest: string | undefined
      const changed = training((client) => ({
        saveWeightsForSampler: (name, options) =>
          Effect.map(client.saveWeightsForSampler(name, options), (pending) => ({
            await: Effect.tap(pending.await, ({ path }) => Effect.sync(() => newest = path))
          }))
      }))(tinker)
      return {
        ...changed,
        createSamplingClient: (from) =>
          Effect.map(
            tinker.createSamplingClient("modelPath" in from && newest !== undefined ? { modelPath: newest } : from),
            (client) => "modelPath" in from ? { ...client, modelPath: from.modelPath } : client
          )
      }
    }
  },
  {
    fault: "gives all snapshots of a model the weights of the first",
    foundBy: "checkpoints: simultaneous snapshots of one model each have their own weights",
    backend: training((client) => {
      let first: SamplingClient.SamplingClient | undefined
      return {
        saveWeightsAndGetSamplingClient: Effect.map(
          client.saveWeightsAndGetSamplingClient,
          (sampler) => first ??= sampler
        )
      }
    })
  },
  {
    fault: "identifies snapshots by the number of steps before them",
    foundBy: "checkpoints: a save after loading an older state has that state's weights",
    backend: training((client) => {
      const known = new Map<number, SamplingClient.SamplingClient>()
      const at = new Map<string, number>()
      let step = 0
      return {
        optimStep: (adam) => Effect.tap(client.optimStep(adam), () => Effect.sync(() => step++)),
        saveState: (name, options) =>
          Effect.map(client.saveState(name, options), (pending) => ({
            await: Effect.tap(pending.await, ({ path }) => Effect.sync(() => at.set(path, step)))
          })),
        loadState: (path, options) =>
          Effect.tap(client.loadState(path, options), () => Effect.sync(() => step = at.get(path) ?? 0)),
        saveWeightsAndGetSamplingClient: Effect.map(client.saveWeightsAndGetSamplingClient, (sampler) => {
          const found = known.get(step) ?? sampler
          known.set(step, found)
          return found
        })
      }
    })
  },
  {
    fault: "loads the newest state of a model, whichever is asked for",
    foundBy: "checkpoints: each of several states keeps its own weights and optimizer",
    backend: training((client) => {
      let newest: string | undefined
      return {
        saveState: (name, options) =>
          Effect.map(client.saveState(name, options), (pending) => ({
            await: Effect.tap(pending.await, ({ path }) => Effect.sync(() => newest = path))
          })),
        loadState: (path, options) => client.loadState(newest ?? path, options)
      }
    })
  },
  {
    fault: "keeps the first weights of a name and says that it has replaced them",
    foundBy:
      "checkpoints: weights saved under an existing name replace the first ones, or are refused and leave them unchanged",
    backend: training((client) => {
      const known = new Map<string, Pending.Pending<TrainingClient.Checkpoint>>()
      return {
        saveWeightsForSampler: (name, options) => {
          const first = known.get(name)
          return first === undefined
            ? Effect.tap(
              client.saveWeightsForSampler(name, options),
              (saved) => Effect.sync(() => known.set(name, saved))
            )
            : Effect.succeed(first)
        }
      }
    })
  },
  {
    fault: "keeps one optimizer for all models",
    foundBy: "training: the gradients, momentum and snapshots of two alternately trained models do not mix",
    backend: (tinker) => {
      let before: Client | undefined
      return training((client) => {
        const other = before
        before = client
        return {
          optimStep: (adam) =>
            other === undefined
              ? client.optimStep(adam)
              : Effect.andThen(
                Effect.ignore(Effect.flatMap(other.optimStep(adam), (pending) => pending.await)),
                client.optimStep(adam)
              )
        }
      })(tinker)
    }
  }
]

const places: ReadonlyArray<Mutant> = [
  {
    fault: "has room for four models, of which the fifth takes the place of the first",
    foundBy: "training: six simultaneous models each keep what they learned",
    backend: (tinker) => {
      const all: Array<Client> = []
      return training((client) => {
        const place = all.push(client) - 1
        return { forward: (data, loss) => (all[place + 4] ?? client).forward(data, loss) }
      })(tinker)
    }
  },
  {
    fault: "ignores the case of names",
    foundBy: "checkpoints: names that differ only in case or after 100 letters are separate",
    backend: training((client) => ({ saveState: (name, options) => client.saveState(name.toLowerCase(), options) }))
  }
]

const optimizer: ReadonlyArray<Mutant> = [
  {
    fault: "loses steps with a learning rate below 1e-7",
    foundBy: "optimizer: steps with a tiny learning rate have the right length",
    backend: steps((adam) => adam.learningRate < 1e-7 ? { ...adam, learningRate: 0 } : adam)
  },
  {
    fault: "loses every eighth step",
    foundBy: "optimizer: many short steps move the weights as far as a few long ones",
    backend: steps((adam, before) => before % 8 === 7 ? { ...adam, learningRate: 0 } : adam)
  },
  {
    fault: "takes a step without a pass with the gradient of the pass before",
    foundBy: "optimizer: a step without a pass uses a zero gradient",
    backend: training((client) => {
      let pass: Effect.Effect<unknown> = Effect.void
      let isFresh = false
      return {
        forwardBackward: (data, loss, options) =>
          Effect.tap(client.forwardBackward(data, loss, options), () =>
            Effect.sync(() => {
              isFresh = true
              pass = Effect.ignore(Effect.flatMap(client.forwardBackward(data, loss), (pending) => pending.await))
            })),
        optimStep: (adam) =>
          Effect.suspend(() => {
            const again = isFresh ? Effect.void : pass
            isFresh = false
            return Effect.andThen(again, client.optimStep(adam))
          })
      }
    })
  },
  {
    fault: "loses the optimizer's moments when it saves",
    foundBy: "optimizer: the optimizer's momentum survives all requests between two steps",
    backend: training((client) => ({
      saveState: (name, options) =>
        Effect.map(client.saveState(name, options), (pending) => ({
          await: Effect.tap(
            pending.await,
            ({ path }) => Effect.flatMap(client.loadState(path), (loaded) => loaded.await)
          )
        }))
    }))
  },
  {
    fault: "keeps the betas of a model's first step",
    foundBy: "optimizer: beta1 sets how much a gradient counts in the next step",
    backend: steps((adam, _, { beta1, beta2 }) => ({
      ...adam,
      ...(beta1 === undefined ? {} : { beta1 }),
      ...(beta2 === undefined ? {} : { beta2 })
    }))
  },
  {
    fault: "does not decay weights by less than a tenth",
    foundBy: "optimizer: a step removes weight_decay times the learning rate of each weight",
    backend: Fault.adam((adam) => (adam.weightDecay ?? 0) < 0.1 ? { ...adam, weightDecay: 0 } : adam)
  },
  {
    fault: "reads the first datum's advantages for all of a pass",
    foundBy:
      "gradients: each datum of a pass uses its own log-probabilities and advantages, and passes with different losses add up",
    backend: Fault.data(<K extends Datum.Kind>(
      data: readonly [Datum.Datum<K>, ...ReadonlyArray<Datum.Datum<K>>]
    ) => {
      const first = Fault.signalOf(data[0])
      return Fault.each(data, (datum) => Fault.withSignal(datum, (value, t) => first[t] ?? value))
    })
  }
]

const options: ReadonlyArray<Mutant> = [
  {
    fault: "draws from 50 tokens at most",
    foundBy: "sampling: a top_k of 100 draws from exactly 100 tokens",
    backend: Fault.params((params) => ({ ...params, topK: Math.min(params.topK ?? 50, 50) }))
  },
  {
    fault: "ignores top_k where top_p is given",
    foundBy: "sampling: top_k and top_p apply together and with a temperature",
    backend: Fault.params((params) =>
      params.topP === undefined || params.topP === 1 ? params : Fault.without(params, "topK")
    )
  },
  {
    fault: "takes temperatures below 0.2 for 0",
    foundBy: "sampling: a temperature of 0.1 still draws both of two almost equally likely tokens",
    backend: Fault.params((params) => (params.temperature ?? 1) < 0.2 ? { ...params, temperature: 0 } : params)
  },
  {
    fault: "copies samples beyond the thirtieth",
    foundBy: "sampling: the 160 samples of a request are drawn independently",
    backend: Fault.sequences((sequence, _, index, all) => all[index % 30] ?? sequence)
  },
  {
    fault: "ends samples after 100 tokens",
    foundBy:
      "sampling: max_tokens 600 gives 600 tokens with log-probabilities, and stop tokens also work late in a sample",
    backend: Fault.params((params) => ({ ...params, maxTokens: Math.min(params.maxTokens, 100) }))
  },
  {
    fault: "reads only the first 16 stops",
    foundBy: "sampling: the last of 40 stop tokens works, and so does a stop token that is drawn first",
    backend: Fault.params((params) =>
      params.stop === undefined ? params : { ...params, stop: params.stop.slice(0, 16) }
    )
  },
  {
    fault: "leaves out the token that completes a stop string",
    foundBy: "sampling: the token that completes a stop string is part of the sample and counts toward max_tokens",
    backend: Fault.sequences((sequence, { params: { stop } }) =>
      sequence.stopReason === "stop" && typeof stop?.[0] === "string"
        ? { ...sequence, tokens: sequence.tokens.slice(0, -1), logprobs: sequence.logprobs.slice(0, -1) }
        : sequence
    )
  },
  {
    fault: "samples concurrent requests with the stops of the first",
    foundBy: "sampling: concurrent requests keep their own prompts, limits, stops and temperatures",
    backend: (tinker) => {
      let running: Sampling.SamplingParams | undefined
      let count = 0
      return Fault.sample((sample) => (request) =>
        Effect.suspend(() => {
          if (count++ === 0) running = request.params
          const stop = running?.stop ?? []
          return Effect.ensuring(
            Effect.andThen(Effect.sleep("3 millis"), sample({ ...request, params: { ...request.params, stop } })),
            Effect.sync(() => count--)
          )
        })
      )(tinker)
    }
  },
  {
    fault: "gives greedy tokens a log-probability of 0",
    foundBy:
      "logprobs: sample log-probabilities are the model's own at every temperature, top_k and top_p, also beside prompt_logprobs",
    backend: Fault.sequences((sequence, { params: { temperature } }) =>
      temperature === 0 ? { ...sequence, logprobs: sequence.logprobs.map(() => 0) } : sequence
    )
  },
  {
    fault: "gives 10 candidates at most",
    foundBy:
      "logprobs: a single candidate of a prompt token is the most likely one, and longer lists are in descending order",
    backend: Fault.asking((request) => ({
      ...request,
      ...(request.topkPromptLogprobs === undefined
        ? {}
        : { topkPromptLogprobs: Math.min(request.topkPromptLogprobs, 10) })
    }))
  },
  {
    fault: "reads the last two digits of a seed",
    foundBy: "seeds: every seed has its own samples: equal for another sampler, different at other temperatures",
    backend: Fault.params((params) => params.seed === undefined ? params : { ...params, seed: params.seed % 100 })
  }
]

/** Forgets a result after `most` further ones. */
const remembers = (most: number) => {
  const seen: Array<unknown> = []
  return Wire.received("/retrieve_future", (body) => {
    if (!seen.includes(body["request_id"])) seen.push(body["request_id"])
    const isOld = seen.indexOf(body["request_id"]) < seen.length - most
    return isOld ? { ...body, request_id: "forgotten" } : body
  })
}

const withoutImages = (prompt: unknown) =>
  typeof prompt === "object" && prompt !== null && "chunks" in prompt && Array.isArray(prompt.chunks)
    ? {
      chunks: prompt.chunks.filter((chunk: unknown) => typeof chunk === "object" && chunk !== null && "tokens" in chunk)
    }
    : prompt

const service: ReadonlyArray<Mutant> = [
  {
    fault: "knows sampling sessions by their numbers alone",
    foundBy: "sessions: sessions that use the same numbers are separate, and the end of one does not affect the other",
    rawWire: (client) => {
      let first: unknown
      return Wire.answered("/create_sampling_session", ({ body, status }) => {
        first ??= body["sampling_session_id"]
        return { status, body: { ...body, sampling_session_id: first } }
      })(client)
    }
  },
  {
    fault: "keeps only the last 32 results",
    foundBy: "futures: a result is kept while 48 others are requested and read",
    rawWire: remembers(32)
  },
  {
    fault: "drops images from prompts",
    foundBy: "limits: an image in a prompt is used or refused",
    rawWire: Wire.received("/asample", (body) => ({ ...body, prompt: withoutImages(body["prompt"]) }))
  },
  {
    fault: "reads token ids without their sign",
    foundBy: "limits: a prompt with a negative token id is refused",
    rawWire: Wire.received(
      "/asample",
      (body) => ({ ...body, prompt: JSON.parse(JSON.stringify(body["prompt"]).replaceAll("-", "")) })
    )
  },
  {
    fault: "lists runs from the first, whatever the offset",
    foundBy: "archive: a run names its newest state and its newest sampler weights, and its checkpoint list is paged",
    wire: (client) =>
      HttpClient.mapRequest(
        client,
        (request) =>
          request.url.endsWith("/training_runs") ? HttpClientRequest.setUrlParam(request, "offset", "0") : request
      )
  },
  {
    fault: "reports missing checkpoints as deleted",
    foundBy: "archive: a missing checkpoint cannot be deleted, published or given a lifetime",
    wire: Wire.swallowed("DELETE", "certify-not-there", 204)
  }
]

/** Faults to test with the scripted backend. */
export const all: ReadonlyArray<Mutant> = [...weights, ...places, ...optimizer, ...options, ...service]

/** Faults that take seconds to find. */
export const long: ReadonlyArray<Mutant> = [
  {
    fault: "reports a new lifetime of a checkpoint without setting it",
    foundBy: "checkpoints: an expired checkpoint is deleted, however its lifetime was set, and no other checkpoint is",
    wire: Wire.swallowed("PUT", "/ttl", 204)
  }
]

const lastChunk = ({ chunks }: ModelInput.ModelInput): ModelInput.ModelInput => {
  const kept = chunks.slice(-1)
  const length = kept.reduce((sum, chunk) => sum + (chunk._tag === "EncodedText" ? chunk.tokens.length : 0), 0)
  return { chunks: kept, length }
}

/** Faults to test with the engine, which has adapters, texts and files. */
export const engine: ReadonlyArray<Pick<Mutant, "fault" | "foundBy" | "backend">> = [
  {
    fault: "reads only the last chunk of a prompt",
    foundBy:
      "logprobs: a prompt in chunks equals the whole prompt, a single token is a valid prompt, and token 0 is read like others",
    backend: Fault.asking((request) =>
      request.promptLogprobs === true ? request : { ...request, prompt: lastChunk(request.prompt) }
    )
  },
  {
    fault: "makes adapters of rank 16 at most",
    foundBy: "adapters: adapters with different ranks differ",
    backend: (tinker) => ({
      ...tinker,
      createLoraTrainingClient: (lora) =>
        tinker.createLoraTrainingClient({ ...lora, loraRank: Math.min(lora.loraRank ?? 16, 16) })
    })
  },
  {
    fault: "takes train_mlp for train_attn",
    foundBy: "archive: a download has exactly the modules that were trained",
    backend: (tinker) => ({
      ...tinker,
      createLoraTrainingClient: ({ trainAttn = true, trainMlp = true, ...lora }) =>
        tinker.createLoraTrainingClient({ ...lora, trainAttn: trainMlp, trainMlp: trainAttn })
    })
  },
  {
    fault: "saves only the first weights of each model",
    foundBy: "archive: every download has the weights of its checkpoint",
    backend: training((client) => {
      let first: Pending.Pending<TrainingClient.Checkpoint> | undefined
      return {
        saveWeightsForSampler: (name, options) =>
          first === undefined
            ? Effect.tap(client.saveWeightsForSampler(name, options), (saved) => Effect.sync(() => first = saved))
            : Effect.succeed(first)
      }
    })
  },
  {
    fault: "takes stop strings for no stops at all",
    foundBy:
      "sampling: the end-of-sequence token ends a sample without stops or with stop strings, but not one with an empty stop list",
    backend: Fault.params((params) => typeof params.stop?.[0] === "string" ? { ...params, stop: [] } : params)
  },
  {
    fault: "ends samples with an empty list of stops as those without one",
    foundBy:
      "sampling: the end-of-sequence token ends a sample without stops or with stop strings, but not one with an empty stop list",
    backend: Fault.params((params) => params.stop?.length === 0 ? Fault.without(params, "stop") : params)
  },
  {
    fault: "clips no gradient to more than 100",
    foundBy: "optimizer: grad_norm is the gradient's norm before clipping, and clipping to half of it halves the step",
    backend: Fault.adam((adam) => ({ ...adam, gradClipNorm: Math.min(adam.gradClipNorm ?? 0, 100) }))
  },
  {
    fault: "scores one target in each place",
    foundBy: "logprobs: two targets at a position are scored separately, and −1 means no target",
    backend: Fault.asking((request) => {
      const { targetPromptLogprobs: targets } = request
      if (targets === undefined || targets.candidates === 1) return request
      const tokens = targets.tokens.map((token, at) => at % targets.candidates === 0 ? token : -1)
      return { ...request, targetPromptLogprobs: { ...targets, tokens } }
    })
  }
]
