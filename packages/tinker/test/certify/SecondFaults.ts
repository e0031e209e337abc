/** Faults of a server, written from the API alone, without knowledge of how certification looks for faults. */
import type { Loss, TinkerError } from "@effect-rl/core"
import {
  type AdamParams,
  type Datum,
  ModelInput,
  type Pending,
  type Sampling,
  type SamplingClient,
  type TrainingClient
} from "@effect-rl/core/backend"
import * as PassRequest from "@effect-rl/tinker/wire/PassRequest"
import { Effect, Exit, Option, Schema } from "effect"
import type { NonEmptyReadonlyArray } from "effect/Array"
import {
  adam,
  type Answered,
  type Asked,
  data,
  each,
  type Fault,
  fieldsOf,
  gradient,
  type Handler,
  json,
  losses,
  params,
  pathOf,
  sample,
  sequences,
  signalOf,
  training,
  withBody,
  without,
  withSignal
} from "./Fault.ts"

type Data<K extends Datum.Kind> = NonEmptyReadonlyArray<Datum.Datum<K>>

type Client = TrainingClient.TrainingClient

type Sampler = SamplingClient.SamplingClient

const seedZeroIsNone: Fault = {
  id: "seedZeroIsNone",
  sentence: "Seed 0 is taken for an unset seed, so that requests with it are not reproducible.",
  backend: params((params) => params.seed === 0 ? without(params, "seed") : params)
}

const seedsAsFloat32: Fault = {
  id: "seedsAsFloat32",
  sentence: "Seeds are kept as 32-bit floats: above 2^24 neighbouring seeds, also those of one request, are the same.",
  backend: sample((sample) => (request) => {
    const { numSamples = 1, params } = request
    const { seed } = params
    if (seed === undefined || numSamples < 1) return sample(request)
    const one = (index: number) =>
      sample({ ...request, numSamples: 1, params: { ...params, seed: Math.fround(seed + index) } })
    return Effect.flatMap(one(0), (first) =>
      Effect.map(
        Effect.forEach(Array.from({ length: numSamples - 1 }, (_, index) => index + 1), one),
        (others) => ({ ...first, sequences: [first, ...others].flatMap(({ sequences }) => sequences) })
      ))
  })
}

const samplesRepeatAfterEight: Fault = {
  id: "samplesRepeatAfterEight",
  sentence: "A request gets eight different samples at most: the ninth is the first again.",
  backend: sequences((sequence, _, index, all) => all[index % 8] ?? sequence)
}

const unseededAnswersRepeated: Fault = {
  id: "unseededAnswersRepeated",
  sentence: "A request without a seed that was answered before gets the samples of that answer again.",
  backend: sample((sample) => {
    const answers = new Map<string, Sampling.SampleResponse>()
    return (request) => {
      if (request.params.seed !== undefined) return sample(request)
      const key = JSON.stringify(request)
      const known = answers.get(key)
      return known === undefined
        ? Effect.tap(sample(request), (response) => Effect.sync(() => answers.set(key, response)))
        : Effect.succeed(known)
    }
  })
}

/** Maximum number of candidates that a backend lists. */
const mostListed = 20

const filteredLogprobs: Fault = {
  id: "filteredLogprobs",
  sentence: "With top_k from 1 to 20, log-probabilities are those among the tokens kept by top_k, not the model's own.",
  backend: sample((sample) => (request) => {
    const { topK = -1 } = request.params
    if (topK < 1 || topK > mostListed) return sample(request)
    return Effect.map(sample({ ...request, topkSampleLogprobs: mostListed }), (response) => ({
      ...response,
      sequences: response.sequences.map((sequence) => ({
        ...without(sequence, "topkLogprobs"),
        logprobs: sequence.logprobs.map((logprob, t) => {
          const kept = sequence.topkLogprobs?.[t]?.slice(0, topK) ?? []
          return Math.min(0, logprob - Math.log(kept.reduce((sum, { logprob }) => sum + Math.exp(logprob), 0)))
        })
      }))
    }))
  })
}

const tokensOf = ({ chunks }: ModelInput.ModelInput) =>
  chunks.flatMap((chunk) =>
    chunk._tag === "EncodedText"
      ? Array.from(chunk.tokens)
      : Array.from({ length: chunk.expectedTokens }, () => undefined)
  )

const topkHoldsOwnToken: Fault = {
  id: "topkHoldsOwnToken",
  sentence: "The most likely tokens at a prompt position end with the prompt's own token where it is not among them.",
  backend: sample((sample) => (request) => {
    const { promptLogprobs = false, prompt, topkPromptLogprobs = 0 } = request
    if (topkPromptLogprobs === 0) return sample(request)
    return Effect.map(sample({ ...request, promptLogprobs: true }), (response) => {
      const own = tokensOf(prompt)
      const lists = (response.topkPromptLogprobs ?? []).map((list, t) => {
        const [token, logprob] = [own[t], response.promptLogprobs?.[t]]
        if (list.length === 0 || token === undefined || logprob === undefined) return list
        return list.some((one) => one.token === token) ? list : [...list.slice(0, -1), { token, logprob }]
      })
      return { ...(promptLogprobs ? response : without(response, "promptLogprobs")), topkPromptLogprobs: lists }
    })
  })
}

const stopsAfterFourIgnored: Fault = {
  id: "stopsAfterFourIgnored",
  sentence: "Of a list of stops only the first four stop.",
  backend: params((params) => params.stop === undefined ? params : { ...params, stop: params.stop.slice(0, 4) })
}

const stopAtLimitIsLength: Fault = {
  id: "stopAtLimitIsLength",
  sentence: "A sequence whose stop is the last token that max_tokens allows is said to have ended at the limit.",
  backend: sequences((sequence, { params }) =>
    sequence.tokens.length === params.maxTokens ? { ...sequence, stopReason: "length" } : sequence
  )
}

const joined = (left: Float32Array, right: Float32Array) => Float32Array.of(...left, ...right)

const firstTokenNeverStops: Fault = {
  id: "firstTokenNeverStops",
  sentence: "The first token of a sequence does not stop it: an answer that is its stop alone goes on.",
  backend: sample((sample) => (request) => {
    const { params, prompt } = request
    const goOn = (sequence: Sampling.SampledTokens, index: number) => {
      const { logprobs, stopReason, tokens } = sequence
      if (stopReason !== "stop" || tokens.length > 1 || params.maxTokens === 1) return Effect.succeed(sequence)
      const more = {
        ...params,
        maxTokens: params.maxTokens - 1,
        ...(params.seed === undefined ? {} : { seed: params.seed + index })
      }
      return Effect.map(
        sample({ prompt: ModelInput.append(prompt, tokens), params: more }),
        ({ sequences: [rest] }) =>
          rest === undefined ? sequence : {
            ...rest,
            tokens: Int32Array.of(...tokens, ...rest.tokens),
            logprobs: joined(logprobs, rest.logprobs)
          }
      )
    }
    return Effect.flatMap(
      sample(request),
      (response) => Effect.map(Effect.forEach(response.sequences, goOn), (sequences) => ({ ...response, sequences }))
    )
  })
}

const Models = Schema.Struct({ supported_models: Schema.Array(Schema.Struct({ max_context_length: Schema.Number })) })

const Sizes = Schema.Struct({
  prompt: Schema.Struct({ chunks: Schema.Array(Schema.Struct({ tokens: Schema.Array(Schema.Number) })) }),
  sampling_params: Schema.Struct({ max_tokens: Schema.Number })
})

const get = (asked: Asked, path: string): Asked => ({ ...asked, method: "GET", path, body: new Uint8Array() })

const contextOffByOne: Fault = {
  id: "contextOffByOne",
  sentence: "A prompt and max_tokens that fill the context exactly are refused as too long.",
  wire: (handler) =>
    Effect.fnUntraced(function*(asked) {
      if (pathOf(asked) !== "/asample") return yield* handler(asked)
      const sizes = Schema.decodeUnknownOption(Sizes)(fieldsOf(asked))
      const models = Schema.decodeUnknownOption(Models)(
        fieldsOf(yield* handler(get(asked, "/api/v1/get_server_capabilities")))
      )
      if (Option.isNone(sizes) || Option.isNone(models)) return yield* handler(asked)
      const { prompt: { chunks }, sampling_params: { max_tokens } } = sizes.value
      const length = chunks.reduce((sum, { tokens }) => sum + tokens.length, max_tokens)
      return models.value.supported_models.some(({ max_context_length }) => length === max_context_length)
        ? json(400, { detail: `the prompt and max_tokens are ${length} tokens, which is more than the context` })
        : yield* handler(asked)
    })
}

const snapshotRingOfTwo: Fault = {
  id: "snapshotRingOfTwo",
  sentence:
    "A model has two places for weights to sample from: the third save replaces the weights of the first sampler.",
  backend: training((client) => {
    const places: [Sampler | undefined, Sampler | undefined] = [undefined, undefined]
    let saves = 0
    return {
      ...client,
      saveWeightsAndGetSamplingClient: Effect.gen(function*() {
        const own = yield* client.saveWeightsAndGetSamplingClient
        const place = saves++ % 2 === 0 ? 0 : 1
        places[place] = own
        yield* Effect.addFinalizer(() =>
          Effect.sync(() => {
            if (places[place] === own) places[place] = undefined
          })
        )
        return { ...own, sample: (request) => (places[place] ?? own).sample(request) } satisfies Sampler
      })
    }
  })
}

const referenceIsPolicy: Fault = {
  id: "referenceIsPolicy",
  sentence: "Once a model's weights are saved to be sampled, its base model is sampled with the adapter as well.",
  backend: (tinker) => {
    const adapted = new Map<string, Sampler>()
    return {
      ...training((client) => ({
        ...client,
        saveWeightsAndGetSamplingClient: Effect.gen(function*() {
          const { baseModel } = client.info
          const sampler = yield* client.saveWeightsAndGetSamplingClient
          adapted.set(baseModel, sampler)
          yield* Effect.addFinalizer(() =>
            Effect.sync(() => {
              if (adapted.get(baseModel) === sampler) adapted.delete(baseModel)
            })
          )
          return sampler
        })
      }))(tinker),
      createSamplingClient: (from) =>
        Effect.map(tinker.createSamplingClient(from), (own) =>
          "baseModel" in from
            ? { ...own, sample: (request) => (adapted.get(from.baseModel) ?? own).sample(request) }
            : own)
    }
  }
}

/** Tokens per cache page. */
const page = 32

const promptsKeepOldWeights: Fault = {
  id: "promptsKeepOldWeights",
  sentence:
    "The cache of prompts survives an update: one of 32 tokens or more is still read with the weights of its first use.",
  backend: training((client) => {
    const readers = new Map<string, Sampler>()
    return {
      ...client,
      saveWeightsAndGetSamplingClient: Effect.gen(function*() {
        const own = yield* client.saveWeightsAndGetSamplingClient
        yield* Effect.addFinalizer(() =>
          Effect.sync(() => {
            for (const [key, reader] of readers) if (reader === own) readers.delete(key)
          })
        )
        return {
          ...own,
          sample: (request) => {
            const { prompt } = request
            if (prompt.length < page) return own.sample(request)
            const key = JSON.stringify(tokensOf(prompt))
            const reader = readers.get(key) ?? own
            readers.set(key, reader)
            return reader.sample(request)
          }
        } satisfies Sampler
      })
    }
  })
}

const textOf = ({ body }: Asked) => new TextDecoder().decode(body)

const samplesSharedAcrossSessions: Fault = {
  id: "samplesSharedAcrossSessions",
  sentence: "The same request under the same number to another sampling session gets the samples of the first session.",
  wire: (handler) => {
    const promises = new Map<string, Answered>()
    return Effect.fnUntraced(function*(asked) {
      const { sampling_session_id: session, seq_id: number } = fieldsOf(asked)
      if (pathOf(asked) !== "/asample" || session === undefined || number === undefined) return yield* handler(asked)
      const key = textOf(asked).replaceAll(JSON.stringify(session), "")
      const answered = promises.get(key) ?? (yield* handler(asked))
      if (answered.status === 200) promises.set(key, answered)
      return answered
    })
  }
}

const samplingSessionsShared: Fault = {
  id: "samplingSessionsShared",
  sentence:
    "A sampling session of a checkpoint is known by its number alone, also to a session that asks for other weights.",
  wire: (handler) => {
    const sessions = new Map<unknown, Answered>()
    const isOpen = (asked: Asked, answered: Answered) =>
      Effect.map(
        handler(get(asked, `/api/v1/samplers/${String(fieldsOf(answered)["sampling_session_id"])}`)),
        ({ status }) => status === 200
      )
    return Effect.fnUntraced(function*(asked) {
      const { model_path, sampling_session_seq_id: number } = fieldsOf(asked)
      if (pathOf(asked) !== "/create_sampling_session" || typeof model_path !== "string") return yield* handler(asked)
      const known = sessions.get(number)
      if (known !== undefined && (yield* isOpen(asked, known))) return known
      const answered = yield* handler(asked)
      if (answered.status === 200) sessions.set(number, answered)
      return answered
    })
  }
}

const remainderDropped: Fault = {
  id: "remainderDropped",
  sentence: "Of more than eight data, those beyond the last multiple of eight are reported but have no gradient.",
  backend: gradient(([first, ...others]) => {
    const length = others.length + 1
    return length > 8 ? [first, ...others.slice(0, length - length % 8 - 1)] : [first, ...others]
  })
}

const ratiosTruncated: Fault = {
  id: "ratiosTruncated",
  sentence:
    "The gradient of importance_sampling holds ratios at 2 or below, while the loss is reported without the limit.",
  backend: training((client) => ({
    ...client,
    forwardBackward: Effect.fnUntraced(function*(data, loss, options) {
      if (loss.name !== "importance_sampling") return yield* client.forwardBackward(data, loss, options)
      const reported = yield* client.forward(data, loss)
      const truncated: typeof loss = {
        ...loss,
        name: "cispo",
        config: { clip_low_threshold: 0, clip_high_threshold: 2 }
      }
      const pass = yield* client.forwardBackward(data, truncated, options)
      return { await: Effect.andThen(pass.await, reported.await) }
    })
  }))
}

const lossConfigCached: Fault = {
  id: "lossConfigCached",
  sentence:
    "A loss is compiled once, with the settings of its first pass: later passes with other settings do not get them.",
  backend: (tinker) => {
    const compiled = new Map<string, Loss.Loss<Datum.Kind>["config"]>()
    return losses((loss) => {
      const config = compiled.get(loss.name) ?? loss.config
      compiled.set(loss.name, config)
      return { ...loss, config }
    })(tinker)
  }
}

/** The positions of one chunk as a separate datum. */
const part = <K extends Datum.Kind>(datum: Datum.Datum<K>, chunk: ModelInput.Chunk, from: number): Datum.Datum<K> => {
  const inputs: Datum.Inputs[Datum.Kind] = datum.inputs
  const candidates = "candidates" in inputs ? inputs.candidates : 1
  const modelInput = ModelInput.fromChunks([chunk])
  const [start, end] = [candidates * from, candidates * (from + modelInput.length)]
  return {
    ...without(datum, "provenance"),
    modelInput,
    inputs: {
      ...datum.inputs,
      targetTokens: inputs.targetTokens.slice(start, end),
      ...("advantages" in inputs
        ? {
          advantages: inputs.advantages.slice(start, end),
          logprobs: inputs.logprobs.slice(start, end),
          mask: inputs.mask.slice(start, end)
        }
        : { weights: inputs.weights.slice(start, end) })
    }
  }
}

const parts = <K extends Datum.Kind>(datum: Datum.Datum<K>): Data<K> => {
  const { chunks, length } = datum.modelInput
  const isWhole = signalOf(datum).length === length && chunks.every(({ _tag }) => _tag === "EncodedText")
  const [first, ...others] = isWhole && chunks.length > 1
    ? chunks.map((chunk, index) => part(datum, chunk, ModelInput.fromChunks(chunks.slice(0, index)).length))
    : [datum]
  return [first ?? datum, ...others]
}

const chunksApart: Fault = {
  id: "chunksApart",
  sentence: "In training passes each chunk of text is read as a sequence of its own, without the chunks before it.",
  backend: training((client) => {
    const around = <K extends Datum.Kind>(
      [first, ...others]: Data<K>,
      pass: (data: Data<K>) => ReturnType<Client["forward"]>
    ) => {
      const split: NonEmptyReadonlyArray<Data<K>> = [parts(first), ...others.map(parts)]
      const [[head, ...tail], ...rest] = split
      return Effect.map(pass([head, ...tail, ...rest.flat()]), (pending): Pending.Pending<
        TrainingClient.ForwardBackwardOutput
      > => ({
        await: Effect.map(pending.await, (output) => {
          let at = 0
          const logprobs = split.map(({ length }) => {
            const own = output.logprobs.slice(at, at + length)
            at += length
            return own.reduce(joined, new Float32Array())
          })
          return { ...output, logprobs }
        })
      }))
    }
    return {
      ...client,
      forward: (data, loss) => around(data, (data) => client.forward(data, loss)),
      forwardBackward: (data, loss, options) => around(data, (data) => client.forwardBackward(data, loss, options))
    }
  })
}

const refusedPassCounts: Fault = {
  id: "refusedPassCounts",
  sentence: "A pass that is refused for one of its data leaves the gradient of the data before it.",
  backend: training((client) => ({
    ...client,
    forwardBackward: (data, loss, options) =>
      Effect.catch(client.forwardBackward(data, loss, options), (error) =>
        Effect.gen(function*() {
          const [first, ...others] = data
          for (let kept = others.length - 1; kept >= 0; kept--) {
            const accepted = yield* Effect.exit(
              client.forwardBackward([first, ...others.slice(0, kept)], loss, options)
            )
            if (Exit.isFailure(accepted)) continue
            yield* Effect.exit(accepted.value.await)
            break
          }
          return yield* Effect.fail(error)
        }))
  }))
}

/** The values rounded to 8 bits of precision, ties to even. */
const bfloat16 = (values: Float32Array) =>
  new Float32Array(
    new Uint32Array(values.slice().buffer).map((bits) => (bits + 0x7fff + (bits >>> 16 & 1) & 0xffff0000) >>> 0).buffer
  )

const signalsInBfloat16: Fault = {
  id: "signalsInBfloat16",
  sentence:
    "Weights, advantages and the sampler's log-probabilities are rounded to bfloat16 before the loss reads them.",
  backend: data((data) =>
    each(data, (datum) => {
      const rounded = bfloat16(signalOf(datum))
      const inputs: Datum.Inputs[Datum.Kind] = datum.inputs
      const signal = withSignal(datum, (value, t) => rounded[t] ?? value)
      return "logprobs" in inputs
        ? { ...signal, inputs: { ...signal.inputs, logprobs: bfloat16(inputs.logprobs) } }
        : signal
    })
  )
}

type Passed = Effect.Success<ReturnType<Client["forwardBackward"]>>

interface Recorded {
  readonly owner: Client
  readonly on: (client: Client) => Effect.Effect<Passed, TinkerError.TinkerError>
}

const sharedGradient: Fault = {
  id: "sharedGradient",
  sentence:
    "All models of one base model add to one gradient: a step of one uses what passes of the others have left there.",
  backend: (tinker) => {
    const gradients = new Map<string, ReadonlyArray<Recorded>>()
    return training((client) => {
      const { baseModel } = client.info
      const recorded = () => gradients.get(baseModel) ?? []
      const forget = Effect.sync(() => gradients.set(baseModel, recorded().filter(({ owner }) => owner !== client)))
      return {
        ...client,
        forwardBackward: Effect.fnUntraced(function*(data, loss, options) {
          const reported = yield* client.forward(data, loss)
          const on = (other: Client) => other.forwardBackward(data, loss, options)
          gradients.set(baseModel, [...recorded(), { owner: client, on }])
          return reported
        }),
        optimStep: Effect.fnUntraced(function*(params) {
          const passes = recorded()
          gradients.delete(baseModel)
          const added = yield* Effect.forEach(passes, ({ on }) => on(client))
          const step = yield* client.optimStep(params)
          return { await: Effect.andThen(Effect.forEach(added, (pass) => pass.await), step.await) }
        }),
        loadState: (path, options) => Effect.andThen(forget, client.loadState(path, options)),
        unload: Effect.andThen(forget, client.unload)
      }
    })(tinker)
  }
}

const weightDecayOutsideRate: Fault = {
  id: "weightDecayOutsideRate",
  sentence: "Weight decay is not multiplied by the learning rate: each step takes weight_decay of the weights.",
  backend: adam((params) =>
    params.weightDecay !== undefined && params.learningRate > 0
      ? { ...params, weightDecay: params.weightDecay / params.learningRate }
      : params
  )
}

const betasOfFirstStep: Fault = {
  id: "betasOfFirstStep",
  sentence:
    "A model's optimizer is made at its first step: later steps change the learning rate, but no betas, eps or decay.",
  backend: training((client) => {
    let first: Omit<AdamParams.AdamParams, "learningRate" | "gradClipNorm"> | undefined
    return {
      ...client,
      optimStep: (params) => {
        const own = without(params, "learningRate", "gradClipNorm")
        const kept = first ?? own
        return Effect.tap(
          client.optimStep({ ...without(params, "beta1", "beta2", "eps", "weightDecay"), ...kept }),
          () =>
            Effect.sync(() => {
              first = kept
            })
        )
      }
    }
  })
}

/** The factor by which Adam's update changes if moments after `steps` steps are treated as moments after `counted` steps. */
const miscounted = ({ beta1 = 0.9, beta2 = 0.95 }: AdamParams.AdamParams, steps: number, counted: number) =>
  (1 - beta1 ** steps) / (1 - beta1 ** counted) * Math.sqrt((1 - beta2 ** counted) / (1 - beta2 ** steps))

const stepCountForgotten: Fault = {
  id: "stepCountForgotten",
  sentence: "A state is loaded with Adam's moments but not with the count of their steps, which begins again at 0.",
  backend: (tinker) => {
    const saved = new Map<string, number>()
    /** Counts the steps of a client; `before` is the number of steps that its loaded moments have already taken. */
    const counting = (client: Client, before: number): Client => {
      let [steps, counted] = [before, 0]
      return {
        ...client,
        optimStep: (params) => {
          steps++
          counted++
          if (steps === counted) return client.optimStep(params)
          const factor = miscounted(params, steps, counted)
          return client.optimStep({
            ...params,
            learningRate: params.learningRate * factor,
            weightDecay: (params.weightDecay ?? 0) / factor
          })
        },
        saveState: (name, options) => {
          const now = steps
          return Effect.map(client.saveState(name, options), (pending) => ({
            await: Effect.tap(pending.await, ({ path }) => Effect.sync(() => saved.set(path, now)))
          }))
        },
        loadState: (path, options) =>
          Effect.tap(client.loadState(path, options), () =>
            Effect.sync(() => {
              steps = options?.optimizer === true ? saved.get(path) ?? 0 : 0
              counted = 0
            }))
      }
    }
    return {
      ...tinker,
      createLoraTrainingClient: (options) =>
        Effect.map(tinker.createLoraTrainingClient(options), (client) => counting(client, 0)),
      createTrainingClientFromState: (path, options) =>
        Effect.map(
          tinker.createTrainingClientFromState(path, options),
          (client) => counting(client, saved.get(path) ?? 0)
        )
    }
  }
}

const overwriteKeepsOld: Fault = {
  id: "overwriteKeepsOld",
  sentence:
    "A state that is saved again with overwrite keeps its first weights, and the save is said to have succeeded.",
  backend: training((client, tinker) => {
    const saved = new Map<string, TrainingClient.Checkpoint>()
    const isThere = ({ path }: TrainingClient.Checkpoint) =>
      Effect.isSuccess(Effect.scoped(tinker.createSamplingClient({ modelPath: path })))
    return {
      ...client,
      saveState: Effect.fnUntraced(function*(name, options) {
        const known = saved.get(name)
        if (known !== undefined && (yield* isThere(known))) return { await: Effect.succeed(known) }
        const pending = yield* client.saveState(name, options)
        return { await: Effect.tap(pending.await, (checkpoint) => Effect.sync(() => saved.set(name, checkpoint))) }
      })
    }
  })
}

/** A training request with another sequence number; other requests are unchanged. */
const renumbered = Effect.fnUntraced(function*(asked: Asked, numberOf: (model: unknown, number: number) => number) {
  if (asked.headers["content-type"]?.includes("protobuf") === true) {
    const request = yield* Effect.option(PassRequest.decode(asked.body))
    if (Option.isNone(request) || request.value.seqId === 0) return asked
    request.value.seqId = numberOf(request.value.modelId, request.value.seqId)
    const body = PassRequest.encode(request.value)
    return { ...asked, headers: { ...asked.headers, "content-length": String(body.length) }, body }
  }
  const fields = fieldsOf(asked)
  const { model_id, seq_id } = fields
  return typeof seq_id === "number" && seq_id > 0
    ? withBody(asked, { ...fields, seq_id: numberOf(model_id, seq_id) })
    : asked
})

const ordered = /^\/(forward|forward_backward|optim_step|save_weights|save_weights_for_sampler|load_weights)$/

const arrivalOrder: Fault = {
  id: "arrivalOrder",
  sentence: "A model's requests run in the order in which they arrive, not in that of their numbers.",
  wire: (handler) => {
    const arrived = new Map<unknown, Map<number, number>>()
    const numberOf = (model: unknown, number: number) => {
      const numbers = arrived.get(model) ?? new Map<number, number>()
      arrived.set(model, numbers)
      const place = numbers.get(number) ?? numbers.size + 1
      numbers.set(number, place)
      return place
    }
    return (asked) =>
      ordered.test(pathOf(asked)) ? Effect.flatMap(renumbered(asked, numberOf), handler) : handler(asked)
  }
}

const retriedSnapshotConflicts: Fault = {
  id: "retriedSnapshotConflicts",
  sentence:
    "A save for sampling sent again, with its number and a new one for the sampling session as clients do, is a conflict.",
  wire: (handler) => {
    const first = new Map<string, unknown>()
    return Effect.fnUntraced(function*(asked) {
      const { model_id, path = null, sampling_session_seq_id: sampler, seq_id } = fieldsOf(asked)
      if (pathOf(asked) !== "/save_weights_for_sampler" || path !== null) return yield* handler(asked)
      const key = JSON.stringify([model_id, seq_id])
      if (first.has(key) && first.get(key) !== sampler) {
        return json(409, { detail: `seq_id ${String(seq_id)} was used for another request` })
      }
      const answered = yield* handler(asked)
      if (answered.status === 200) first.set(key, sampler)
      return answered
    })
  }
}

const Page = Schema.Struct({ offset: Schema.Number, limit: Schema.Number, total_count: Schema.Number })

/** The default page size of a listing. */
const usual = (path: string) => path === "/checkpoints" ? 100 : 20

const offsetCountsPages: Fault = {
  id: "offsetCountsPages",
  sentence: "The offset of a listing counts pages of its limit, not items.",
  wire: (handler) =>
    Effect.fnUntraced(function*(asked) {
      const url = new URL(asked.path, "http://localhost")
      const offset = Number(url.searchParams.get("offset") ?? 0)
      const limit = Number(url.searchParams.get("limit") ?? usual(pathOf(asked)))
      const isListing = asked.method === "GET" &&
        ["/training_runs", "/checkpoints", "/sessions"].includes(pathOf(asked))
      if (!isListing || !(offset > 0 && limit > 0)) return yield* handler(asked)
      url.searchParams.set("offset", String(offset * limit))
      const answered = yield* handler({ ...asked, path: `${url.pathname}${url.search}` })
      const fields = fieldsOf(answered)
      const cursor = Schema.decodeUnknownOption(Page)(fields["cursor"])
      return Option.isNone(cursor) ? answered : withBody(answered, { ...fields, cursor: { ...cursor.value, offset } })
    })
}

const ttlNeverRemoved: Fault = {
  id: "ttlNeverRemoved",
  sentence: "A checkpoint whose lifetime is taken away, with a ttl of null, expires all the same.",
  wire: (handler: Handler) => (asked) =>
    asked.method === "PUT" && pathOf(asked).endsWith("/ttl") && fieldsOf(asked)["ttl_seconds"] === null
      ? Effect.succeed(json(200, {}))
      : handler(asked)
}

export const faults: ReadonlyArray<Fault> = [
  seedZeroIsNone,
  seedsAsFloat32,
  samplesRepeatAfterEight,
  unseededAnswersRepeated,
  filteredLogprobs,
  topkHoldsOwnToken,
  stopsAfterFourIgnored,
  stopAtLimitIsLength,
  firstTokenNeverStops,
  contextOffByOne,
  snapshotRingOfTwo,
  referenceIsPolicy,
  promptsKeepOldWeights,
  samplesSharedAcrossSessions,
  samplingSessionsShared,
  remainderDropped,
  ratiosTruncated,
  lossConfigCached,
  chunksApart,
  refusedPassCounts,
  signalsInBfloat16,
  sharedGradient,
  weightDecayOutsideRate,
  betasOfFirstStep,
  stepCountForgotten,
  overwriteKeepsOld,
  arrivalOrder,
  retriedSnapshotConflicts,
  offsetCountsPages,
  ttlNeverRemoved
]
