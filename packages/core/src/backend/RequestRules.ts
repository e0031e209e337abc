/**
 * Rules for requests to every backend. Each violation names the field, its value and what is expected.
 *
 * @example
 * RequestRules.sample({ prompt, params: { maxTokens: 64 } }, { capabilities, vocabulary: 32_000 })
 */
import * as Effect from "effect/Effect"
import { type AdamParams, defaults } from "../model/AdamParams.ts"
import type * as Datum from "../model/Datum.ts"
import * as Grammar from "../model/Grammar.ts"
import type * as Loss from "../model/Loss.ts"
import type * as ModelInput from "../model/ModelInput.ts"
import type * as Sampling from "../model/Sampling.ts"
import type { Capabilities } from "./Capabilities.ts"
import { ContextTooLong, type Reason, Rejected, Unsupported } from "./TinkerError.ts"
import type { GraphDatum } from "./TrainingClient.ts"

/** The limits of a model. Token ids must be below `vocabulary`. */
export interface Limits {
  readonly capabilities: Capabilities
  readonly vocabulary: number
}

/** Empty if the rule holds, otherwise one line per violation. */
type Found = ReadonlyArray<string>

type Checked = Effect.Effect<void, Reason>

const every = (
  field: string,
  values: ArrayLike<number>,
  holds: (value: number, index: number) => boolean,
  expected: string
): Found => {
  for (let index = 0; index < values.length; index++) {
    const value = values[index] ?? NaN
    if (!holds(value, index)) return [`${field}[${index}] is ${value}, expected ${expected}`]
  }
  return []
}

const one = (field: string, value: unknown, holds: boolean, expected: string): Found =>
  holds ? [] : [`${field} is ${value}, expected ${expected}`]

const length = (field: string, values: ArrayLike<number>, expected: number): Found =>
  values.length === expected ? [] : [`${field} has ${values.length} values, expected ${expected}`]

const isCount = (value: number) => Number.isSafeInteger(value) && value > 0

const isSize = (value: number) => value >= 0 && value < Infinity

const isToken = (value: number, vocabulary: number) => Number.isInteger(value) && value >= 0 && value < vocabulary

const tokenId = (vocabulary: number) => `a token id from 0 to ${vocabulary - 1}`

const tokens = (field: string, values: ArrayLike<number>, vocabulary: number) =>
  every(field, values, (token) => isToken(token, vocabulary), tokenId(vocabulary))

const input = (field: string, value: ModelInput.ModelInput, vocabulary: number): Found => [
  ...one(`${field}.length`, value.length, value.length > 0, "at least 1"),
  ...value.chunks.flatMap((chunk, index) =>
    chunk._tag === "Image" ? [] : tokens(`${field}.chunks[${index}].tokens`, chunk.tokens, vocabulary)
  )
]

const weighted = (field: string, inputs: Datum.Inputs["WeightedTokens"], size: number): Found => [
  ...length(`${field}.weights`, inputs.weights, size),
  ...every(`${field}.weights`, inputs.weights, Number.isFinite, "a finite number")
]

const policy = (field: string, inputs: Datum.Inputs["PolicyTokens"], size: number): Found => {
  const { advantages, logprobs, mask } = inputs
  const isMasked = (at: number) => mask[at] === 0
  return [
    ...length(`${field}.logprobs`, logprobs, size),
    ...length(`${field}.advantages`, advantages, size),
    ...length(`${field}.mask`, mask, size),
    ...every(`${field}.mask`, mask, Number.isFinite, "a finite number"),
    ...every(`${field}.advantages`, advantages, Number.isFinite, "a finite number"),
    ...every(`${field}.advantages`, advantages, (value, at) => value === 0 || !isMasked(at), "0 where the mask is 0"),
    ...every(
      `${field}.logprobs`,
      logprobs,
      (value, at) => Number.isFinite(value) || isMasked(at),
      "a number where the mask is not 0"
    )
  ]
}

const extraInput = (field: string, value: unknown, mask: Float32Array): Found =>
  value instanceof Float32Array
    ? [
      ...length(field, value, mask.length),
      ...every(field, value, (one, at) => Number.isFinite(one) || mask[at] === 0, "a number where the mask is not 0")
    ]
    : one(field, value, Number.isFinite(value), "a finite number")

/** Checks the inputs of policy losses, including those that only some losses read, independently of the model. */
export const policyData = (
  data: ReadonlyArray<Datum.Datum<"PolicyTokens"> & { readonly extras?: object }>
): Checked =>
  Effect.suspend(() =>
    reject(data.flatMap(({ extras = {}, inputs, modelInput }, index) => [
      ...policy(`data[${index}].inputs`, inputs, modelInput.length),
      ...Object.entries(extras).flatMap(([name, value]) =>
        extraInput(`data[${index}].extras.${name}`, value, inputs.mask)
      )
    ]))
  )

/** The kind of a datum, inferred from its inputs so that untyped data work as well. */
const kindOf = (inputs: Datum.Inputs[Datum.Kind]): Datum.Kind =>
  "advantages" in inputs ? "PolicyTokens" : "candidates" in inputs ? "WeightedCandidates" : "WeightedTokens"

const targets = (at: string, targetTokens: Int32Array, size: number, vocabulary: number): Found => [
  ...length(`${at}.targetTokens`, targetTokens, size),
  ...tokens(`${at}.targetTokens`, targetTokens, vocabulary)
]

const datum = (
  { inputs, modelInput }: Datum.Datum<Datum.Kind>,
  at: string,
  loss: Loss.Loss<Datum.Kind>,
  vocabulary: number
): Found => {
  const candidates = "candidates" in inputs ? inputs.candidates : 1
  const size = modelInput.length * candidates
  return [
    ...one(`${at}.inputs`, kindOf(inputs), kindOf(inputs) === loss.kind, `${loss.kind}, which ${loss.name} reads`),
    ...input(`${at}.modelInput`, modelInput, vocabulary),
    ...one(`${at}.inputs.candidates`, candidates, isCount(candidates), "a whole number above 0"),
    ...targets(`${at}.inputs`, inputs.targetTokens, size, vocabulary),
    ...("weights" in inputs ? weighted(`${at}.inputs`, inputs, size) : policy(`${at}.inputs`, inputs, size))
  ]
}

const configKeys: Record<Loss.Name, ReadonlyArray<string>> = {
  cross_entropy: [],
  importance_sampling: [],
  ppo: ["clip_low_threshold", "clip_high_threshold"],
  cispo: ["clip_low_threshold", "clip_high_threshold"],
  dro: ["beta"],
  gspo: ["clip_low_threshold", "clip_high_threshold"],
  stable_reinforce: ["kl_coeff"]
}

/** The losses that every backend supports. */
const everywhere: ReadonlyArray<Loss.Name> = ["cross_entropy", "importance_sampling", "ppo", "cispo", "dro", "gspo"]

/** Checks that the model supports the named loss. */
export const lossName = ({ name }: Loss.Loss<Datum.Kind>, { losses = [] }: Capabilities): Checked =>
  everywhere.includes(name) || losses.includes(name)
    ? Effect.void
    : Effect.fail(
      new Unsupported({
        capability: "loss",
        detail: `${name} is not computed for this model, expected one of ${[...everywhere, ...losses].join(", ")}`
      })
    )

/** Checks that the spans are valid and cover `expected` positions of `field` in total. */
const covered = (field: string, spans: ReadonlyArray<Datum.Span>, expected: number): Found => [
  ...spans.flatMap(({ length, offset, sequenceId }, index) => [
    ...one(`${field}[${index}].sequenceId`, "empty", sequenceId !== "", "text"),
    ...one(`${field}[${index}].offset`, offset, Number.isSafeInteger(offset) && offset >= 0, "at least 0"),
    ...one(`${field}[${index}].length`, length, Number.isSafeInteger(length) && length >= 0, "at least 0")
  ]),
  ...one(
    `${field} covers`,
    spans.reduce((sum, { length }) => sum + length, 0),
    spans.reduce((sum, { length }) => sum + length, 0) === expected,
    `${expected} positions`
  )
]

const provenance = (
  { modelInput, provenance: given }: Datum.Datum<Datum.Kind>,
  at: string,
  { name }: Loss.Loss<Datum.Kind>
): Found => {
  if (given === undefined) {
    return one(`${at}.provenance`, given, name !== "stable_reinforce", `the sampled sequences, which ${name} reads`)
  }
  return [
    ...covered(`${at}.provenance.modelInput`, given.modelInput, modelInput.length),
    ...covered(`${at}.provenance.targets`, given.targets, modelInput.length)
  ]
}

const lossConfig = ({ config, name }: Loss.Loss<Datum.Kind>): Found => {
  const expected = configKeys[name]
  const keys = expected.length === 0 ? "no configuration" : expected.join(", ")
  return [
    ...Object.keys(config).flatMap((key) => one(`${name} config`, key, expected.includes(key), keys)),
    ...expected.flatMap((key) =>
      one(`${name} config ${key}`, config[key], Number.isFinite(config[key]), "a finite number")
    )
  ]
}

const reject = (found: Found): Checked =>
  found.length === 0 ? Effect.void : Effect.fail(new Rejected({ detail: found.join("; ") }))

const fits = (promptTokens: number, maxTokens: number, { contextLength }: Capabilities): Checked =>
  promptTokens + maxTokens <= contextLength
    ? Effect.void
    : Effect.fail(new ContextTooLong({ promptTokens, maxTokens, contextLength }))

const someData = ({ length }: ReadonlyArray<unknown>) => one("data.length", length, length > 0, "at least 1")

const allFit = (data: ReadonlyArray<Pick<GraphDatum, "modelInput">>, capabilities: Capabilities): Checked =>
  Effect.forEach(data, ({ modelInput }) => fits(modelInput.length, 0, capabilities), { discard: true })

/**
 * Checks that the model supports the loss and its configuration, and that the data fit the context and the vocabulary, have matching
 * lengths, finite values where the loss reads them, advantages only where the mask is not 0, and valid provenance.
 */
export const pass = (
  data: ReadonlyArray<Datum.Datum<Datum.Kind>>,
  loss: Loss.Loss<Datum.Kind>,
  { capabilities, vocabulary }: Limits
): Checked =>
  lossName(loss, capabilities).pipe(
    Effect.andThen(allFit(data, capabilities)),
    Effect.andThen(Effect.suspend(() =>
      reject([
        ...someData(data),
        ...lossConfig(loss),
        ...data.flatMap((one, index) => [
          ...datum(one, `data[${index}]`, loss, vocabulary),
          ...provenance(one, `data[${index}]`, loss)
        ])
      ])
    ))
  )

/**
 * Checks that the data of a loss graph fit the context and the vocabulary. `LossGraphPass.check` checks the inputs that the graph reads.
 */
export const graphPass = (data: ReadonlyArray<GraphDatum>, { capabilities, vocabulary }: Limits): Checked =>
  Effect.andThen(
    allFit(data, capabilities),
    Effect.suspend(() =>
      reject([
        ...someData(data),
        ...data.flatMap(({ modelInput, targetTokens }, index) => [
          ...input(`data[${index}].modelInput`, modelInput, vocabulary),
          ...targets(`data[${index}]`, targetTokens, modelInput.length, vocabulary)
        ])
      ])
    )
  )

/** Fills in the service's defaults and checks the parameters: none may be negative, betas must be below 1 and eps above 0. */
export const adam = (params: AdamParams): Effect.Effect<Required<AdamParams>, Reason> => {
  const all = { ...defaults, ...params }
  const { beta1, beta2, eps, gradClipNorm, learningRate, weightDecay } = all
  const found = [
    ...one("learningRate", learningRate, isSize(learningRate), "a finite number of at least 0"),
    ...one("beta1", beta1, beta1 >= 0 && beta1 < 1, "from 0 to below 1"),
    ...one("beta2", beta2, beta2 >= 0 && beta2 < 1, "from 0 to below 1"),
    ...one("eps", eps, eps > 0 && isSize(eps), "a finite number above 0"),
    ...one("weightDecay", weightDecay, isSize(weightDecay), "a finite number of at least 0"),
    ...one("gradClipNorm", gradClipNorm, isSize(gradClipNorm), "a finite number of at least 0")
  ]
  return Effect.as(reject(found), all)
}

const stops = (stop: Sampling.Stop, vocabulary: number): Found =>
  Array.from<string | number>(stop).flatMap((value, index) =>
    typeof value === "string"
      ? one(`params.stop[${index}]`, "empty", value !== "", "text")
      : one(`params.stop[${index}]`, value, isToken(value, vocabulary), tokenId(vocabulary))
  )

const samplingParams = (params: Sampling.SamplingParams, vocabulary: number): Found => {
  const { maxTokens, seed, stop = [], temperature = 1, topK = -1, topP = 1 } = params
  return [
    ...one("params.maxTokens", maxTokens, isCount(maxTokens), "a whole number above 0"),
    ...one("params.temperature", temperature, isSize(temperature), "a finite number of at least 0"),
    ...one("params.topP", topP, topP > 0 && topP <= 1, "above 0 and at most 1"),
    ...one("params.topK", topK, Number.isSafeInteger(topK), "a whole number"),
    ...one("params.seed", seed, seed === undefined || Number.isSafeInteger(seed), "a whole number"),
    ...stops(stop, vocabulary)
  ]
}

const isAsked = (value: Sampling.SampleRequest[Sampling.Extra]) => value !== undefined && value !== 0 && value !== false

/** The first field of the request that this model does not support; undefined if it supports all. */
const missingExtra = (request: Sampling.SampleRequest, { sampling = [] }: Capabilities) => {
  const {
    grammar,
    promptAltTokens,
    promptLogprobsLastN,
    recordStabilityInfo,
    targetPromptLogprobs,
    topkSampleLogprobs
  } = request
  const asked: Record<Sampling.Extra, Sampling.SampleRequest[Sampling.Extra]> = {
    topkSampleLogprobs,
    targetPromptLogprobs,
    promptAltTokens,
    promptLogprobsLastN,
    recordStabilityInfo,
    grammar
  }
  const have: ReadonlyArray<string> = sampling
  return Object.entries(asked).find(([name, value]) => isAsked(value) && !have.includes(name))?.[0]
}

const supported = (request: Sampling.SampleRequest, capabilities: Capabilities): Checked => {
  const { topkPromptLogprobs: most } = capabilities
  const tooMany = (["topkPromptLogprobs", "topkSampleLogprobs"] as const).find((name) => (request[name] ?? 0) > most)
  const missing = missingExtra(request, capabilities)
  if (missing !== undefined) {
    return Effect.fail(new Unsupported({ capability: missing, detail: "this model does not have it" }))
  }
  if (request.promptLogprobs === true && !capabilities.promptLogprobs) {
    return Effect.fail(new Unsupported({ capability: "promptLogprobs", detail: "this model does not give them" }))
  }
  return tooMany === undefined
    ? Effect.void
    : Effect.fail(new Unsupported({ capability: tooMany, detail: `${request[tooMany]} asked for, at most ${most}` }))
}

const promptTargets = (
  { prompt, targetPromptLogprobs: targets }: Sampling.SampleRequest,
  vocabulary: number
): Found =>
  targets === undefined ? [] : [
    ...one("targetPromptLogprobs.candidates", targets.candidates, isCount(targets.candidates), "above 0"),
    ...length("targetPromptLogprobs.tokens", targets.tokens, (prompt.length - 1) * targets.candidates),
    ...every(
      "targetPromptLogprobs.tokens",
      targets.tokens,
      (token) => token === -1 || isToken(token, vocabulary),
      `-1 or ${tokenId(vocabulary)}`
    )
  ]

/** `promptLogprobsLastN` is valid only if the request asks for prompt log-probabilities. */
const lastN = ({ prompt, promptLogprobs, promptLogprobsLastN: last }: Sampling.SampleRequest): Found =>
  last === undefined ? [] : [
    ...one("promptLogprobs", promptLogprobs, promptLogprobs === true, "true where promptLogprobsLastN is given"),
    ...one("promptLogprobsLastN", last, isCount(last) && last < prompt.length, `1 to ${prompt.length - 1}`)
  ]

const topk = (field: string, count = 0): Found =>
  one(field, count, count === 0 || isCount(count), "a whole number of at least 0")

/** Checks that the schema can be enforced exactly, and that the request's `stop` is not an empty list. */
const grammar = ({ grammar, params: { stop } }: Sampling.SampleRequest): Found => {
  if (grammar === undefined) return []
  const { calls, jsonSchema } = grammar
  const problem = calls === undefined ? Grammar.problem(jsonSchema) : Grammar.callsProblem(jsonSchema, calls)
  return [
    ...problem === undefined ? [] : [`grammar.jsonSchema: ${problem}`],
    ...one("params.stop", "empty", stop?.length !== 0, "a stop where there is a grammar")
  ]
}

/** Checks that the model can answer the prompt with these parameters, within its context and capabilities. */
export const sample = (request: Sampling.SampleRequest, { capabilities, vocabulary }: Limits): Checked => {
  const { numSamples = 1, params, prompt } = request
  return reject([
    ...input("prompt", prompt, vocabulary),
    ...samplingParams(params, vocabulary),
    ...one("numSamples", numSamples, isCount(numSamples), "a whole number above 0"),
    ...topk("topkPromptLogprobs", request.topkPromptLogprobs),
    ...topk("topkSampleLogprobs", request.topkSampleLogprobs),
    ...promptTargets(request, vocabulary),
    ...lastN(request),
    ...grammar(request)
  ]).pipe(
    Effect.andThen(supported(request, capabilities)),
    Effect.andThen(fits(prompt.length, params.maxTokens, capabilities))
  )
}

/** Checks that the model can compute the log-probabilities of a prompt. */
export const prompt = (value: ModelInput.ModelInput, { capabilities, vocabulary }: Limits): Checked =>
  reject(input("prompt", value, vocabulary)).pipe(
    Effect.andThen(supported({ prompt: value, params: { maxTokens: 1 }, promptLogprobs: true }, capabilities)),
    Effect.andThen(fits(value.length, 0, capabilities))
  )

/** Checks that the rank is within the model's range. */
export const loraRank = (rank: number, { loraRank: [min, max] }: Capabilities): Checked =>
  Number.isInteger(rank) && rank >= min && rank <= max
    ? Effect.void
    : Effect.fail(
      new Unsupported({
        capability: "loraRank",
        detail: `loraRank is ${rank}, expected a whole number from ${min} to ${max}`
      })
    )
