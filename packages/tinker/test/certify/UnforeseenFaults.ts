/**
 * Thirty faults by someone who knew the specification of the protocol and the server, and had not read the checks of `certify` nor their
 * mutants. They are half of sixty that were divided at random. The other half, `SealedFaults.ts`, was opened only after the checks were
 * written. The SHA-256 of its file, which was recorded here beforehand, was then
 * `3e3edbaeaade887cd467ef54e2c8a8b28901d4079ba93012c27bedc9558f60da`; its imports and titles have changed since.
 */
import type { TinkerError } from "@effect-rl/core"
import { ModelInput, type Pending, type Sampling, type TrainingClient } from "@effect-rl/core/backend"
import { Effect } from "effect"
import {
  type Answered,
  asking,
  each,
  type Fault,
  fieldsOf,
  gradient,
  json,
  outputs,
  params,
  pathOf,
  requests,
  responses,
  sample,
  sampling,
  sequences,
  signalOf,
  training,
  without,
  withSignal
} from "./Fault.ts"

const topPIgnored: Fault = {
  id: "topPIgnored",
  sentence: "top_p is read and not used.",
  backend: params((params) => without(params, "topP"))
}

const filteredLogprobs: Fault = {
  id: "filteredLogprobs",
  sentence: "With top_k, log-probabilities are renormalised over the tokens that the filter kept.",
  backend: sample((sample) => (request) => {
    const { topK = -1 } = request.params
    if (topK < 1 || topK > 20) return sample(request)
    return Effect.map(sample({ ...request, topkSampleLogprobs: topK }), (response) => ({
      ...response,
      sequences: response.sequences.map((sequence) => ({
        ...without(sequence, "topkLogprobs"),
        logprobs: sequence.logprobs.map((logprob, t) =>
          Math.min(
            0,
            logprob -
              Math.log((sequence.topkLogprobs?.[t] ?? []).reduce((sum, { logprob }) => sum + Math.exp(logprob), 0))
          )
        )
      }))
    }))
  })
}

const firstStopOnly: Fault = {
  id: "firstStopOnly",
  sentence: "Of a list of stops only the first is looked for.",
  backend: params((params) => {
    const { stop } = params
    if (stop === undefined) return params
    const ids: Array<number> = []
    const texts: Array<string> = []
    for (const one of stop) {
      if (typeof one === "number") ids.push(one)
      else texts.push(one)
    }
    return { ...params, stop: texts.length > 0 ? texts.slice(0, 1) : ids.slice(0, 1) }
  })
}

const promptCountsToLimit: Fault = {
  id: "promptCountsToLimit",
  sentence: "max_tokens limits prompt and answer together once the prompt has more than 16 tokens.",
  backend: asking((request) =>
    request.prompt.length <= 16 ? request : {
      ...request,
      params: { ...request.params, maxTokens: Math.max(1, request.params.maxTokens - request.prompt.length) }
    }
  )
}

const firstMembersLogprobs: Fault = {
  id: "firstMembersLogprobs",
  sentence: "All samples of a request carry the log-probabilities of the first, as far as their lengths allow.",
  backend: sequences((sequence, _request, _index, [first = sequence]) => ({
    ...sequence,
    logprobs: sequence.logprobs.map((logprob, t) => first.logprobs[t] ?? logprob)
  }))
}

const roundedLogprobs: Fault = {
  id: "roundedLogprobs",
  sentence: "Log-probabilities of samples are rounded to bfloat16 before they are sent.",
  backend: sequences((sequence) => {
    const bits = new Uint32Array(sequence.logprobs.slice().buffer)
    const rounded = new Float32Array(bits.map((bit) => (bit + 0x8000) & 0xffff0000).buffer)
    return { ...sequence, logprobs: rounded }
  })
}

const promptLogprobsShifted: Fault = {
  id: "promptLogprobsShifted",
  sentence: "Prompt log-probabilities stand one position early, and the last is repeated.",
  backend: sampling((client) => {
    const shifted = (logprobs: Float32Array) =>
      logprobs.map((_, t) => logprobs[t === 0 ? 0 : Math.min(t + 1, logprobs.length - 1)] ?? 0)
    return {
      ...client,
      computeLogprobs: (prompt) => Effect.map(client.computeLogprobs(prompt), shifted),
      sample: (request) =>
        Effect.map(client.sample(request), (response) =>
          response.promptLogprobs === undefined
            ? response
            : { ...response, promptLogprobs: shifted(response.promptLogprobs) })
    }
  })
}

const longPromptsLoseTheirHead: Fault = {
  id: "longPromptsLoseTheirHead",
  sentence:
    "Of prompts longer than 64 tokens only the last 64 are read, where no prompt log-probabilities are asked for.",
  backend: asking((request) => {
    if (request.prompt.length <= 64 || request.promptLogprobs === true || (request.topkPromptLogprobs ?? 0) > 0) {
      return request
    }
    const tokens = request.prompt.chunks.flatMap((chunk) => "tokens" in chunk ? [...chunk.tokens] : [])
    return { ...request, prompt: ModelInput.fromTokens(tokens.slice(-64)) }
  })
}

const topkShiftedByOne: Fault = {
  id: "topkShiftedByOne",
  sentence: "The most likely tokens of a prompt position are those of the position after it.",
  backend: sample((sample) => (request) =>
    Effect.map(sample(request), (response) => {
      const { topkPromptLogprobs } = response
      return topkPromptLogprobs === undefined ? response : {
        ...response,
        topkPromptLogprobs: topkPromptLogprobs.map((row, t) => t === 0 ? row : topkPromptLogprobs[t + 1] ?? row)
      }
    })
  )
}

const gradientsOfMeans: Fault = {
  id: "gradientsOfMeans",
  sentence: "The metric says the loss's sum, but the gradient is divided by the number of datums of the request.",
  backend: gradient((data) => each(data, (datum) => withSignal(datum, (value) => value / data.length)))
}

const hiddenWarmup: Fault = {
  id: "hiddenWarmup",
  sentence: "The learning rate of the first five steps is scaled up from a fifth, a warm-up nobody asked for.",
  backend: training((client) => {
    let step = 0
    return {
      ...client,
      optimStep: (adam) => client.optimStep({ ...adam, learningRate: adam.learningRate * Math.min(1, ++step / 5) })
    }
  })
}

const lateLearningRate: Fault = {
  id: "lateLearningRate",
  sentence: "A step uses the learning rate of the step before it; only the first uses its own.",
  backend: training((client) => {
    let last: number | undefined
    return {
      ...client,
      optimStep: (adam) => {
        const learningRate = last ?? adam.learningRate
        last = adam.learningRate
        return client.optimStep({ ...adam, learningRate })
      }
    }
  })
}

const ratioOfOne: Fault = {
  id: "ratioOfOne",
  sentence:
    "Policy losses take the sampler's log-probabilities from a pass of their own, so that the ratio is always 1.",
  backend: training((client) => ({
    ...client,
    forwardBackward: Effect.fnUntraced(function*(data, loss, options) {
      const { logprobs } = yield* (yield* client.forward(data, loss)).await
      const own = each(data, (datum, index) => ({
        ...datum,
        inputs: {
          ...datum.inputs,
          ...("advantages" in datum.inputs ? { logprobs: logprobs[index] ?? new Float32Array() } : {})
        }
      }))
      return yield* client.forwardBackward(own, loss, options)
    })
  }))
}

const longDataCut: Fault = {
  id: "longDataCut",
  sentence: "Targets beyond the 32nd position of a datum add nothing to the gradient.",
  backend: gradient((data) => each(data, (datum) => withSignal(datum, (value, t) => t < 32 ? value : 0)))
}

const sameDataOnce: Fault = {
  id: "sameDataOnce",
  sentence: "Equal datums of one request are counted once.",
  backend: gradient((data) => {
    const seen = new Set<string>()
    return each(data, (datum) => {
      const tokens = datum.modelInput.chunks.map((chunk) => "tokens" in chunk ? [...chunk.tokens] : chunk.data.length)
      const key = JSON.stringify([tokens, [...datum.inputs.targetTokens], [...signalOf(datum)]])
      const isNew = !seen.has(key)
      seen.add(key)
      return isNew ? datum : withSignal(datum, () => 0)
    })
  })
}

const unweightedLogprobsZero: Fault = {
  id: "unweightedLogprobsZero",
  sentence: "Passes report a log-probability of 0 where the weight or the advantage is 0.",
  backend: outputs((output, data) => ({
    ...output,
    logprobs: output.logprobs.map((logprobs, index) => {
      const datum = data[index]
      return datum === undefined ? logprobs : logprobs.map((value, t) => signalOf(datum)[t] === 0 ? 0 : value)
    })
  }))
}

const lossMetricIsMean: Fault = {
  id: "lossMetricIsMean",
  sentence: "loss:sum is the mean over datums.",
  backend: outputs((output, data) => ({
    ...output,
    metrics: { ...output.metrics, "loss:sum": (output.metrics["loss:sum"] ?? 0) / data.length }
  }))
}

const forwardTrains: Fault = {
  id: "forwardTrains",
  sentence: "Passes that ask for no gradient add their gradient as well.",
  backend: training((client) => ({ ...client, forward: (data, loss) => client.forwardBackward(data, loss) }))
}

const everythingTrained: Fault = {
  id: "everythingTrained",
  sentence: "train_mlp, train_attn and train_unembed are ignored: everything is trained.",
  backend: (tinker) => ({
    ...tinker,
    createLoraTrainingClient: (options) =>
      tinker.createLoraTrainingClient(without(options, "trainMlp", "trainAttn", "trainUnembed"))
  })
}

const gradientsSurviveLoad: Fault = {
  id: "gradientsSurviveLoad",
  sentence: "Gradients that wait for a step survive a load and are applied to the loaded weights.",
  backend: training((client) => {
    let last: Effect.Effect<Pending.Pending<TrainingClient.ForwardBackwardOutput>, TinkerError.TinkerError> | undefined
    return {
      ...client,
      forwardBackward: (data, loss, options) => {
        last = client.forwardBackward(data, loss, options)
        return last
      },
      optimStep: (adam) => {
        last = undefined
        return client.optimStep(adam)
      },
      loadState: Effect.fnUntraced(function*(path, options) {
        const load = yield* client.loadState(path, options)
        if (last !== undefined) yield* (yield* last).await
        return load
      })
    }
  })
}

const overwritesSilently: Fault = {
  id: "overwritesSilently",
  sentence: "A state saved under a name that is taken replaces the old one without being asked to.",
  wire: requests("/save_weights", (fields) => ({ ...fields, overwrite: true }))
}

const lifetimeIgnored: Fault = {
  id: "lifetimeIgnored",
  sentence: "ttl_seconds of saved weights is ignored: they are kept forever.",
  wire: (handler) =>
    requests("/save_weights", (fields) => without(fields, "ttl_seconds"))(
      requests("/save_weights_for_sampler", (fields) => without(fields, "ttl_seconds"))(handler)
    )
}

const offsetIgnored: Fault = {
  id: "offsetIgnored",
  sentence:
    "Lists of checkpoints and runs always begin with the first entry, though the cursor repeats the offset asked for.",
  wire: (handler) => (asked) => {
    const offset = /[?&]offset=(\d+)/.exec(asked.path)?.[1]
    if (offset === undefined) return handler(asked)
    return responses(/^\/(checkpoints|training_runs)$/, (fields) => ({
      ...fields,
      cursor: { ...(typeof fields["cursor"] === "object" ? fields["cursor"] : {}), offset: Number(offset) }
    }))(handler)({ ...asked, path: asked.path.replace(/offset=\d+/, "offset=0") })
  }
}

const lastStepMissingInSave: Fault = {
  id: "lastStepMissingInSave",
  sentence: "A state that is saved right after a step has the weights before that step.",
  backend: training((client) => {
    let waiting: Parameters<typeof client.optimStep>[0] | undefined
    const settle = Effect.suspend(() => {
      const adam = waiting
      waiting = undefined
      return adam === undefined ? Effect.void : Effect.flatMap(client.optimStep(adam), (step) => step.await)
    })
    return {
      ...client,
      optimStep: (adam) =>
        Effect.map(settle, () => {
          waiting = adam
          return { await: Effect.succeed({ metrics: {} }) }
        }),
      forward: (data, loss) => Effect.andThen(settle, client.forward(data, loss)),
      forwardBackward: (data, loss, options) => Effect.andThen(settle, client.forwardBackward(data, loss, options)),
      saveWeightsAndGetSamplingClient: Effect.andThen(settle, client.saveWeightsAndGetSamplingClient),
      saveWeightsForSampler: (name, options) => Effect.andThen(settle, client.saveWeightsForSampler(name, options)),
      loadState: (path, options) => Effect.andThen(settle, client.loadState(path, options))
    }
  })
}

const otherBodySameNumber: Fault = {
  id: "otherBodySameNumber",
  sentence:
    "An optimizer step with the seq_id of another is answered with that one's result, though the request differs.",
  wire: (handler) => {
    const known = new Map<string, Answered>()
    return (asked) => {
      if (pathOf(asked) !== "/optim_step") return handler(asked)
      const { model_id, seq_id } = fieldsOf(asked)
      const key = `${String(model_id)} ${String(seq_id)}`
      const found = known.get(key)
      return found === undefined || typeof seq_id !== "number"
        ? Effect.tap(handler(asked), (answered) => Effect.sync(() => known.set(key, answered)))
        : Effect.succeed(found)
    }
  }
}

const resultOnce: Fault = {
  id: "resultOnce",
  sentence: "A result is forgotten once it has been delivered: who asks again, having lost the response, gets 404.",
  wire: (handler) => {
    const delivered = new Set<unknown>()
    return Effect.fnUntraced(function*(asked) {
      if (pathOf(asked) !== "/retrieve_future") return yield* handler(asked)
      const { request_id } = fieldsOf(asked)
      if (delivered.has(request_id)) return json(404, { detail: `no request ${String(request_id)}` })
      const answered = yield* handler(asked)
      if (answered.status === 200) delivered.add(request_id)
      return answered
    })
  }
}

const anySession: Fault = {
  id: "anySession",
  sentence: "Heartbeats of sessions that have ended or never were are answered as if they lived.",
  wire: (handler) => (asked) =>
    pathOf(asked) === "/session_heartbeat"
      ? Effect.as(handler(asked), json(200, { type: "session_heartbeat" }))
      : handler(asked)
}

const contextTwice: Fault = {
  id: "contextTwice",
  sentence: "The capabilities promise twice the context that requests may have.",
  wire: responses(/^\/get_server_capabilities$/, (fields) => ({
    ...fields,
    ...(Array.isArray(fields["supported_models"])
      ? {
        supported_models: fields["supported_models"].map((model: { readonly max_context_length?: number }) => ({
          ...model,
          max_context_length: 2 * (model.max_context_length ?? 0)
        }))
      }
      : {})
  }))
}

const otherModelServed: Fault = {
  id: "otherModelServed",
  sentence: "A base model that the server does not have is replaced by the one it has.",
  backend: (tinker) => {
    const known = (name: string) =>
      Effect.map(tinker.models, (models) => models.includes(name) ? name : models[0] ?? name)
    return {
      ...tinker,
      capabilities: (name) => Effect.flatMap(known(name), tinker.capabilities),
      createLoraTrainingClient: (options) =>
        Effect.flatMap(
          Effect.orDie(known(options.baseModel)),
          (baseModel) => tinker.createLoraTrainingClient({ ...options, baseModel })
        ),
      createSamplingClient: (from) =>
        "modelPath" in from
          ? tinker.createSamplingClient(from)
          : Effect.flatMap(
            Effect.orDie(known(from.baseModel)),
            (baseModel) => tinker.createSamplingClient({ baseModel })
          )
    }
  }
}

const swappedLogprobs: Fault = {
  id: "swappedLogprobs",
  sentence: "Requests that are sampled at the same time in one batch get the log-probabilities of each other.",
  backend: (tinker) => {
    let running: Array<Sampling.SampleResponse> = []
    let count = 0
    return sample((sample) => (request) =>
      Effect.suspend(() => {
        count++
        return sample(request)
      }).pipe(
        Effect.map((response) => {
          const other = running.at(-1)
          running.push(response)
          return other === undefined ? response : {
            ...response,
            sequences: response.sequences.map((sequence, index) => ({
              ...sequence,
              logprobs: sequence.logprobs.map((value, t) => other.sequences[index]?.logprobs[t] ?? value)
            }))
          }
        }),
        Effect.ensuring(Effect.sync(() => {
          if (--count === 0) running = []
        }))
      )
    )(tinker)
  }
}

export const faults: ReadonlyArray<Fault> = [
  topPIgnored,
  filteredLogprobs,
  firstStopOnly,
  promptCountsToLimit,
  firstMembersLogprobs,
  roundedLogprobs,
  promptLogprobsShifted,
  longPromptsLoseTheirHead,
  topkShiftedByOne,
  gradientsOfMeans,
  hiddenWarmup,
  lateLearningRate,
  ratioOfOne,
  longDataCut,
  sameDataOnce,
  unweightedLogprobsZero,
  lossMetricIsMean,
  forwardTrains,
  everythingTrained,
  gradientsSurviveLoad,
  overwritesSilently,
  lifetimeIgnored,
  offsetIgnored,
  lastStepMissingInSave,
  otherBodySameNumber,
  resultOnce,
  anySession,
  contextTwice,
  otherModelServed,
  swappedLogprobs
]
