/** The fifth set of server faults, conceived from the API alone and sealed before any check looked for them. */
import type { TinkerError } from "@effect-rl/core"
import { type AdamParams, type Datum, ModelInput, type Sampling, type TrainingClient } from "@effect-rl/core/backend"
import { Deferred, Effect } from "effect"
import {
  type Answered,
  type Asked,
  asking,
  data,
  each,
  type Fault,
  fieldsOf,
  type Handler,
  json,
  losses,
  params,
  pathOf,
  requests,
  responses,
  sample,
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

/** A request without a body that the server makes itself. */
const requesting = (asked: Asked, method: "GET" | "DELETE", path: string): Asked => ({
  method,
  path: `/api/v1${path}`,
  headers: without(asked.headers, "content-length", "content-type"),
  body: new Uint8Array()
})

const isSuccess = ({ status }: Answered) => status >= 200 && status < 300

/** Runs an additional effect after a successful request. */
const succeeded =
  (more: (asked: Asked, answered: Answered, handler: Handler) => Effect.Effect<unknown>) =>
  (handler: Handler): Handler =>
  (asked) =>
    Effect.tap(
      handler(asked),
      (answered) => isSuccess(answered) ? more(asked, answered, handler) : Effect.void
    )

const checkpointRoute = /^\/training_runs\/([^/]+)\/checkpoints\/((?:sampler_|external_)?weights\/[^/]+)$/

/** The path of the checkpoint that a request deletes. */
const deletedPath = (asked: Asked) => {
  const [, run, id] = checkpointRoute.exec(pathOf(asked)) ?? []
  return asked.method === "DELETE" && run !== undefined ? `tinker://${decodeURIComponent(run)}/${id}` : undefined
}

const chatPath = "/oai/api/v1/chat/completions"
const completionsPath = "/oai/api/v1/completions"
const messagesPath = "/anthropic/api/v1/messages"

// Sampling

const stopStringsCaseless: Fault = {
  id: "stopStringsCaseless",
  sentence: "Stop strings are compared without regard to case: \"End\" stops at \"end\" and at \"END\".",
  backend: params((params) => {
    const texts = [...params.stop ?? []].filter((stop) => typeof stop === "string")
    return texts.length === 0
      ? params
      : { ...params, stop: texts.flatMap((text) => [text, text.toLowerCase(), text.toUpperCase()]) }
  })
}

const onlyFirstGreedy: Fault = {
  id: "onlyFirstGreedy",
  sentence: "At temperature 0 only the first of several samples is greedy; the others are drawn at temperature 1.",
  backend: sample((sample) =>
    Effect.fnUntraced(function*(request) {
      const { numSamples = 1, params } = request
      if (params.temperature !== 0 || numSamples < 2) return yield* sample(request)
      const first = yield* sample({ ...request, numSamples: 1 })
      const drawn = {
        ...params,
        temperature: 1,
        ...(params.seed === undefined ? {} : { seed: params.seed + 1 })
      }
      const others = yield* sample({ ...request, numSamples: numSamples - 1, params: drawn })
      return { ...first, sequences: [...first.sequences, ...others.sequences] }
    })
  )
}

const promptScoresCostAToken: Fault = {
  id: "promptScoresCostAToken",
  sentence: "Where the prompt is scored as well, samples end one token before max_tokens.",
  backend: asking((request) => {
    const { params, promptLogprobs } = request
    return promptLogprobs === true && params.maxTokens > 1
      ? { ...request, params: { ...params, maxTokens: params.maxTokens - 1 } }
      : request
  })
}

const joined = <A extends Int32Array | Float32Array>(whole: A, left: A, right: A): A => {
  whole.set(left)
  whole.set(right, left.length)
  return whole
}

const continued = (first: Sampling.SampledTokens, rest: Sampling.SampledTokens): Sampling.SampledTokens => {
  const length = first.tokens.length + rest.tokens.length
  return {
    ...first,
    tokens: joined(new Int32Array(length), first.tokens, rest.tokens),
    logprobs: joined(new Float32Array(length), first.logprobs, rest.logprobs),
    stopReason: rest.stopReason
  }
}

/** Number of tokens decoded before a sample is scheduled again. */
const slice = 16

const seedForFirstSlice: Fault = {
  id: "seedForFirstSlice",
  sentence: "A seed holds for the first 16 tokens of a sample: the rest, decoded later, is drawn without it.",
  backend: sample((sample) =>
    Effect.fnUntraced(function*(request) {
      const { params: { seed, ...unseeded }, prompt } = request
      if (seed === undefined || unseeded.maxTokens <= slice) return yield* sample(request)
      const response = yield* sample({ ...request, params: { ...unseeded, seed, maxTokens: slice } })
      const sequences = yield* Effect.forEach(response.sequences, (first) => {
        if (first.stopReason === "stop") return Effect.succeed(first)
        const rest = sample({
          prompt: ModelInput.fromChunks([...prompt.chunks, { _tag: "EncodedText", tokens: first.tokens }]),
          params: { ...unseeded, maxTokens: unseeded.maxTokens - slice }
        })
        return Effect.map(rest, ({ sequences: [next] }) => next === undefined ? first : continued(first, next))
      })
      return { ...response, sequences }
    })
  )
}

const topkByTokenId: Fault = {
  id: "topkByTokenId",
  sentence: "The most likely tokens of a position come in the order of their ids instead of the likeliest first.",
  backend: sample((sample) => (request) =>
    Effect.map(sample(request), (response) => ({
      ...response,
      ...(response.topkPromptLogprobs === undefined ? {} : {
        topkPromptLogprobs: response.topkPromptLogprobs.map((tokens) =>
          tokens.toSorted((left, right) => left.token - right.token)
        )
      })
    }))
  )
}

// Options

const negativeTemperatureGreedy: Fault = {
  id: "negativeTemperatureGreedy",
  sentence: "A temperature below 0 samples greedily instead of being refused.",
  wire: requests("/asample", (fields) => {
    const options = objectOf(fields, "sampling_params")
    return Number(options["temperature"] ?? 1) < 0
      ? { ...fields, sampling_params: { ...options, temperature: 0 } }
      : fields
  })
}

const withPlainName = (fields: Fields): Fields => {
  const { path } = fields
  return typeof path === "string" ? { ...fields, path: path.replaceAll(/[^A-Za-z0-9._-]/g, "_") } : fields
}

const namesMadePlain: Fault = {
  id: "namesMadePlain",
  sentence: "Characters that a checkpoint's name cannot have become underscores instead of being refused.",
  wire: (handler) =>
    requests("/save_weights", withPlainName)(requests("/save_weights_for_sampler", withPlainName)(handler))
}

// Passes

const softTargetsNormalised: Fault = {
  id: "softTargetsNormalised",
  sentence: "The weights of a position's candidates are divided by their sum.",
  backend: data((data) =>
    each(data, (datum) => {
      const any: Datum.Inputs[Datum.Kind] = datum.inputs
      if (!("candidates" in any)) return datum
      const { candidates } = any
      return withSignal(datum, (weight, index, all) => {
        const start = index - index % candidates
        const sum = all.subarray(start, start + candidates).reduce((sum, one) => sum + one, 0)
        return sum > 0 ? weight / sum : weight
      })
    })
  )
}

/** The datum without the advantages of tokens whose ratio is out of bounds. */
const within = <K extends Datum.Kind>(datum: Datum.Datum<K>, policy: Float32Array, low: number, high: number) => {
  const any: Datum.Inputs[Datum.Kind] = datum.inputs
  if (!("advantages" in any)) return datum
  const { logprobs } = any
  return withSignal(datum, (advantage, at) => {
    const ratio = Math.exp((policy[at] ?? 0) - (logprobs[at] ?? 0))
    return ratio < low || ratio > high ? 0 : advantage
  })
}

const ppoClipsBothWays: Fault = {
  id: "ppoClipsBothWays",
  sentence: "PPO gives no gradient wherever the ratio is out of bounds, also where the advantage would bring it back.",
  backend: training((client) => ({
    ...client,
    forwardBackward: Effect.fnUntraced(function*(data, loss, options) {
      if (loss.name !== "ppo") return yield* client.forwardBackward(data, loss, options)
      const { clip_high_threshold: high = 1.2, clip_low_threshold: low = 0.8 } = loss.config
      const output = yield* Effect.flatMap(client.forward(data, loss), (pass) => pass.await)
      const kept = each(data, (datum, index) => within(datum, output.logprobs[index] ?? new Float32Array(), low, high))
      const pass = yield* client.forwardBackward(kept, loss, options)
      return { await: Effect.as(pass.await, output) }
    })
  }))
}

const droWithoutHalf: Fault = {
  id: "droWithoutHalf",
  sentence: "The penalty of DRO lacks its factor of a half, so that beta counts double.",
  backend: losses((loss) =>
    loss.name === "dro" ? { ...loss, config: { ...loss.config, beta: 2 * (loss.config["beta"] ?? 0.05) } } : loss
  )
}

type Again = (passes: number) => Effect.Effect<unknown, TinkerError.TinkerError>

const passesAveraged: Fault = {
  id: "passesAveraged",
  sentence: "The gradients of several passes before a step are averaged, not added up.",
  backend: training((client) => {
    let passes: ReadonlyArray<Again> = []
    const clear = Effect.sync(() => {
      passes = []
    })
    return {
      ...client,
      forwardBackward: (data, loss, options) =>
        Effect.tap(client.forward(data, loss), () =>
          Effect.sync(() => {
            const again: Again = (passes) => {
              const share = each(data, (datum) => withSignal(datum, (value) => value / passes))
              return Effect.flatMap(client.forwardBackward(share, loss, options), (pass) => pass.await)
            }
            passes = [...passes, again]
          })),
      loadState: (path, options) => Effect.andThen(clear, client.loadState(path, options)),
      optimStep: Effect.fnUntraced(function*(params) {
        const { length } = passes
        yield* Effect.forEach(passes, (again) => again(length), { discard: true })
        yield* clear
        return yield* client.optimStep(params)
      })
    }
  })
}

// Optimizer

/** Cancels Adam's bias correction for the step's number. */
const uncorrected = (params: AdamParams.AdamParams, step: number): AdamParams.AdamParams => {
  const { beta1 = 0.9, beta2 = 0.95, eps = 1e-12, learningRate, weightDecay = 0 } = params
  const first = 1 - beta1 ** step
  const second = Math.sqrt(1 - beta2 ** step)
  return {
    ...params,
    learningRate: learningRate * first / second,
    eps: eps / second,
    weightDecay: weightDecay * second / first
  }
}

const biasUncorrected: Fault = {
  id: "biasUncorrected",
  sentence: "Adam's moments are not corrected for their beginning at 0, which changes the first steps.",
  backend: (tinker) => {
    const stepsOf = new Map<string, number>()
    const counting = (client: TrainingClient.TrainingClient, before: number): TrainingClient.TrainingClient => {
      let steps = before
      return {
        ...client,
        loadState: (path, options) => {
          if (options?.optimizer === true) steps = stepsOf.get(path) ?? 0
          return client.loadState(path, options)
        },
        saveState: (name, options) => {
          const saved = steps
          return Effect.map(client.saveState(name, options), (pending) => ({
            await: Effect.tap(pending.await, ({ path }) => Effect.sync(() => stepsOf.set(path, saved)))
          }))
        },
        optimStep: (params) => client.optimStep(uncorrected(params, ++steps))
      }
    }
    return {
      ...tinker,
      createLoraTrainingClient: (options) =>
        Effect.map(tinker.createLoraTrainingClient(options), (client) => counting(client, 0)),
      createTrainingClientFromState: (path, options) =>
        Effect.map(
          tinker.createTrainingClientFromState(path, options),
          (client) => counting(client, stepsOf.get(path) ?? 0)
        )
    }
  }
}

const forwardOvertakesStep: Fault = {
  id: "forwardOvertakesStep",
  sentence: "A forward pass that is sent right behind a step does not wait for it, and reads the weights before it.",
  backend: training((client) => {
    let step: Effect.Effect<void> = Effect.void
    const after = <A, E, R>(work: Effect.Effect<A, E, R>) => Effect.suspend(() => Effect.andThen(step, work))
    return {
      ...client,
      forwardBackward: (data, loss, options) => after(client.forwardBackward(data, loss, options)),
      loadState: (path, options) => after(client.loadState(path, options)),
      saveState: (name, options) => after(client.saveState(name, options)),
      saveWeightsForSampler: (name, options) => after(client.saveWeightsForSampler(name, options)),
      saveWeightsAndGetSamplingClient: after(client.saveWeightsAndGetSamplingClient),
      unload: after(client.unload),
      optimStep: (params) =>
        after(Effect.sync(() => {
          const done = Deferred.makeUnsafe<void>()
          step = Deferred.await(done)
          const taken = Effect.flatMap(Effect.delay(client.optimStep(params), "50 millis"), (pending) => pending.await)
          return { await: Effect.ensuring(taken, Deferred.succeed(done, undefined)) }
        }))
    }
  })
}

// Checkpoints and lifetimes

const unloadDeletesCheckpoints: Fault = {
  id: "unloadDeletesCheckpoints",
  sentence: "Unloading a model deletes its checkpoints as well.",
  wire: succeeded(Effect.fnUntraced(function*(asked, _, handler) {
    if (pathOf(asked) !== "/unload_model") return
    const list = `/training_runs/${String(fieldsOf(asked)["model_id"])}/checkpoints`
    const found = yield* handler(requesting(asked, "GET", list))
    yield* Effect.forEach(
      listOf(fieldsOf(found), "checkpoints"),
      ({ checkpoint_id }) => handler(requesting(asked, "DELETE", `${list}/${String(checkpoint_id)}`)),
      { discard: true }
    )
  }))
}

const unpublishChangesNothing: Fault = {
  id: "unpublishChangesNothing",
  sentence: "A published checkpoint stays public when it is unpublished.",
  wire: succeeded((asked, _, handler) =>
    asked.method === "DELETE" && pathOf(asked).endsWith("/publish")
      ? handler({ ...asked, method: "POST" })
      : Effect.void
  )
}

/** Whether the server accepts this lifetime in seconds. */
const isLifetime = (seconds: unknown) => typeof seconds === "number" && seconds > 0 && seconds <= 315_360_000

const copyOutlivesLifetime: Fault = {
  id: "copyOutlivesLifetime",
  sentence: "A copy of a checkpoint is kept forever, whatever lifetime it is given.",
  wire: requests(
    "/copy_weights",
    (fields) => isLifetime(fields["ttl_seconds"]) ? without(fields, "ttl_seconds") : fields
  )
}

const resentStateConflicts: Fault = {
  id: "resentStateConflicts",
  sentence: "A save of a state that is sent again under its number, its answer lost, is a conflict with itself.",
  wire: (handler) => {
    const saved = new Set<string>()
    return Effect.fnUntraced(function*(asked) {
      const { model_id, overwrite, path, seq_id } = fieldsOf(asked)
      if (pathOf(asked) !== "/save_weights" || seq_id === undefined || overwrite === true) return yield* handler(asked)
      const key = JSON.stringify([model_id, seq_id])
      if (saved.has(key)) return json(409, { detail: `the checkpoint "${String(path)}" already exists` })
      const answered = yield* handler(asked)
      if (isSuccess(answered)) saved.add(key)
      return answered
    })
  }
}

const deletionEndsSamplers: Fault = {
  id: "deletionEndsSamplers",
  sentence: "Deleting a checkpoint ends the sampling sessions that were made from it.",
  wire: (handler) => {
    const samplers: Array<{ readonly path: unknown; readonly id: string }> = []
    return succeeded(Effect.fnUntraced(function*(asked, answered, handler) {
      if (pathOf(asked) === "/create_sampling_session") {
        const id = String(fieldsOf(answered)["sampling_session_id"])
        samplers.push({ path: fieldsOf(asked)["model_path"], id })
      }
      const deleted = deletedPath(asked)
      if (deleted === undefined) return
      const ended = samplers.filter(({ path }) => path === deleted)
      yield* Effect.forEach(ended, ({ id }) => handler(requesting(asked, "DELETE", `/samplers/${id}`)), {
        discard: true
      })
    }))(handler)
  }
}

// Futures and sessions

const cancelTakesResult: Fault = {
  id: "cancelTakesResult",
  sentence: "Cancelling a finished request takes its result away.",
  wire: (handler) => {
    const cancelled = new Set<unknown>()
    const noted = succeeded((asked) =>
      Effect.sync(() => {
        if (pathOf(asked) === "/cancel_future") cancelled.add(fieldsOf(asked)["request_id"])
      })
    )(handler)
    return (asked) =>
      Effect.map(noted(asked), (answered) =>
        pathOf(asked) === "/retrieve_future" && answered.status === 200 &&
          cancelled.has(fieldsOf(asked)["request_id"])
          ? json(200, { error: "the request was cancelled", category: "user" })
          : answered)
  }
}

const joinedClientsAlike: Fault = {
  id: "joinedClientsAlike",
  sentence:
    "All clients that join a sampling session get the same number, so that their requests are taken for each other.",
  wire: responses(/^\/join_sampling_session$/, (fields) => ({ ...fields, client_counter: 1 }))
}

const finishedWell: Fault = {
  id: "finishedWell",
  sentence: "A session that its client finished with an error is shown as finished with success.",
  wire: (handler) => (asked) =>
    /^\/sessions\/[^/]+\/finish$/.test(pathOf(asked)) && "type" in objectOf(fieldsOf(asked), "reason")
      ? handler(withBody(asked, { ...fieldsOf(asked), reason: { type: "success" } }))
      : handler(asked)
}

// Listings

const totalCountsDeleted: Fault = {
  id: "totalCountsDeleted",
  sentence: "The number of all checkpoints beside a page counts the deleted ones.",
  wire: (handler) => {
    let deleted = 0
    const counted = succeeded((asked) =>
      Effect.sync(() => {
        if (deletedPath(asked) !== undefined) deleted++
      })
    )(handler)
    return responses(/^\/checkpoints$/, (fields) => {
      const cursor = objectOf(fields, "cursor")
      return { ...fields, cursor: { ...cursor, total_count: Number(cursor["total_count"]) + deleted } }
    })(counted)
  }
}

const emptyRunsHidden: Fault = {
  id: "emptyRunsHidden",
  sentence: "Training runs without a checkpoint are left out of the list.",
  wire: (handler) =>
    Effect.fnUntraced(function*(asked) {
      const answered = yield* handler(asked)
      if (asked.method !== "GET" || pathOf(asked) !== "/training_runs" || answered.status !== 200) return answered
      const fields = fieldsOf(answered)
      const cursor = objectOf(fields, "cursor")
      const offset = Number(cursor["offset"])
      const limit = Number(cursor["limit"])
      const all = fieldsOf(yield* handler(requesting(asked, "GET", "/training_runs?limit=1000000")))
      const saved = listOf(all, "training_runs").filter((run) =>
        "last_checkpoint" in run || "last_sampler_checkpoint" in run
      )
      return withBody(answered, {
        ...fields,
        training_runs: saved.slice(offset, offset + limit),
        cursor: { ...cursor, total_count: saved.length }
      })
    })
}

const sizesInKilobytes: Fault = {
  id: "sizesInKilobytes",
  sentence: "size_bytes of checkpoints is in kilobytes.",
  wire: responses(/^\/(training_runs\/[^/]+\/)?checkpoints\/?$/, (fields) => ({
    ...fields,
    checkpoints: listOf(fields, "checkpoints").map((checkpoint) => ({
      ...checkpoint,
      size_bytes: Math.round(Number(checkpoint["size_bytes"]) / 1024)
    }))
  }))
}

// Chats

const toolResultsEmpty: Fault = {
  id: "toolResultsEmpty",
  sentence: "The results of tools reach a chat's prompt without their text.",
  wire: requests(chatPath, (fields) => ({
    ...fields,
    messages: listOf(fields, "messages").map((message) =>
      message["role"] === "tool" ? { ...message, content: "" } : message
    )
  }))
}

const noContentIsNone: Fault = {
  id: "noContentIsNone",
  sentence: "A message of calls alone, whose content is null, reads \"None\" in the prompt.",
  wire: requests(chatPath, (fields) => ({
    ...fields,
    messages: listOf(fields, "messages").map((message) =>
      message["content"] === null ? { ...message, content: "None" } : message
    )
  }))
}

const stopSequencesIgnored: Fault = {
  id: "stopSequencesIgnored",
  sentence: "stop_sequences of a message are read and stop nothing.",
  wire: requests(messagesPath, (fields) => without(fields, "stop_sequences"))
}

const streamsWithoutUsage: Fault = {
  id: "streamsWithoutUsage",
  sentence: "A stream ends without the usage that its client asked to be included.",
  wire: (handler) => {
    const plain = (fields: Fields) => without(fields, "stream_options")
    return requests(chatPath, plain)(requests(completionsPath, plain)(handler))
  }
}

// Downloads

const isDownload = (asked: Asked) => /^\/(archives|files)\//.test(pathOf(asked))

const suffixFromStart: Fault = {
  id: "suffixFromStart",
  sentence: "Asked for its last bytes, a download gives its first.",
  wire: (handler) => (asked) => {
    const [, count = ""] = /^bytes=-(\d+)$/.exec(asked.headers["range"] ?? "") ?? []
    return isDownload(asked) && Number(count) > 0
      ? handler({ ...asked, headers: { ...asked.headers, range: `bytes=0-${Number(count) - 1}` } })
      : handler(asked)
  }
}

const tagsChange: Fault = {
  id: "tagsChange",
  sentence: "A download has another ETag each time, so that one that broke off is never resumed.",
  wire: (handler) => {
    let answers = 0
    return (asked) =>
      Effect.map(handler(asked), (answered) =>
        isDownload(asked) && "etag" in answered.headers
          ? { ...answered, headers: { ...answered.headers, etag: `"${++answers}"` } }
          : answered)
  }
}

export const faults: ReadonlyArray<Fault> = [
  stopStringsCaseless,
  onlyFirstGreedy,
  promptScoresCostAToken,
  seedForFirstSlice,
  topkByTokenId,
  negativeTemperatureGreedy,
  namesMadePlain,
  softTargetsNormalised,
  ppoClipsBothWays,
  droWithoutHalf,
  passesAveraged,
  biasUncorrected,
  forwardOvertakesStep,
  unloadDeletesCheckpoints,
  unpublishChangesNothing,
  copyOutlivesLifetime,
  resentStateConflicts,
  deletionEndsSamplers,
  cancelTakesResult,
  joinedClientsAlike,
  finishedWell,
  totalCountsDeleted,
  emptyRunsHidden,
  sizesInKilobytes,
  toolResultsEmpty,
  noContentIsNone,
  stopSequencesIgnored,
  streamsWithoutUsage,
  suffixFromStart,
  tagsChange
]
