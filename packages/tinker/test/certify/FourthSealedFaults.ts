/** The fourth set of server faults, conceived from the API alone and sealed before any check looked for them. */
import type { TinkerError } from "@effect-rl/core"
import type { Datum, Sampling, SamplingClient } from "@effect-rl/core/backend"
import { Clock, Effect } from "effect"
import type { NonEmptyReadonlyArray } from "effect/Array"
import {
  type Answered,
  type Asked,
  data,
  each,
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
  sampling,
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

/** The same response with different bytes. */
const withBytes = (answered: Answered, body: Uint8Array): Answered => ({
  ...answered,
  headers: without(answered.headers, "content-length"),
  body
})

const withText = (answered: Answered, text: string) => withBytes(answered, new TextEncoder().encode(text))

/** A request without a body that the server makes itself. */
const requesting = (asked: Asked, method: "GET" | "DELETE", path: string): Asked => ({
  method,
  path,
  headers: without(asked.headers, "content-length", "content-type"),
  body: new Uint8Array()
})

const chatPath = "/oai/api/v1/chat/completions"
const completionsPath = "/oai/api/v1/completions"
const messagesPath = "/anthropic/api/v1/messages"

// Sampling

const maxTokensCountsPrompt: Fault = {
  id: "maxTokensCountsPrompt",
  sentence: "max_tokens counts the tokens of the prompt too.",
  backend: sample((sample) => (request) => {
    const maxTokens = Math.max(request.params.maxTokens - request.prompt.length, 1)
    return sample({ ...request, params: { ...request.params, maxTokens } })
  })
}

const coldTemperaturesRaised: Fault = {
  id: "coldTemperaturesRaised",
  sentence: "Temperatures between 0 and 0.4 are raised to 0.4.",
  backend: params((params) => {
    const { temperature = 1 } = params
    return temperature > 0 && temperature < 0.4 ? { ...params, temperature: 0.4 } : params
  })
}

const topKOfOneIsOff: Fault = {
  id: "topKOfOneIsOff",
  sentence: "top_k 1 counts as no limit.",
  backend: params((params) => params.topK === 1 ? without(params, "topK") : params)
}

const answersCachedBySeed: Fault = {
  id: "answersCachedBySeed",
  sentence: "Answers are kept by prompt and seed, so that another temperature or limit gets the earlier answer.",
  backend: sample((sample) => {
    const kept = new Map<string, Sampling.SampleResponse>()
    return Effect.fnUntraced(function*(request) {
      const { params: { seed }, ...others } = request
      if (seed === undefined) return yield* sample(request)
      const key = JSON.stringify([seed, others])
      const response = kept.get(key) ?? (yield* sample(request))
      kept.set(key, response)
      return response
    })
  })
}

const lastPromptScoreZero: Fault = {
  id: "lastPromptScoreZero",
  sentence: "The last log-probability of a prompt is 0.",
  backend: sample((sample) => (request) =>
    Effect.map(sample(request), (response) => ({
      ...response,
      ...(response.promptLogprobs === undefined ? {} : {
        promptLogprobs: response.promptLogprobs.map((logprob, at, { length }) =>
          at > 0 && at === length - 1 ? 0 : logprob
        )
      })
    }))
  )
}

// Passes

type Again = Effect.Effect<unknown, TinkerError.TinkerError>

const forwardClearsGradient: Fault = {
  id: "forwardClearsGradient",
  sentence: "A forward pass clears the gradient of the passes before it.",
  backend: training((client) => {
    let passes: ReadonlyArray<Again> = []
    const clear = Effect.sync(() => {
      passes = []
    })
    return {
      ...client,
      forward: (data, loss) => Effect.andThen(clear, client.forward(data, loss)),
      forwardBackward: (data, loss, options) =>
        Effect.tap(client.forward(data, loss), () =>
          Effect.sync(() => {
            const again = Effect.flatMap(client.forwardBackward(data, loss, options), (pass) => pass.await)
            passes = [...passes, again]
          })),
      loadState: (path, options) => Effect.andThen(clear, client.loadState(path, options)),
      optimStep: Effect.fnUntraced(function*(params) {
        yield* Effect.forEach(passes, (again) => again, { discard: true })
        yield* clear
        return yield* client.optimStep(params)
      })
    }
  })
}

const isPolicy = ({ inputs }: Datum.Datum<Datum.Kind>) => "advantages" in inputs

const advantagesCentred: Fault = {
  id: "advantagesCentred",
  sentence: "In a pass of several data, the mean of their advantages is subtracted from them.",
  backend: data((data) => {
    if (data.length === 1 || !isPolicy(data[0])) return data
    const all = data.flatMap((datum) => [...signalOf(datum)]).filter((advantage) => advantage !== 0)
    const mean = all.reduce((sum, advantage) => sum + advantage, 0) / Math.max(all.length, 1)
    return each(data, (datum) => withSignal(datum, (advantage) => advantage === 0 ? 0 : advantage - mean))
  })
}

const equalDataMerged: Fault = {
  id: "equalDataMerged",
  sentence: "Equal data in one pass give the gradient of one of them.",
  backend: gradient(([first, ...others]) => {
    const keyOf = ({ inputs, modelInput }: typeof first) => JSON.stringify([inputs, modelInput])
    const seen = new Set([keyOf(first)])
    const kept = others.filter((datum) => {
      const isNew = !seen.has(keyOf(datum))
      seen.add(keyOf(datum))
      return isNew
    })
    return [first, ...kept]
  })
}

const outputsByLength: Fault = {
  id: "outputsByLength",
  sentence: "Outputs come in the order of the data's lengths.",
  backend: outputs((output, data) => ({
    ...output,
    logprobs: data
      .map(({ modelInput }, index) => ({ length: modelInput.length, logprobs: output.logprobs[index] }))
      .toSorted((left, right) => left.length - right.length)
      .flatMap(({ logprobs }) => logprobs === undefined ? [] : [logprobs])
  }))
}

/** The datum as if its sampler had given every token at least half of the policy's probability. */
const truncated = <K extends Datum.Kind>(datum: Datum.Datum<K>, policy: Float32Array): Datum.Datum<K> => {
  const any: Datum.Inputs[Datum.Kind] = datum.inputs
  if (!("advantages" in any)) return datum
  const logprobs = any.logprobs.map((logprob, at) => Math.max(logprob, (policy[at] ?? logprob) - Math.LN2))
  return { ...datum, inputs: { ...datum.inputs, logprobs } }
}

const truncatedData = Effect.fnUntraced(function*<K extends Datum.Kind>(
  data: NonEmptyReadonlyArray<Datum.Datum<K>>,
  policy: Effect.Effect<{ readonly logprobs: ReadonlyArray<Float32Array> }, TinkerError.TinkerError>
) {
  const { logprobs } = yield* policy
  return each(data, (datum, index) => truncated(datum, logprobs[index] ?? new Float32Array()))
})

const ratiosTruncated: Fault = {
  id: "ratiosTruncated",
  sentence: "Importance sampling truncates ratios at 2.",
  backend: training((client) => ({
    ...client,
    forwardBackward: Effect.fnUntraced(function*(data, loss, options) {
      if (loss.name !== "importance_sampling") return yield* client.forwardBackward(data, loss, options)
      const pass = yield* client.forward(data, loss)
      return yield* client.forwardBackward(yield* truncatedData(data, pass.await), loss, options)
    })
  }))
}

const customLossByName: Fault = {
  id: "customLossByName",
  sentence: "A custom loss with the name of an earlier one computes the earlier one.",
  wire: (handler) => {
    const named = new Map<unknown, Fields>()
    return requests("/create_custom_loss", (fields) => {
      const { graph, inputs, name } = fields
      const first = named.get(name) ?? { graph, inputs }
      named.set(name, first)
      return { ...fields, ...first }
    })(handler)
  }
}

// Adapters

const loraSeedZeroRandom: Fault = {
  id: "loraSeedZeroRandom",
  sentence: "A LoRA seed of 0 counts as none.",
  backend: (tinker) => ({
    ...tinker,
    createLoraTrainingClient: (options) =>
      tinker.createLoraTrainingClient(options.seed === 0 ? without(options, "seed") : options)
  })
}

const baseModel = "effect-rl/tiny-64"

const isAdapter = ({ modelPath }: SamplingClient.SamplingClient) => !modelPath.startsWith("effect-rl/")

/** Number of adapters that the sampler keeps in addition to the base model. */
const slots = 4

const fifthAdapterEvictsFirst: Fault = {
  id: "fifthAdapterEvictsFirst",
  sentence: "A sampler of trained weights samples from the base model once there are four newer ones.",
  backend: (tinker) => {
    let made = 0
    return sampling((client, tinker) => {
      if (!isAdapter(client)) return client
      const number = ++made
      return {
        ...client,
        sample: (request) =>
          made - number < slots
            ? client.sample(request)
            : Effect.scoped(Effect.flatMap(tinker.createSamplingClient({ baseModel }), (base) => base.sample(request)))
      }
    })(tinker)
  }
}

// Checkpoints

const kindOfPathIgnored: Fault = {
  id: "kindOfPathIgnored",
  sentence: "Sampler weights are looked up by name alone, so that a state of the same name is sampled from.",
  wire: (handler) => {
    const states = new Set<string>()
    const shown = new Map<string, unknown>()
    const save = requests("/save_weights", (fields) => {
      states.add(`tinker://${String(fields["model_id"])}/weights/${String(fields["path"])}`)
      return fields
    })
    const create = requests("/create_sampling_session", (fields) => {
      const state = String(fields["model_path"]).replace("/sampler_weights/", "/weights/")
      return states.has(state) ? { ...fields, model_path: state } : fields
    })
    const note = responses(/^\/create_sampling_session$/, (fields, asked) => {
      shown.set(String(fields["sampling_session_id"]), fieldsOf(asked)["model_path"])
      return fields
    })
    const show = responses(/^\/samplers\/[^/]+$/, (fields) => {
      const path = shown.get(String(fields["sampler_id"]))
      return path === undefined ? fields : { ...fields, model_path: path }
    })
    return show(note(create(save(handler))))
  }
}

const checkpointRoute = /^(\/training_runs\/([^/]+)\/checkpoints)\/((?:sampler_|external_)?weights\/[^/]+)$/

/** Runs an additional effect after a checkpoint is deleted. */
const deleted = (
  handler: Handler,
  more: (asked: Asked, place: { readonly list: string; readonly run: string; readonly id: string }) => Effect.Effect<
    void
  >
): Handler =>
  Effect.fnUntraced(function*(asked) {
    const answered = yield* handler(asked)
    const [, list, run, id] = checkpointRoute.exec(pathOf(asked)) ?? []
    if (
      asked.method === "DELETE" && answered.status < 300 && list !== undefined && run !== undefined && id !== undefined
    ) {
      yield* more(asked, { list: `/api/v1${list}`, run: decodeURIComponent(run), id })
    }
    return answered
  })

const deleteByPrefix: Fault = {
  id: "deleteByPrefix",
  sentence: "Deleting a checkpoint deletes all of its run whose names begin with its name.",
  wire: (handler) =>
    deleted(
      handler,
      (asked, { id, list }) =>
        Effect.flatMap(handler(requesting(asked, "GET", list)), (answered) =>
          Effect.forEach(
            listOf(fieldsOf(answered), "checkpoints").filter(({ checkpoint_id }) =>
              String(checkpoint_id).startsWith(id)
            ),
            ({ checkpoint_id }) => handler(requesting(asked, "DELETE", `${list}/${String(checkpoint_id)}`)),
            { discard: true }
          ))
    )
}

const copyIsAlias: Fault = {
  id: "copyIsAlias",
  sentence: "A copy of a checkpoint goes when the copied one is deleted.",
  wire: (handler) => {
    const copies: Array<{ readonly from: unknown; readonly to: string }> = []
    const copying = responses(/^\/copy_weights$/, (fields, asked) => {
      copies.push({ from: fieldsOf(asked)["source_path"], to: String(fields["tinker_path"]) })
      return fields
    })
    return deleted(copying(handler), (asked, { id, run }) =>
      Effect.forEach(
        copies.filter(({ from }) => from === `tinker://${run}/${id}`),
        ({ to }) => {
          const [, copy = "", ...rest] = to.replace("tinker:/", "").split("/")
          const path = `/api/v1/training_runs/${copy}/checkpoints/${rest.join("/")}`
          return handler(requesting(asked, "DELETE", path))
        },
        { discard: true }
      ))
  }
}

/** Whether the server accepts this lifetime in seconds. */
const isLifetime = (seconds: unknown): seconds is number =>
  typeof seconds === "number" && seconds > 0 && seconds <= 315_360_000

const expiryNotEnforced: Fault = {
  id: "expiryNotEnforced",
  sentence: "A checkpoint shows when it expires and stays after that.",
  wire: (handler) => {
    const expires = new Map<unknown, string>()
    const shown = (checkpoint: Fields): Fields => {
      const at = expires.get(checkpoint["tinker_path"])
      return at === undefined ? checkpoint : { ...checkpoint, expires_at: at }
    }
    const listed = responses(
      /^\/(training_runs\/[^/]+\/)?checkpoints\/?$/,
      (fields) => ({ ...fields, checkpoints: listOf(fields, "checkpoints").map(shown) })
    )
    const kinds: Readonly<Record<string, string>> = {
      "/save_weights": "weights",
      "/save_weights_for_sampler": "sampler_weights"
    }
    return listed(Effect.fnUntraced(function*(asked) {
      const fields = fieldsOf(asked)
      const { model_id, path, ttl_seconds } = fields
      const kind = kinds[pathOf(asked)]
      if (kind === undefined || typeof path !== "string" || !isLifetime(ttl_seconds)) return yield* handler(asked)
      const now = yield* Clock.currentTimeMillis
      expires.set(`tinker://${String(model_id)}/${kind}/${path}`, new Date(now + ttl_seconds * 1000).toISOString())
      return yield* handler(withBody(asked, without(fields, "ttl_seconds")))
    }))
  }
}

// Futures

const cancelledStaysPending: Fault = {
  id: "cancelledStaysPending",
  sentence: "A cancelled request is reported forever as not finished.",
  wire: (handler) => {
    const cancelled = new Set<unknown>()
    const isFailed = (answered: Answered) => "error" in fieldsOf(answered)
    const listed = responses(/^\/retrieve_futures$/, (fields) => ({
      ...fields,
      completions: listOf(fields, "completions").filter(({ request_id, state }) =>
        state !== "failed" || !cancelled.has(request_id)
      )
    }))
    return listed(Effect.fnUntraced(function*(asked) {
      const { request_id } = fieldsOf(asked)
      if (pathOf(asked) === "/cancel_future") cancelled.add(request_id)
      const answered = yield* handler(asked)
      if (pathOf(asked) !== "/retrieve_future" || !cancelled.has(request_id) || !isFailed(answered)) return answered
      return yield* Effect.delay(
        Effect.succeed(json(408, { type: "try_again", request_id, queue_state: "active" })),
        "100 millis"
      )
    }))
  }
}

const unloadKeepsModel: Fault = {
  id: "unloadKeepsModel",
  sentence: "unload_model succeeds, and the model goes on working.",
  wire: (handler) => {
    const unloaded = new Map<unknown, unknown>()
    return Effect.fnUntraced(function*(asked) {
      const { model_id, request_id } = fieldsOf(asked)
      if (pathOf(asked) === "/retrieve_future" && unloaded.has(request_id)) {
        return json(200, { type: "unload_model", model_id: unloaded.get(request_id) })
      }
      if (pathOf(asked) !== "/unload_model") return yield* handler(asked)
      const described = yield* handler({ ...asked, path: "/api/v1/get_info" })
      if (described.status !== 200) return yield* handler(asked)
      const id = `unload-${unloaded.size + 1}`
      unloaded.set(id, model_id)
      return json(200, { request_id: id, model_id })
    })
  }
}

// Listings

const offsetInPages: Fault = {
  id: "offsetInPages",
  sentence: "The offset of listed checkpoints counts pages.",
  wire: (handler) => (asked) => {
    const url = new URL(asked.path, "http://localhost")
    const offset = Number(url.searchParams.get("offset") ?? 0)
    if (pathOf(asked) !== "/checkpoints" || !(offset > 0)) return handler(asked)
    url.searchParams.set("offset", String(offset * Number(url.searchParams.get("limit") ?? 100)))
    const shown = responses(
      /^\/checkpoints$/,
      (fields) => ({ ...fields, cursor: { ...objectOf(fields, "cursor"), offset } })
    )
    return shown(handler)({ ...asked, path: `${url.pathname}${url.search}` })
  }
}

const metadataSearchMatchesAny: Fault = {
  id: "metadataSearchMatchesAny",
  sentence: "A search for several metadata finds sessions that have any of them.",
  wire: (handler) =>
    Effect.fnUntraced(function*(asked) {
      const fields = fieldsOf(asked)
      const wanted = Object.entries(objectOf(fields, "user_metadata"))
      if (pathOf(asked) !== "/sessions/search" || wanted.length < 2) return yield* handler(asked)
      const all = without(fields, "cursor", "limit")
      const found = yield* Effect.forEach(wanted, ([key, value]) =>
        handler(withBody(asked, { ...all, limit: 200, user_metadata: { [key]: value } })))
      const sessions = new Map(
        found.flatMap((answered) =>
          listOf(fieldsOf(answered), "sessions")
        ).map((one) => [one["session_id"], one])
      )
      const sorted = [...sessions.values()].toSorted((left, right) =>
        String(right["created_at"]).localeCompare(String(left["created_at"]))
      )
      const after = objectOf(fields, "cursor")["last_session_id"]
      const start = sorted.findIndex(({ session_id }) => session_id === after) + 1
      const page = sorted.slice(start, start + Number(fields["limit"] ?? 50))
      const last = page.at(-1)
      const isMore = last !== undefined && start + page.length < sorted.length
      return json(200, {
        sessions: page,
        next_cursor: isMore ? { last_created_at: last["created_at"], last_session_id: last["session_id"] } : null
      })
    })
}

const lastCheckpointIsFirst: Fault = {
  id: "lastCheckpointIsFirst",
  sentence: "The last checkpoint of a training run is its first.",
  wire: (handler) => {
    const changed = Effect.fnUntraced(function*(asked: Asked, run: Fields) {
      const list = `/api/v1/training_runs/${String(run["training_run_id"])}/checkpoints`
      const oldest = listOf(fieldsOf(yield* handler(requesting(asked, "GET", list))), "checkpoints").toReversed()
      const first = (type: string) => oldest.find(({ checkpoint_type }) => checkpoint_type === type)
      const state = first("training")
      const weights = first("sampler")
      return {
        ...run,
        ...(state === undefined ? {} : { last_checkpoint: state }),
        ...(weights === undefined ? {} : { last_sampler_checkpoint: weights })
      }
    })
    return Effect.fnUntraced(function*(asked) {
      const answered = yield* handler(asked)
      if (answered.status !== 200 || asked.method !== "GET") return answered
      const fields = fieldsOf(answered)
      if (pathOf(asked) === "/training_runs") {
        const runs = yield* Effect.forEach(listOf(fields, "training_runs"), (run) => changed(asked, run))
        return withBody(answered, { ...fields, training_runs: runs })
      }
      return /^\/training_runs\/[^/]+$/.test(pathOf(asked))
        ? withBody(answered, yield* changed(asked, fields))
        : answered
    })
  }
}

const sessionShowsOthersRuns: Fault = {
  id: "sessionShowsOthersRuns",
  sentence: "A session's description lists the training runs of the sessions described before it.",
  wire: (handler) => {
    const runs = new Set<unknown>()
    return responses(/^\/sessions\/[^/]+$/, (fields) => {
      const own = fields["training_run_ids"]
      if (!Array.isArray(own)) return fields
      for (const id of own) runs.add(id)
      return { ...fields, training_run_ids: [...runs] }
    })(handler)
  }
}

// Chats

/** Changes the events of streamed answers for one path. */
const streams = (path: string, change: (text: string) => string) => (handler: Handler): Handler => (asked) =>
  Effect.map(
    handler(asked),
    (answered) =>
      pathOf(asked) === path && answered.headers["content-type"]?.includes("event-stream") === true
        ? withText(answered, change(textOf(answered)))
        : answered
  )

const streamEndsWithStop: Fault = {
  id: "streamEndsWithStop",
  sentence: "Streamed chats that end at the limit of tokens say that they stopped.",
  wire: streams(chatPath, (text) => text.replaceAll(`"finish_reason":"length"`, `"finish_reason":"stop"`))
}

const trimmed = (text: string) =>
  text.replaceAll(
    /"(content|text)":"((?:[^"\\]|\\.)*)"/g,
    (_, name: string, piece: string) => `"${name}":"${piece.replaceAll(/^(?: |\\n)+|(?: |\\n)+$/g, "")}"`
  )

const deltasTrimmed: Fault = {
  id: "deltasTrimmed",
  sentence: "Pieces of streamed chats and completions lose the spaces at their ends.",
  wire: (handler) => streams(chatPath, trimmed)(streams(completionsPath, trimmed)(handler))
}

const firstPartOnly: Fault = {
  id: "firstPartOnly",
  sentence: "Only the first part of a message's content is read.",
  wire: requests(chatPath, (fields) => ({
    ...fields,
    messages: listOf(fields, "messages").map((message) => {
      const { content } = message
      return Array.isArray(content) ? { ...message, content: content.slice(0, 1) } : message
    })
  }))
}

const unknownModelAnswered: Fault = {
  id: "unknownModelAnswered",
  sentence: "A chat with an unknown model is answered by the first model that is served.",
  wire: (handler) =>
    Effect.fnUntraced(function*(asked) {
      const answered = yield* handler(asked)
      const fields = fieldsOf(asked)
      if (pathOf(asked) !== chatPath || answered.status !== 404 || String(fields["model"]).includes("://")) {
        return answered
      }
      const [first] = listOf(fieldsOf(yield* handler(requesting(asked, "GET", "/oai/api/v1/models"))), "data")
      return first === undefined ? answered : yield* handler(withBody(asked, { ...fields, model: first["id"] }))
    })
}

const stopSequenceAsEndTurn: Fault = {
  id: "stopSequenceAsEndTurn",
  sentence: "A reply that ended at a stop sequence says that the turn ended.",
  wire: (handler) => (asked) =>
    Effect.map(handler(asked), (answered) =>
      pathOf(asked) === messagesPath && answered.status === 200
        ? withText(
          answered,
          textOf(answered).replaceAll(
            /"stop_reason":"stop_sequence","stop_sequence":"(?:[^"\\]|\\.)*"/g,
            `"stop_reason":"end_turn","stop_sequence":null`
          )
        )
        : answered)
}

// Downloads

const isDownload = (asked: Asked) => /^\/(archives|files)\//.test(pathOf(asked))

const rangeOneShort: Fault = {
  id: "rangeOneShort",
  sentence: "A part of a download lacks the last byte that was asked for.",
  wire: (handler) => (asked) => {
    const [, first = "", last = ""] = /^bytes=(\d+)-(\d+)$/.exec(asked.headers["range"] ?? "") ?? []
    return isDownload(asked) && Number(last) > Number(first)
      ? handler({ ...asked, headers: { ...asked.headers, range: `bytes=${first}-${Number(last) - 1}` } })
      : handler(asked)
  }
}

const block = 512

/** The offsets at which the files in an archive begin. */
const filesOf = (archive: Uint8Array): ReadonlyArray<number> => {
  const found: Array<number> = []
  let at = 0
  while (at < archive.length && archive[at] !== 0) {
    found.push(at)
    const size = parseInt(new TextDecoder().decode(archive.subarray(at + 124, at + 135)), 8)
    at += block + Math.ceil(size / block) * block
  }
  return found
}

const archiveLacksLastFile: Fault = {
  id: "archiveLacksLastFile",
  sentence: "The archive of a checkpoint lacks its last file.",
  wire: (handler) => (asked) =>
    Effect.map(handler(asked), (answered) => {
      if (asked.method !== "GET" || !pathOf(asked).startsWith("/archives/") || answered.status !== 200) return answered
      const files = filesOf(answered.body)
      const last = files.at(-1)
      if (last === undefined || files.length < 2) return answered
      const archive = new Uint8Array(last + 2 * block)
      archive.set(answered.body.subarray(0, last))
      return withBytes(answered, archive)
    })
}

export const faults: ReadonlyArray<Fault> = [
  maxTokensCountsPrompt,
  coldTemperaturesRaised,
  topKOfOneIsOff,
  answersCachedBySeed,
  lastPromptScoreZero,
  forwardClearsGradient,
  advantagesCentred,
  equalDataMerged,
  outputsByLength,
  ratiosTruncated,
  customLossByName,
  loraSeedZeroRandom,
  fifthAdapterEvictsFirst,
  kindOfPathIgnored,
  deleteByPrefix,
  copyIsAlias,
  expiryNotEnforced,
  cancelledStaysPending,
  unloadKeepsModel,
  offsetInPages,
  metadataSearchMatchesAny,
  lastCheckpointIsFirst,
  sessionShowsOthersRuns,
  streamEndsWithStop,
  deltasTrimmed,
  firstPartOnly,
  unknownModelAnswered,
  stopSequenceAsEndTurn,
  rangeOneShort,
  archiveLacksLastFile
]
