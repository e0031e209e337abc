/** The third set of server faults, conceived from the API alone and sealed before any check looked for them. */
import type { TinkerError } from "@effect-rl/core"
import { AdamParams, type Datum, type Sampling } from "@effect-rl/core/backend"
import { Effect } from "effect"
import {
  type Answered,
  type Asked,
  asking,
  type Fault,
  fieldsOf,
  gradient,
  type Handler,
  json,
  outputs,
  params,
  pathOf,
  requests,
  responses,
  sample,
  sequences,
  signalOf,
  training,
  withBody,
  without,
  withSignal
} from "./Fault.ts"

type Fields = Readonly<Record<string, unknown>>

const textOf = ({ body }: { readonly body: Uint8Array }) => new TextDecoder().decode(body)

const withText = (answered: Answered, text: string): Answered => ({
  ...answered,
  headers: without(answered.headers, "content-length"),
  body: new TextEncoder().encode(text)
})

/** The list of objects in the field with this name. */
const listOf = (fields: Fields, name: string): ReadonlyArray<Fields> => {
  const list = fields[name]
  return Array.isArray(list) ? list : []
}

/** The request as a `GET` without a body, for another path under `/api/v1`. */
const getting = (asked: Asked, path: string): Asked => ({
  ...asked,
  method: "GET",
  path: `/api/v1${path}`,
  headers: without(asked.headers, "content-length", "content-type"),
  body: new Uint8Array()
})

// Passes

const cispoClippedLikePpo: Fault = {
  id: "cispoClippedLikePpo",
  sentence: "CISPO drops the gradient of tokens whose ratio is clipped, as PPO does, so that they are never learned.",
  backend: training((client) => ({
    ...client,
    forwardBackward: Effect.fnUntraced(function*(data, loss, options) {
      if (loss.name !== "cispo") return yield* client.forwardBackward(data, loss, options)
      const reported = yield* client.forward(data, loss)
      const { logprobs } = yield* reported.await
      const { clip_high_threshold: high = Infinity, clip_low_threshold: low = 0 } = loss.config
      const clipped = (datum: typeof data[number], index: number) => {
        const inputs: Datum.Inputs[Datum.Kind] = datum.inputs
        const sampled = "logprobs" in inputs ? inputs.logprobs : new Float32Array()
        return withSignal(datum, (advantage, t) => {
          const ratio = Math.exp((logprobs[index]?.[t] ?? NaN) - (sampled[t] ?? NaN))
          return advantage > 0 && ratio > high || advantage < 0 && ratio < low ? 0 : advantage
        })
      }
      const [first, ...others] = data
      const pass = yield* client.forwardBackward(
        [clipped(first, 0), ...others.map((datum, index) => clipped(datum, index + 1))],
        loss,
        options
      )
      return { await: Effect.andThen(pass.await, reported.await) }
    })
  }))
}

const forwardDropsGradients: Fault = {
  id: "forwardDropsGradients",
  sentence:
    "A forward pass clears the gradients that were accumulated before it, so that evaluating between two passes loses data.",
  backend: training((client) => {
    let passes: Array<Effect.Effect<unknown, TinkerError.TinkerError>> = []
    return {
      ...client,
      forward: (data, loss) =>
        Effect.suspend(() => {
          passes = []
          return client.forward(data, loss)
        }),
      forwardBackward: (data, loss, options) =>
        Effect.suspend(() => {
          passes.push(client.forwardBackward(data, loss, options))
          return client.forward(data, loss)
        }),
      optimStep: Effect.fnUntraced(function*(adam) {
        const waiting = passes
        passes = []
        yield* Effect.forEach(waiting, (pass) => pass, { discard: true })
        return yield* client.optimStep(adam)
      }),
      loadState: (path, options) =>
        Effect.suspend(() => {
          passes = []
          return client.loadState(path, options)
        })
    }
  })
}

/** Number of data in a micro-batch. */
const microBatch = 8

const lastMicroBatchDropped: Fault = {
  id: "lastMicroBatchDropped",
  sentence:
    "A pass runs in micro-batches of 8 datums, and the gradient of an incomplete last one is lost, so that data are not trained on.",
  backend: gradient(([first, ...others]) => [
    first,
    ...others.slice(0, Math.max(microBatch, (others.length + 1) - (others.length + 1) % microBatch) - 1)
  ])
}

// Optimizer

const laterAdamSettingsIgnored: Fault = {
  id: "laterAdamSettingsIgnored",
  sentence:
    "Betas, epsilon and weight decay of a model's first step hold for all later ones, so that a schedule of them has no effect.",
  backend: training((client) => {
    let settings: Pick<AdamParams.AdamParams, "beta1" | "beta2" | "eps" | "weightDecay"> | undefined
    return {
      ...client,
      optimStep: (adam) =>
        Effect.suspend(() => {
          const { beta1, beta2, eps, gradClipNorm, learningRate, weightDecay } = { ...AdamParams.defaults, ...adam }
          settings ??= { beta1, beta2, eps, weightDecay }
          return client.optimStep({ learningRate, gradClipNorm, ...settings })
        })
    }
  })
}

const warmUpStepSkipped: Fault = {
  id: "warmUpStepSkipped",
  sentence:
    "A step with learning rate 0, such as the first of a warm-up, does nothing at all, so that its gradients are added to the next step's.",
  backend: training((client) => ({
    ...client,
    optimStep: (adam) =>
      adam.learningRate === 0
        ? Effect.succeed({ await: Effect.succeed({ metrics: {} }) })
        : client.optimStep(adam)
  }))
}

const unsetClippingIsOne: Fault = {
  id: "unsetClippingIsOne",
  sentence: "A grad_clip_norm of 0, which asks for no clipping, clips at 1, so that large gradients lose their weight.",
  backend: training((client) => ({
    ...client,
    optimStep: (adam) => client.optimStep({ ...adam, gradClipNorm: adam.gradClipNorm || 1 })
  }))
}

// Sampling

const topPIgnoredWithTopK: Fault = {
  id: "topPIgnoredWithTopK",
  sentence: "Where a request has both top_k and top_p, only top_k is applied, so that unlikely tokens are sampled.",
  backend: params((params) => (params.topK ?? -1) > 0 ? { ...params, topP: 1 } : params)
}

const longStopStringMissed: Fault = {
  id: "longStopStringMissed",
  sentence:
    "Stop strings are compared with the last character sampled, so that longer ones never stop and answers run on.",
  backend: params((params) => {
    const stop: ReadonlyArray<string | number> = params.stop ?? []
    const short = stop.filter((one) => typeof one === "string" && one.length === 1).map(String)
    if (typeof stop[0] !== "string" || short.length === stop.length) return params
    return short.length === 0 ? without(params, "stop") : { ...params, stop: short }
  })
}

const stopOnLastTokenIsLength: Fault = {
  id: "stopOnLastTokenIsLength",
  sentence:
    "A sequence that stops with the last token it may have is reported as cut by its length, so that complete answers count as truncated.",
  backend: sequences((sequence, { params: { maxTokens } }) =>
    sequence.tokens.length >= maxTokens ? { ...sequence, stopReason: "length" } : sequence
  )
}

// Log-probabilities

const stopTokenLogprobZero: Fault = {
  id: "stopTokenLogprobZero",
  sentence:
    "The log-probability of the token that stopped a sequence is 0, so that a policy's ratio at the end of its turns is wrong.",
  backend: sequences((sequence) =>
    sequence.stopReason === "stop"
      ? { ...sequence, logprobs: sequence.logprobs.map((logprob, t, all) => t === all.length - 1 ? 0 : logprob) }
      : sequence
  )
}

const logprobsOfFirstSample: Fault = {
  id: "logprobsOfFirstSample",
  sentence:
    "All samples of a request have the log-probabilities of its first one, so that the ratios of a group's members are wrong.",
  backend: sequences((sequence, _, __, [first]) => ({
    ...sequence,
    logprobs: sequence.logprobs.map((logprob, t) => first?.logprobs[t] ?? logprob)
  }))
}

const maskedLogprobsZero: Fault = {
  id: "maskedLogprobsZero",
  sentence:
    "Passes report 0 for the log-probability of a token of weight 0, so that a custom loss, which has no weights yet, sees none.",
  backend: outputs((output, data) => ({
    ...output,
    logprobs: output.logprobs.map((logprobs, index) => {
      const datum = data[index]
      if (datum === undefined || !("weights" in datum.inputs)) return logprobs
      const weights = signalOf(datum)
      return logprobs.map((logprob, t) => weights[t] === 0 ? 0 : logprob)
    })
  }))
}

// Log-probabilities of prompts

/** Tokens per cache block. */
const cacheBlock = 16

const tokensOf = ({ prompt }: Sampling.SampleRequest) =>
  prompt.chunks.flatMap((chunk) => chunk._tag === "EncodedText" ? [...chunk.tokens] : [])

const cachedPromptUnscored: Fault = {
  id: "cachedPromptUnscored",
  sentence:
    "Prompt tokens that were in the prefix cache, in blocks of 16, have no log-probability, so that scoring a prompt again gives less.",
  backend: sample((sample) => {
    const cache = new Set<string>()
    const cachedOf = (request: Sampling.SampleRequest) => {
      const tokens = tokensOf(request)
      let cached = 0
      for (let end = cacheBlock; end <= tokens.length; end += cacheBlock) {
        const block = tokens.slice(0, end).join()
        if (cache.has(block)) cached = end
        cache.add(block)
      }
      return cached
    }
    return (request) =>
      Effect.suspend(() => {
        const cached = cachedOf(request)
        return Effect.map(sample(request), ({ promptLogprobs, ...response }) => ({
          ...response,
          ...(promptLogprobs === undefined
            ? {}
            : { promptLogprobs: promptLogprobs.map((logprob, t) => t < cached ? NaN : logprob) })
        }))
      })
  })
}

const topkPromptOfFive: Fault = {
  id: "topkPromptOfFive",
  sentence:
    "More than 5 of the most likely tokens at a prompt's positions are never given, so that distillation loses the tail.",
  backend: asking((request) => ({ ...request, topkPromptLogprobs: Math.min(request.topkPromptLogprobs ?? 0, 5) }))
}

const promptScoredForOneSampleAlone: Fault = {
  id: "promptScoredForOneSampleAlone",
  sentence: "The prompt is scored only for requests of one sample, so that those of a group get no prompt_logprobs.",
  backend: asking((request) =>
    (request.numSamples ?? 1) > 1 ? { ...request, promptLogprobs: false, topkPromptLogprobs: 0 } : request
  )
}

// Checkpoints

const replacementKeepsLifetime: Fault = {
  id: "replacementKeepsLifetime",
  sentence:
    "A state saved over another one gets the lifetime of the replaced one, so that a checkpoint saved to stay is deleted.",
  wire: (handler) => {
    const lifetimes = new Map<string, unknown>()
    return requests("/save_weights", (fields) => {
      const name = `${String(fields["model_id"])} ${String(fields["path"])}`
      if (fields["overwrite"] === true && lifetimes.has(name)) {
        return { ...fields, ttl_seconds: lifetimes.get(name) }
      }
      lifetimes.set(name, fields["ttl_seconds"])
      return fields
    })(handler)
  }
}

const deletedWithNamesake: Fault = {
  id: "deletedWithNamesake",
  sentence:
    "Deleting a state also deletes the sampler's weights of the same name, so that a cleaned-up run loses what it serves.",
  wire: (handler) => (asked) => {
    const state = "/checkpoints/weights/"
    const isStates = asked.method === "DELETE" && asked.path.includes(state) && !asked.path.endsWith("/publish")
    if (!isStates) return handler(asked)
    return Effect.tap(
      handler(asked),
      () => handler({ ...asked, path: asked.path.replace(state, "/checkpoints/sampler_weights/") })
    )
  }
}

const archiveOfNewest: Fault = {
  id: "archiveOfNewest",
  sentence:
    "The archive of any checkpoint of a run is that of the newest of its kind, so that who downloads an earlier one gets other weights.",
  wire: (handler) =>
    Effect.fnUntraced(function*(asked) {
      const [, run = "", kind = ""] =
        /^\/training_runs\/([^/]+)\/checkpoints\/(\w+)\/[^/]+\/archive$/.exec(pathOf(asked)) ?? []
      if (run === "") return yield* handler(asked)
      const listed = yield* handler(getting(asked, `/training_runs/${run}/checkpoints`))
      const [newest] = listOf(fieldsOf(listed), "checkpoints")
        .filter(({ checkpoint_id }) => String(checkpoint_id).startsWith(`${kind}/`))
        .toSorted((left, right) => String(right["time"]).localeCompare(String(left["time"])))
      if (newest === undefined) return yield* handler(asked)
      const path = `/training_runs/${run}/checkpoints/${String(newest["checkpoint_id"])}/archive`
      return yield* handler({ ...asked, path: `/api/v1${path}` })
    })
}

// Sessions and futures

const seqIdRounded: Fault = {
  id: "seqIdRounded",
  sentence:
    "Numbers of requests to sample are read as floating-point numbers, so that near ones of a pickled client are taken for the same.",
  wire: requests("/asample", (fields) => fields)
}

const trainingPaths = [
  "/forward_backward",
  "/forward",
  "/optim_step",
  "/save_weights",
  "/save_weights_for_sampler",
  "/load_weights"
]

/** The model of a numbered request in JSON or protobuf. */
const modelOf = (asked: Asked) => {
  const { model_id, seq_id } = fieldsOf(asked)
  if (asked.headers["content-type"]?.includes("protobuf") === true) return /[\w-]+:train:\d+/.exec(textOf(asked))?.[0]
  return typeof model_id === "string" && typeof seq_id === "number" ? model_id : undefined
}

const refusedNumberAwaited: Fault = {
  id: "refusedNumberAwaited",
  sentence:
    "The number of a refused training request stays missing, so that every later request of the model waits for it forever.",
  wire: (handler) => {
    const stuck = new Set<string>()
    let waiting = 0
    return (asked) =>
      Effect.suspend(() => {
        const path = pathOf(asked)
        const { request_id } = fieldsOf(asked)
        if (path === "/retrieve_future" && String(request_id).startsWith("waiting-")) {
          return Effect.delay(
            Effect.succeed(json(408, { type: "try_again", request_id, queue_state: "active" })),
            "1 second"
          )
        }
        const model = trainingPaths.includes(path) ? modelOf(asked) : undefined
        if (model === undefined) return handler(asked)
        if (stuck.has(model)) return Effect.succeed(json(200, { request_id: `waiting-${waiting++}` }))
        return Effect.tap(
          handler(asked),
          ({ status }) => Effect.sync(() => status === 400 || status === 422 ? stuck.add(model) : undefined)
        )
      })
  }
}

const samplesSharedBySamplers: Fault = {
  id: "samplesSharedBySamplers",
  sentence:
    "A request to sample is taken for a repeated one if number and content are equal, so that a new sampler answers with older weights.",
  wire: (handler) => {
    const known = new Map<string, Answered>()
    return (asked) =>
      Effect.suspend(() => {
        const { sampling_session_id, seq_id } = fieldsOf(asked)
        const isNumbered = pathOf(asked) === "/asample" && typeof sampling_session_id === "string"
          && seq_id !== undefined && seq_id !== null
        if (!isNumbered) return handler(asked)
        const content = textOf(asked).replace(sampling_session_id, "")
        const before = known.get(content)
        if (before !== undefined) return Effect.succeed(before)
        return Effect.tap(handler(asked), (answered) =>
          Effect.sync(() => answered.status === 200 ? known.set(content, answered) : undefined))
      })
  }
}

// Capabilities and listings

const everythingTrained: Fault = {
  id: "everythingTrained",
  sentence:
    "weights_info says of every checkpoint that all its modules are trained, so that a model created from it is not like the saved one.",
  wire: responses(/^\/weights_info$/, (fields) => ({
    ...fields,
    train_attn: true,
    train_mlp: true,
    train_unembed: true
  }))
}

const contextOverstated: Fault = {
  id: "contextOverstated",
  sentence:
    "max_context_length is twice what the server accepts, so that prompts within the stated limit are refused or cut.",
  wire: responses(/^\/get_server_capabilities$/, (fields) => ({
    ...fields,
    supported_models: listOf(fields, "supported_models").map((model) => ({
      ...model,
      ...(typeof model["max_context_length"] === "number"
        ? { max_context_length: 2 * model["max_context_length"] }
        : {})
    }))
  }))
}

const lastCheckpointByName: Fault = {
  id: "lastCheckpointByName",
  sentence: "A run's last_checkpoint is the last by name, so that a client resumes at step-9 where step-10 was saved.",
  wire: (handler) =>
    Effect.fnUntraced(function*(asked) {
      const answered = yield* handler(asked)
      const isRun = asked.method === "GET" && /^\/training_runs\/[^/]+$/.test(pathOf(asked)) && answered.status === 200
      if (!isRun) return answered
      const listed = yield* handler(getting(asked, `${pathOf(asked)}/checkpoints`))
      const [last] = listOf(fieldsOf(listed), "checkpoints")
        .filter(({ checkpoint_type }) => checkpoint_type === "training")
        .toSorted((left, right) => (String(left["checkpoint_id"]) < String(right["checkpoint_id"]) ? 1 : -1))
      return last === undefined ? answered : withBody(answered, { ...fieldsOf(answered), last_checkpoint: last })
    })
}

// Pages of listings

const paged = /^\/(training_runs|checkpoints)$/

const usualLimit = (asked: Asked) => pathOf(asked) === "/checkpoints" ? 100 : 20

/** The number in a query parameter, or `otherwise`. */
const queried = ({ path }: Asked, name: string, otherwise: number) =>
  Number(new URL(path, "http://localhost").searchParams.get(name) ?? otherwise)

const querying = (asked: Asked, values: Readonly<Record<string, number>>): Asked => {
  const url = new URL(asked.path, "http://localhost")
  for (const [name, value] of Object.entries(values)) url.searchParams.set(name, String(value))
  return { ...asked, path: `${url.pathname}${url.search}` }
}

/** What a page lists. */
const rowsOf = (fields: Fields) => [...listOf(fields, "training_runs"), ...listOf(fields, "checkpoints")]

const cursorOf = ({ cursor }: Fields): Fields => (typeof cursor === "object" && cursor !== null ? { ...cursor } : {})

/** Changes how page parameters are read. */
const pages =
  (change: (handler: Handler, asked: Asked) => Effect.Effect<Answered>) => (handler: Handler): Handler => (asked) =>
    asked.method === "GET" && paged.test(pathOf(asked)) ? change(handler, asked) : handler(asked)

const limitOfTenUnsaid: Fault = {
  id: "limitOfTenUnsaid",
  sentence:
    "A page has 10 entries at most while its cursor repeats the larger limit asked for, so that a client that goes on after it skips some.",
  wire: pages((handler, asked) => {
    const limit = queried(asked, "limit", usualLimit(asked))
    return Effect.map(handler(querying(asked, { limit: Math.min(limit, 10) })), (answered) => {
      const fields = fieldsOf(answered)
      return answered.status === 200
        ? withBody(answered, { ...fields, cursor: { ...cursorOf(fields), limit } })
        : answered
    })
  })
}

const totalOfPage: Fault = {
  id: "totalOfPage",
  sentence:
    "total_count is the number of entries on the page, so that a client that reads as many as there are ends after the first page.",
  wire: responses(paged, (fields) => ({
    ...fields,
    cursor: { ...cursorOf(fields), total_count: rowsOf(fields).length }
  }))
}

const pageAfterLastRepeats: Fault = {
  id: "pageAfterLastRepeats",
  sentence:
    "A page after the last one is the last one again, so that a client that reads until a page is empty never ends.",
  wire: pages((handler, asked) =>
    Effect.gen(function*() {
      const answered = yield* handler(asked)
      const fields = fieldsOf(answered)
      const total = Number(cursorOf(fields)["total_count"])
      const limit = queried(asked, "limit", usualLimit(asked))
      if (!(rowsOf(fields).length === 0 && total > 0 && limit > 0)) return answered
      const last = yield* handler(querying(asked, { offset: total - 1 - (total - 1) % limit }))
      return withBody(last, { ...fieldsOf(last), cursor: cursorOf(fields) })
    })
  )
}

// Chat clients

const chat = "/oai/api/v1/chat/completions"

/** Matches the last character of an event's text and its surroundings. */
const heldBack = /("content":"(?:[^"\\]|\\.)*?)(?:[^"\\]|\\u....|\\[^u])(")/u

const chatTruncationIsStop: Fault = {
  id: "chatTruncationIsStop",
  sentence:
    "finish_reason is \"stop\" also where max_tokens cut the answer, so that a client takes half an answer for a whole one.",
  wire: (handler) => (asked) =>
    Effect.map(handler(asked), (answered) =>
      pathOf(asked) === chat
        ? withText(answered, textOf(answered).replaceAll("\"finish_reason\":\"length\"", "\"finish_reason\":\"stop\""))
        : answered)
}

const chatStreamLosesEnd: Fault = {
  id: "chatStreamLosesEnd",
  sentence:
    "A stream holds back the last character in case a stop string begins with it, and never sends it, so that answers are cut.",
  wire: (handler) => (asked) =>
    Effect.map(handler(asked), (answered) => {
      if (pathOf(asked) !== chat || answered.headers["content-type"]?.includes("event-stream") !== true) return answered
      const events = textOf(answered).split("\n\n")
      const last = events.findLastIndex((event) => heldBack.test(event))
      return withText(
        answered,
        events.map((event, index) => index === last ? event.replace(heldBack, "$1$2") : event).join("\n\n")
      )
    })
}

const anthropicSystemIgnored: Fault = {
  id: "anthropicSystemIgnored",
  sentence:
    "The system text beside the messages of Anthropic's clients does not reach the model, so that it answers without its instructions.",
  wire: requests("/anthropic/api/v1/messages", (fields) => without(fields, "system"))
}

export const faults: ReadonlyArray<Fault> = [
  cispoClippedLikePpo,
  forwardDropsGradients,
  lastMicroBatchDropped,
  laterAdamSettingsIgnored,
  warmUpStepSkipped,
  unsetClippingIsOne,
  topPIgnoredWithTopK,
  longStopStringMissed,
  stopOnLastTokenIsLength,
  stopTokenLogprobZero,
  logprobsOfFirstSample,
  maskedLogprobsZero,
  cachedPromptUnscored,
  topkPromptOfFive,
  promptScoredForOneSampleAlone,
  replacementKeepsLifetime,
  deletedWithNamesake,
  archiveOfNewest,
  seqIdRounded,
  refusedNumberAwaited,
  samplesSharedBySamplers,
  everythingTrained,
  contextOverstated,
  lastCheckpointByName,
  limitOfTenUnsaid,
  totalOfPage,
  pageAfterLastRepeats,
  chatTruncationIsStop,
  chatStreamLosesEnd,
  anthropicSystemIgnored
]
