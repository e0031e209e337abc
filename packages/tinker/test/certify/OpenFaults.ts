/** Faults that authors of such servers commonly make. Checks are measured with them before the sealed ones. */
import type { TinkerError } from "@effect-rl/core"
import { ModelInput, type Sampling, type TrainingClient } from "@effect-rl/core/backend"
import { Effect, Scope } from "effect"
import {
  adam,
  type Answered,
  type Asked,
  asking,
  type Backend,
  data,
  each,
  type Fault,
  fieldsOf,
  gradient,
  json,
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

/** The list of objects in the field with this name. */
const listOf = (fields: Fields, name: string): ReadonlyArray<Fields> => {
  const list = fields[name]
  return Array.isArray(list) ? list : []
}

/** The object under a name. */
const objectOf = (fields: Fields, name: string): Fields => {
  const value = fields[name]
  return typeof value === "object" && value !== null ? { ...value } : {}
}

const textOf = ({ body }: Answered) => new TextDecoder().decode(body)

/** The same response with a different text. */
const withText = (answered: Answered, text: string): Answered => ({
  ...answered,
  headers: without(answered.headers, "content-length"),
  body: new TextEncoder().encode(text)
})

/** A request that the server makes itself, for another path. */
const posting = (asked: Asked, path: string, body: unknown): Asked =>
  withBody({ ...asked, method: "POST", path, headers: { ...asked.headers, "content-type": "application/json" } }, body)

const chatPath = "/oai/api/v1/chat/completions"
const completionsPath = "/oai/api/v1/completions"
const responsesPath = "/oai/api/v1/responses"
const messagesPath = "/anthropic/api/v1/messages"
const countTokensPath = "/anthropic/api/v1/messages/count_tokens"

// Sampling

/** A sequence with its continuation. */
const continued = (first: Sampling.SampledTokens, rest: Sampling.SampledTokens): Sampling.SampledTokens => {
  const topkLogprobs = [...first.topkLogprobs ?? [], ...rest.topkLogprobs ?? []]
  return {
    tokens: Int32Array.from([...first.tokens, ...rest.tokens]),
    logprobs: Float32Array.from([...first.logprobs, ...rest.logprobs]),
    stopReason: rest.stopReason,
    ...(topkLogprobs.length === 0 ? {} : { topkLogprobs })
  }
}

/** Offset that keeps the seeds of the second request distinct from those of the first. */
const seedDistance = 7919

/** The request for what follows the first token of its sample `index`. */
const afterFirst = (
  request: Sampling.SampleRequest,
  { tokens }: Sampling.SampledTokens,
  index: number
): Sampling.SampleRequest => {
  const { params, prompt } = request
  return {
    ...request,
    prompt: ModelInput.append(prompt, tokens),
    promptLogprobs: false,
    topkPromptLogprobs: 0,
    params: {
      ...params,
      maxTokens: params.maxTokens - tokens.length,
      ...(params.seed === undefined ? {} : { seed: params.seed + index + seedDistance })
    }
  }
}

const firstOnly = (request: Sampling.SampleRequest): Sampling.SampleRequest => ({
  ...request,
  params: { ...request.params, maxTokens: 1 }
})

type Sample = (request: Sampling.SampleRequest) => Effect.Effect<Sampling.SampleResponse, TinkerError.TinkerError>

/** Samples the first tokens and their continuations with separate requests. */
const inTwoParts = (
  sample: Sample,
  first: Sampling.SampleRequest,
  request: Sampling.SampleRequest
) =>
  Effect.flatMap(sample(firstOnly(first)), (response) =>
    Effect.map(
      Effect.forEach(response.sequences, (sequence, index) =>
        sequence.stopReason === "stop" || request.params.maxTokens === 1
          ? Effect.succeed(sequence)
          : Effect.map(
            sample({ ...afterFirst(request, sequence, index), numSamples: 1 }),
            ({ sequences: [rest = sequence] }) => continued(sequence, rest)
          )),
      (sequences): Sampling.SampleResponse => ({ ...response, sequences })
    ))

const seedLostForMany: Fault = {
  id: "seedLostForMany",
  sentence: "A seed is honoured for a single sample only; several samples of one request are drawn without it.",
  backend: asking((request) =>
    (request.numSamples ?? 1) === 1 ? request : { ...request, params: without(request.params, "seed") }
  )
}

const topPFirstTokenOnly: Fault = {
  id: "topPFirstTokenOnly",
  sentence: "top_p filters the first sampled token only.",
  backend: sample((sample) => (request) =>
    (request.params.topP ?? 1) === 1
      ? sample(request)
      : inTwoParts(sample, request, { ...request, params: without(request.params, "topP") })
  )
}

/**
 * The parameters without their stops. Stop strings are replaced by the default, the end of the sequence; stop tokens are replaced by no
 * stop at all.
 */
const withoutStop = (params: Sampling.SamplingParams): Sampling.SamplingParams =>
  typeof params.stop?.[0] === "string" ? without(params, "stop") : { ...params, stop: [] }

const stopMissedAtStart: Fault = {
  id: "stopMissedAtStart",
  sentence: "A stop is not looked for in the first sampled token.",
  backend: sample((sample) => (request) =>
    (request.params.stop ?? []).length === 0
      ? sample(request)
      : inTwoParts(sample, { ...request, params: withoutStop(request.params) }, request)
  )
}

const samplesShareFirstToken: Fault = {
  id: "samplesShareFirstToken",
  sentence: "All samples of one request begin with the same sampled token.",
  backend: sample((sample) =>
    Effect.fnUntraced(function*(request) {
      const { numSamples = 1, params } = request
      if (numSamples === 1) return yield* sample(request)
      const response = yield* sample({ ...firstOnly(request), numSamples: 1 })
      const [first] = response.sequences
      if (first === undefined || first.stopReason === "stop" || params.maxTokens === 1) {
        return {
          ...response,
          sequences: response.sequences.flatMap((one) => Array.from({ length: numSamples }, () => one))
        }
      }
      const { sequences } = yield* sample(afterFirst(request, first, 0))
      return { ...response, sequences: sequences.map((rest) => continued(first, rest)) }
    })
  )
}

const stopAtLimitSaysLength: Fault = {
  id: "stopAtLimitSaysLength",
  sentence: "A sequence whose stop is its last allowed token says that it ended at the limit.",
  backend: sequences((sequence, { params }) =>
    sequence.tokens.length === params.maxTokens ? { ...sequence, stopReason: "length" } : sequence
  )
}

// Prompts and their scores

const tokensOf = (prompt: ModelInput.ModelInput) =>
  Effect.orElseSucceed(ModelInput.toTokens(prompt), () => new Int32Array())

type Scores = Pick<Sampling.SampleResponse, "promptLogprobs" | "topkPromptLogprobs">

const scoresCachedAcrossWeights: Fault = {
  id: "scoresCachedAcrossWeights",
  sentence: "Log-probabilities of a prompt are kept by its tokens alone, and given for all weights.",
  backend: (tinker) => {
    const kept = new Map<string, Scores>()
    return sample((sample) =>
      Effect.fnUntraced(function*(request) {
        const { prompt, promptLogprobs = false, topkPromptLogprobs = 0 } = request
        const response = yield* sample(request)
        if (!promptLogprobs && topkPromptLogprobs === 0) return response
        const key = `${promptLogprobs} ${topkPromptLogprobs} ${(yield* tokensOf(prompt)).join()}`
        const scores = kept.get(key) ?? response
        kept.set(key, scores)
        return {
          ...response,
          ...(scores.promptLogprobs === undefined ? {} : { promptLogprobs: scores.promptLogprobs }),
          ...(scores.topkPromptLogprobs === undefined ? {} : { topkPromptLogprobs: scores.topkPromptLogprobs })
        }
      })
    )(tinker)
  }
}

const logOfSum = (logprobs: ReadonlyArray<number>) => Math.log(logprobs.reduce((sum, one) => sum + Math.exp(one), 0))

/** Maximum number of candidates that the backend scores per position. */
const mostCandidates = 20

const logprobsAfterTopK: Fault = {
  id: "logprobsAfterTopK",
  sentence: "With top_k the log-probabilities are those among the k tokens, not those of the model.",
  backend: sample((sample) =>
    Effect.fnUntraced(function*(request) {
      const { params: { topK = -1 }, prompt } = request
      const response = yield* sample(request)
      if (topK < 1 || topK > mostCandidates) return response
      const sequences = yield* Effect.forEach(response.sequences, (sequence) =>
        sample({
          prompt: ModelInput.append(prompt, sequence.tokens),
          params: { maxTokens: 1 },
          topkPromptLogprobs: topK
        }).pipe(
          Effect.map(({ topkPromptLogprobs = [] }): Sampling.SampledTokens => ({
            ...sequence,
            logprobs: sequence.logprobs.map((logprob, at) =>
              logprob - logOfSum((topkPromptLogprobs[prompt.length + at] ?? []).map((one) => one.logprob))
            )
          })),
          Effect.orElseSucceed(() => sequence)
        ))
      return { ...response, sequences }
    })
  )
}

/** Number of prompt tokens that are scored at once. */
const chunkLength = 24

const chunkedPromptForgets: Fault = {
  id: "chunkedPromptForgets",
  sentence: "Prompts are scored in chunks of 24 tokens, and a later chunk does not see the ones before it.",
  backend: sample((sample) =>
    Effect.fnUntraced(function*(request) {
      const response = yield* sample(request)
      const scores = response.promptLogprobs?.slice()
      if (scores === undefined) return response
      const tokens = yield* tokensOf(request.prompt)
      for (let start = chunkLength; start < tokens.length; start += chunkLength) {
        const { promptLogprobs = [] } = yield* sample({
          prompt: ModelInput.fromTokens(tokens.slice(start, start + chunkLength)),
          params: { maxTokens: 1 },
          promptLogprobs: true
        })
        for (const [at, logprob] of promptLogprobs.entries()) if (at > 0) scores[start + at] = logprob
      }
      return { ...response, promptLogprobs: scores }
    })
  )
}

const topkHoldsOwnToken: Fault = {
  id: "topkHoldsOwnToken",
  sentence: "The list of the most likely prompt tokens has the prompt's own token beside the k.",
  backend: sample((sample) =>
    Effect.fnUntraced(function*(request) {
      if ((request.topkPromptLogprobs ?? 0) === 0) return yield* sample(request)
      const tokens = yield* tokensOf(request.prompt)
      const response = yield* sample({ ...request, promptLogprobs: true })
      const { promptLogprobs = [], topkPromptLogprobs = [] } = response
      const rows = topkPromptLogprobs.map((row, at) => {
        const token = tokens[at] ?? 0
        return row.length === 0 || row.some((one) => one.token === token)
          ? row
          : [...row, { token, logprob: promptLogprobs[at] ?? 0 }]
      })
      const all = { ...response, topkPromptLogprobs: rows }
      return request.promptLogprobs === true ? all : without(all, "promptLogprobs")
    })
  )
}

const promptScoresLostForMany: Fault = {
  id: "promptScoresLostForMany",
  sentence: "Prompt log-probabilities come with a single sample only.",
  backend: sample((sample) => (request) =>
    Effect.map(
      sample(request),
      (response) => (request.numSamples ?? 1) > 1 ? without(response, "promptLogprobs", "topkPromptLogprobs") : response
    )
  )
}

const laterChunksDropped: Fault = {
  id: "laterChunksDropped",
  sentence: "Only the first chunk of a sampled prompt is read.",
  wire: requests("/asample", (fields) => {
    const prompt = objectOf(fields, "prompt")
    return { ...fields, prompt: { ...prompt, chunks: listOf(prompt, "chunks").slice(0, 1) } }
  })
}

/** The context length of the served model. */
const context = 1152

const longPromptsCut: Fault = {
  id: "longPromptsCut",
  sentence: "A prompt beyond the context loses its beginning instead of being refused.",
  backend: sample((sample) =>
    Effect.fnUntraced(function*(request) {
      const { params: { maxTokens }, prompt } = request
      const most = context - Math.min(maxTokens, context - 1)
      if (prompt.length <= most) return yield* sample(request)
      const tokens = yield* tokensOf(prompt)
      return yield* sample({
        ...request,
        prompt: ModelInput.fromTokens(tokens.slice(-most)),
        params: { ...request.params, maxTokens: context - most }
      })
    })
  )
}

// Passes

const longDataCut: Fault = {
  id: "longDataCut",
  sentence: "Positions from the 48th on give no gradient.",
  backend: gradient((data) =>
    each(data, (datum) => {
      const perPosition = signalOf(datum).length / datum.modelInput.length
      return withSignal(datum, (value, index) => index < 48 * perPosition ? value : 0)
    })
  )
}

const paddingEatsLastTarget: Fault = {
  id: "paddingEatsLastTarget",
  sentence: "In a pass with data of several lengths, the shorter ones lose the gradient of their last target.",
  backend: gradient((data) => {
    const longest = data.reduce((most, { modelInput }) => Math.max(most, modelInput.length), 0)
    return each(data, (datum) => {
      const perPosition = signalOf(datum).length / datum.modelInput.length
      return datum.modelInput.length === longest
        ? datum
        : withSignal(datum, (value, index, all) => index < all.length - perPosition ? value : 0)
    })
  })
}

const negativeWeightsDropped: Fault = {
  id: "negativeWeightsDropped",
  sentence: "Negative weights of cross entropy count as 0.",
  backend: data((data, { name }) =>
    name === "cross_entropy" ? each(data, (datum) => withSignal(datum, (value) => Math.max(value, 0))) : data
  )
}

const softTargetsFirstOnly: Fault = {
  id: "softTargetsFirstOnly",
  sentence: "Only the first candidate of soft targets gives a gradient.",
  backend: gradient((data) =>
    each(data, (datum) => {
      const perPosition = signalOf(datum).length / datum.modelInput.length
      return withSignal(datum, (value, index) => index % perPosition === 0 ? value : 0)
    })
  )
}

const refusedPassLeavesGradient: Fault = {
  id: "refusedPassLeavesGradient",
  sentence: "A pass that is refused for one of its data leaves the gradient of the others.",
  backend: training((client) => ({
    ...client,
    forwardBackward: (data, loss, options) =>
      Effect.tapError(client.forwardBackward(data, loss, options), () =>
        Effect.forEach(
          data,
          (datum) => Effect.ignore(Effect.flatMap(client.forwardBackward([datum], loss), (pass) => pass.await)),
          { discard: true }
        ))
  }))
}

// Optimizer and adapter

type Client = TrainingClient.TrainingClient

type Again = Effect.Effect<unknown, TinkerError.TinkerError>

/** Calls `passed` after every pass with gradients, with an effect that repeats it. */
const watched = (client: Client, passed: (again: Again) => void): Client => {
  const graphs = client.forwardBackwardGraph
  return {
    ...client,
    forwardBackward: (data, loss, options) =>
      Effect.tap(
        client.forwardBackward(data, loss, options),
        () =>
          Effect.sync(() => passed(Effect.flatMap(client.forwardBackward(data, loss, options), (pass) => pass.await)))
      ),
    ...(graphs === undefined ? {} : {
      forwardBackwardGraph: (data, graph) =>
        Effect.tap(
          graphs(data, graph),
          () => Effect.sync(() => passed(Effect.flatMap(graphs(data, graph), (pass) => pass.await)))
        )
    })
  }
}

const emptyStepRepeats: Fault = {
  id: "emptyStepRepeats",
  sentence: "A step without a pass before it repeats the passes of the step before.",
  backend: training((client) => {
    let isEmpty = true
    let passes: ReadonlyArray<Again> = []
    const passing = watched(client, (again) => {
      passes = isEmpty ? [again] : [...passes, again]
      isEmpty = false
    })
    return {
      ...passing,
      optimStep: Effect.fnUntraced(function*(params) {
        if (isEmpty) yield* Effect.forEach(passes, (again) => again, { discard: true })
        isEmpty = true
        return yield* client.optimStep(params)
      })
    }
  })
}

const hiddenWarmup: Fault = {
  id: "hiddenWarmup",
  sentence: "The first three steps of a model have a quarter, a half and three quarters of their learning rate.",
  backend: training((client) => {
    let steps = 0
    return {
      ...client,
      optimStep: (params) =>
        Effect.suspend(() =>
          client.optimStep({ ...params, learningRate: params.learningRate * Math.min(++steps / 4, 1) })
        )
    }
  })
}

const firstBetasKept: Fault = {
  id: "firstBetasKept",
  sentence: "beta1 and beta2 of a model's first step hold for all its steps.",
  backend: training((client) => {
    let betas: { readonly beta1: number; readonly beta2: number } | undefined
    return {
      ...client,
      optimStep: (params) =>
        Effect.suspend(() => {
          betas ??= { beta1: params.beta1 ?? 0.9, beta2: params.beta2 ?? 0.95 }
          return client.optimStep({ ...params, ...betas })
        })
    }
  })
}

const epsRaised: Fault = {
  id: "epsRaised",
  sentence: "An eps below 1e-8 is raised to it.",
  backend: adam((params) => ({ ...params, eps: Math.max(params.eps ?? 0, 1e-8) }))
}

const rankCapped: Fault = {
  id: "rankCapped",
  sentence: "Ranks above 8 are cut to 8, though the model's description tells the requested one.",
  backend: (tinker) => ({
    ...tinker,
    createLoraTrainingClient: (options) => {
      const { loraRank = 32 } = options
      return Effect.map(
        tinker.createLoraTrainingClient({ ...options, loraRank: Math.min(loraRank, 8) }),
        (client): Client => ({ ...client, info: { ...client.info, loraRank } })
      )
    }
  })
}

const attentionAndMlpSwapped: Fault = {
  id: "attentionAndMlpSwapped",
  sentence: "train_attn and train_mlp are taken for one another.",
  backend: (tinker) => ({
    ...tinker,
    createLoraTrainingClient: (options) =>
      tinker.createLoraTrainingClient({
        ...options,
        trainAttn: options.trainMlp ?? true,
        trainMlp: options.trainAttn ?? true
      })
  })
}

const loadKeepsGradient: Fault = {
  id: "loadKeepsGradient",
  sentence: "Passes before weights are loaded still count in the next step.",
  backend: training((client) => {
    let passes: ReadonlyArray<Again> = []
    const passing = watched(client, (again) => {
      passes = [...passes, again]
    })
    return {
      ...passing,
      loadState: Effect.fnUntraced(function*(path, options) {
        const pending = yield* client.loadState(path, options)
        yield* Effect.forEach(passes, (again) => again, { discard: true })
        return pending
      }),
      optimStep: (params) =>
        Effect.suspend(() => {
          passes = []
          return client.optimStep(params)
        })
    }
  })
}

// Checkpoints

const overwriteKeepsOld: Fault = {
  id: "overwriteKeepsOld",
  sentence: "A state saved with overwrite is reported as saved and keeps its old weights.",
  backend: training((client) => {
    const saved = new Map<string, TrainingClient.Checkpoint>()
    return {
      ...client,
      saveState: (name, options) =>
        Effect.suspend(() => {
          const before = saved.get(name)
          return before === undefined
            ? Effect.map(client.saveState(name, options), (pending) => ({
              await: Effect.tap(pending.await, (checkpoint) => Effect.sync(() => saved.set(name, checkpoint)))
            }))
            : Effect.succeed({ await: Effect.succeed(before) })
        })
    }
  })
}

const savesOutOfOrder: Fault = {
  id: "savesOutOfOrder",
  sentence: "A state is saved beside the queue, so that steps submitted right behind it are in it.",
  backend: training((client) => ({
    ...client,
    saveState: (name, options) =>
      Effect.succeed({
        await: Effect.delay(Effect.flatMap(client.saveState(name, options), (pending) => pending.await), "300 millis")
      })
  }))
}

const adaptersCachedByPath: Fault = {
  id: "adaptersCachedByPath",
  sentence: "Samplers from one path share the weights first loaded from it, though the path was overwritten.",
  backend: (tinker) => {
    const loaded = new Map<string, Effect.Success<ReturnType<Backend["createSamplingClient"]>>>()
    return {
      ...tinker,
      createSamplingClient: Effect.fnUntraced(function*(from) {
        if (!("modelPath" in from)) return yield* tinker.createSamplingClient(from)
        const kept = loaded.get(from.modelPath)
        if (kept !== undefined) return kept
        const client = yield* Scope.provide(tinker.createSamplingClient(from), yield* Scope.make())
        loaded.set(from.modelPath, client)
        return client
      })
    }
  }
}

const endlessTtlIgnored: Fault = {
  id: "endlessTtlIgnored",
  sentence: "A lifetime cannot be taken away again: ttl_seconds null changes nothing.",
  wire: (handler) => (asked) =>
    asked.method === "PUT" && pathOf(asked).endsWith("/ttl") && fieldsOf(asked)["ttl_seconds"] === null
      ? Effect.succeed(json(200, {}))
      : handler(asked)
}

const lowercasedMetadata = (fields: Fields): Fields => ({
  ...fields,
  ...(typeof fields["user_metadata"] === "object" && fields["user_metadata"] !== null
    ? {
      user_metadata: Object.fromEntries(
        Object.entries(fields["user_metadata"]).map(([key, value]) => [key.toLowerCase(), value])
      )
    }
    : {})
})

const metadataKeysLowercased: Fault = {
  id: "metadataKeysLowercased",
  sentence: "Keys of a checkpoint's metadata come back in lower case.",
  wire: (handler) =>
    requests("/save_weights", lowercasedMetadata)(requests("/save_weights_for_sampler", lowercasedMetadata)(handler))
}

const weightsInfoAllTrained: Fault = {
  id: "weightsInfoAllTrained",
  sentence: "weights_info says that all modules were trained.",
  wire: responses(
    /^\/weights_info$/,
    (fields) => ({ ...fields, train_attn: true, train_mlp: true, train_unembed: true })
  )
}

// Futures and sessions

const failuresNotListed: Fault = {
  id: "failuresNotListed",
  sentence: "retrieve_futures leaves out requests that failed.",
  wire: responses(/^\/retrieve_futures$/, (fields) => ({
    ...fields,
    completions: listOf(fields, "completions").filter(({ state }) => state !== "failed")
  }))
}

const failuresBlameServer: Fault = {
  id: "failuresBlameServer",
  sentence: "Failures that are the client's own have the category of the server's.",
  wire: responses(
    /^\/retrieve_future$/,
    (fields) => fields["category"] === "user" ? { ...fields, category: "server" } : fields
  )
}

const resentSampleDrawsAgain: Fault = {
  id: "resentSampleDrawsAgain",
  sentence: "A request to sample that is sent again under its number draws new sequences.",
  wire: (handler) => {
    const seen = new Set<string>()
    return requests("/asample", (fields) => {
      const key = `${String(fields["sampling_session_id"])} ${String(fields["seq_id"])}`
      if (seen.has(key)) return without(fields, "seq_id")
      seen.add(key)
      return fields
    })(handler)
  }
}

const unknownHeartbeatFine: Fault = {
  id: "unknownHeartbeatFine",
  sentence: "A heartbeat of an unknown session is answered as that of a known one.",
  wire: (handler) => (asked) =>
    Effect.map(handler(asked), (answered) =>
      pathOf(asked) === "/session_heartbeat" && answered.status === 404
        ? json(200, { type: "session_heartbeat" })
        : answered)
}

// Listings

const searchPagesOverlap: Fault = {
  id: "searchPagesOverlap",
  sentence: "The next page of a search begins with the last session of the page before.",
  wire: (handler) => {
    const ends = new Map<unknown, Fields>()
    return responses(/^\/sessions\/search$/, (fields, asked) => {
      const sessions = listOf(fields, "sessions")
      const last = sessions.at(-1)
      if (last !== undefined) ends.set(last["session_id"], last)
      const before = ends.get(objectOf(fieldsOf(asked), "cursor")["last_session_id"])
      return before === undefined ? fields : { ...fields, sessions: [before, ...sessions] }
    })(handler)
  }
}

const samplerWithoutPath: Fault = {
  id: "samplerWithoutPath",
  sentence: "The description of a sampler lacks the path of its weights.",
  wire: responses(/^\/samplers\/[^/]+$/, (fields) => without(fields, "model_path"))
}

const requestTimesFrozen: Fault = {
  id: "requestTimesFrozen",
  sentence: "The time of a run's last request stays what it was when it was first shown.",
  wire: (handler) => {
    const shown = new Map<unknown, unknown>()
    const frozen = (run: Fields): Fields => {
      const id = run["training_run_id"]
      const time = shown.get(id) ?? run["last_request_time"]
      shown.set(id, time)
      return { ...run, last_request_time: time }
    }
    const list = responses(
      /^\/training_runs$/,
      (fields) => ({ ...fields, training_runs: listOf(fields, "training_runs").map(frozen) })
    )
    return list(responses(/^\/training_runs\/[^/]+$/, frozen)(handler))
  }
}

// Chats

const isEarlierAnswer = ({ role, tool_calls }: Fields) =>
  role === "assistant" && !(Array.isArray(tool_calls) && tool_calls.length > 0)

const assistantTurnsDropped: Fault = {
  id: "assistantTurnsDropped",
  sentence: "Earlier answers of the assistant are left out of a chat's prompt.",
  wire: requests(chatPath, (fields) => ({
    ...fields,
    messages: listOf(fields, "messages").filter((message, index, all) =>
      index === all.length - 1 || !isEarlierAnswer(message)
    )
  }))
}

const streamIgnoresN: Fault = {
  id: "streamIgnoresN",
  sentence: "A streamed chat has one choice, however many are asked for.",
  wire: requests(chatPath, (fields) => fields["stream"] === true ? without(fields, "n") : fields)
}

const firstPromptOnly: Fault = {
  id: "firstPromptOnly",
  sentence: "Of several prompts of a completion, only the first is continued.",
  wire: requests(completionsPath, (fields) => {
    const { prompt } = fields
    return Array.isArray(prompt) && typeof prompt[0] !== "number" ? { ...fields, prompt: prompt[0] } : fields
  })
}

const checkpointChatsAsBase: Fault = {
  id: "checkpointChatsAsBase",
  sentence: "A chat with a checkpoint's path is answered by the checkpoint's base model.",
  wire: (handler) =>
    Effect.fnUntraced(function*(asked) {
      const { model } = fieldsOf(asked)
      if (pathOf(asked) !== chatPath || typeof model !== "string" || !model.includes("://")) {
        return yield* handler(asked)
      }
      const path = model.slice(model.indexOf(";") + 1)
      const { base_model } = fieldsOf(yield* handler(posting(asked, "/api/v1/weights_info", { tinker_path: path })))
      if (typeof base_model !== "string") return yield* handler(asked)
      const answered = yield* handler(withBody(asked, { ...fieldsOf(asked), model: base_model }))
      return withText(answered, textOf(answered).replaceAll(`"model":"${base_model}"`, `"model":"${model}"`))
    })
}

const trimmed = (prompt: unknown): unknown => {
  if (Array.isArray(prompt)) return prompt.map(trimmed)
  return typeof prompt === "string" && prompt.trimEnd() !== "" ? prompt.trimEnd() : prompt
}

const promptsTrimmed: Fault = {
  id: "promptsTrimmed",
  sentence: "A completion's prompt loses the spaces at its end.",
  wire: requests(completionsPath, (fields) => ({ ...fields, prompt: trimmed(fields["prompt"]) }))
}

const instructionsDropped: Fault = {
  id: "instructionsDropped",
  sentence: "The instructions of a response are shown and not read.",
  wire: (handler) => {
    const shown = responses(/^\/oai\/api\/v1\/responses$/, (fields, asked) => ({
      ...fields,
      instructions: fieldsOf(asked)["instructions"] ?? null
    }))
    return shown(requests(responsesPath, (fields) => without(fields, "instructions"))(handler))
  }
}

const responsesAlwaysCompleted: Fault = {
  id: "responsesAlwaysCompleted",
  sentence: "A response that was cut at the limit of tokens has the status completed.",
  wire: (handler) => (asked) =>
    Effect.map(handler(asked), (answered) =>
      pathOf(asked) === responsesPath && answered.status === 200
        ? withText(
          answered,
          textOf(answered)
            .replaceAll(`"status":"incomplete"`, `"status":"completed"`)
            .replaceAll("response.incomplete", "response.completed")
            .replaceAll(/"incomplete_details":\{[^}]*\}/g, `"incomplete_details":null`)
        )
        : answered)
}

// Messages of Anthropic's clients

const withoutSystemBlocks = (fields: Fields): Fields =>
  Array.isArray(fields["system"]) ? without(fields, "system") : fields

const systemBlocksDropped: Fault = {
  id: "systemBlocksDropped",
  sentence: "A system prompt in blocks is not read.",
  wire: (handler) =>
    requests(messagesPath, withoutSystemBlocks)(requests(countTokensPath, withoutSystemBlocks)(handler))
}

const toolsNotCounted: Fault = {
  id: "toolsNotCounted",
  sentence: "count_tokens leaves out the tools.",
  wire: requests(countTokensPath, (fields) => without(fields, "tools", "tool_choice"))
}

const prefillRepeated: Fault = {
  id: "prefillRepeated",
  sentence: "The reply begins with the text of the client that it continues.",
  wire: responses(/^\/anthropic\/api\/v1\/messages$/, (fields, asked) => {
    const { content: prefill, role } = listOf(fieldsOf(asked), "messages").at(-1) ?? {}
    const [first, ...others] = listOf(fields, "content")
    if (role !== "assistant" || typeof prefill !== "string") return fields
    return first?.["type"] === "text"
      ? { ...fields, content: [{ ...first, text: `${prefill}${String(first["text"])}` }, ...others] }
      : { ...fields, content: [{ type: "text", text: prefill }, ...listOf(fields, "content")] }
  })
}

const messagesErrorsOfOpenAi: Fault = {
  id: "messagesErrorsOfOpenAi",
  sentence: "Errors to clients of Anthropic have the form of OpenAI's.",
  wire: (handler) => (asked) =>
    Effect.map(handler(asked), (answered) => {
      if (!pathOf(asked).startsWith("/anthropic/") || answered.status < 400) return answered
      const { message, type } = objectOf(fieldsOf(answered), "error")
      return withBody(answered, { error: { message, type, param: null, code: null } })
    })
}

// Limits

const contextOverstated: Fault = {
  id: "contextOverstated",
  sentence: "The capabilities tell a context twice as long as the model's.",
  wire: responses(/^\/get_server_capabilities$/, (fields) => ({
    ...fields,
    supported_models: listOf(fields, "supported_models").map((model) => ({
      ...model,
      max_context_length: 2 * Number(model["max_context_length"])
    }))
  }))
}

/** The vocabulary size of the served model. */
const vocabulary = 512

const known = (token: number) => Math.min(Math.max(token, 0), vocabulary - 1)

const unknownTokensClamped: Fault = {
  id: "unknownTokensClamped",
  sentence: "Token ids of a sampled prompt beyond the vocabulary are taken for the last one.",
  backend: asking((request) => ({
    ...request,
    prompt: ModelInput.fromChunks(
      request.prompt.chunks.map((chunk) =>
        chunk._tag === "Image" ? chunk : { ...chunk, tokens: chunk.tokens.map(known) }
      )
    )
  }))
}

export const faults: ReadonlyArray<Fault> = [
  seedLostForMany,
  topPFirstTokenOnly,
  stopMissedAtStart,
  samplesShareFirstToken,
  stopAtLimitSaysLength,
  scoresCachedAcrossWeights,
  logprobsAfterTopK,
  chunkedPromptForgets,
  topkHoldsOwnToken,
  promptScoresLostForMany,
  laterChunksDropped,
  longPromptsCut,
  longDataCut,
  paddingEatsLastTarget,
  negativeWeightsDropped,
  softTargetsFirstOnly,
  refusedPassLeavesGradient,
  emptyStepRepeats,
  hiddenWarmup,
  firstBetasKept,
  epsRaised,
  rankCapped,
  attentionAndMlpSwapped,
  loadKeepsGradient,
  overwriteKeepsOld,
  savesOutOfOrder,
  adaptersCachedByPath,
  endlessTtlIgnored,
  metadataKeysLowercased,
  weightsInfoAllTrained,
  failuresNotListed,
  failuresBlameServer,
  resentSampleDrawsAgain,
  unknownHeartbeatFine,
  searchPagesOverlap,
  samplerWithoutPath,
  requestTimesFrozen,
  assistantTurnsDropped,
  streamIgnoresN,
  firstPromptOnly,
  checkpointChatsAsBase,
  promptsTrimmed,
  instructionsDropped,
  responsesAlwaysCompleted,
  systemBlocksDropped,
  toolsNotCounted,
  prefillRepeated,
  messagesErrorsOfOpenAi,
  contextOverstated,
  unknownTokensClamped
]
