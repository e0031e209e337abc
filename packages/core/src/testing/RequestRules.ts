/** What a request must be; each rule says the field, the value and what was expected. */
import * as Effect from "effect/Effect"
import type { Capabilities } from "../backend/Capabilities.ts"
import { ContextTooLong, type Reason, Rejected, Unsupported } from "../backend/TinkerError.ts"
import { type AdamParams, defaults } from "../model/AdamParams.ts"
import type * as Datum from "../model/Datum.ts"
import type * as Loss from "../model/Loss.ts"
import type * as ModelInput from "../model/ModelInput.ts"
import type * as Sampling from "../model/Sampling.ts"
import type * as ToyModel from "./ToyModel.ts"

/** Nothing where the rule holds, otherwise one line per violation. */
type Found = ReadonlyArray<string>

const all = (
  field: string,
  values: ArrayLike<number>,
  holds: (value: number, index: number) => boolean,
  expected: string
): Found => {
  const bad = Array.from(values).findIndex((value, index) => !holds(value, index))
  return bad === -1 ? [] : [`${field}[${bad}] is ${values[bad]}, expected ${expected}`]
}

const one = (field: string, value: number, holds: boolean, expected: string): Found =>
  holds ? [] : [`${field} is ${value}, expected ${expected}`]

const length = (field: string, values: ArrayLike<number>, expected: number): Found =>
  values.length === expected ? [] : [`${field} has ${values.length} values, expected ${expected}`]

const tokens = (field: string, values: ArrayLike<number>, vocabulary: number) =>
  all(field, values, (token) => token >= 0 && token < vocabulary, `a token id below ${vocabulary}`)

const input = (field: string, value: ModelInput.ModelInput, vocabulary: number): Found => [
  ...one(`${field}.length`, value.length, value.length > 0, "at least 1"),
  ...value.chunks.flatMap((chunk, index) =>
    chunk._tag === "Image" ? [] : tokens(`${field}.chunks[${index}].tokens`, chunk.tokens, vocabulary)
  )
]

const weighted = (field: string, inputs: Datum.Inputs["WeightedTokens"], size: number): Found => [
  ...length(`${field}.weights`, inputs.weights, size),
  ...all(`${field}.weights`, inputs.weights, Number.isFinite, "a finite number")
]

const policy = (field: string, inputs: Datum.Inputs["PolicyTokens"], size: number): Found => {
  const { advantages, logprobs, mask } = inputs
  const isMasked = (at: number) => mask[at] === 0
  return [
    ...length(`${field}.logprobs`, logprobs, size),
    ...length(`${field}.advantages`, advantages, size),
    ...length(`${field}.mask`, mask, size),
    ...all(`${field}.advantages`, advantages, Number.isFinite, "a finite number"),
    ...all(`${field}.advantages`, advantages, (value, at) => value === 0 || !isMasked(at), "0 where the mask is 0"),
    ...all(
      `${field}.logprobs`,
      logprobs,
      (value, at) => Number.isFinite(value) || isMasked(at),
      "a number where the mask is 1"
    )
  ]
}

const datum = ({ inputs, modelInput }: Datum.Datum<Datum.Kind>, at: string, vocabulary: number): Found => {
  const size = modelInput.length * ("candidates" in inputs ? inputs.candidates : 1)
  return [
    ...input(`${at}.modelInput`, modelInput, vocabulary),
    ...length(`${at}.inputs.targetTokens`, inputs.targetTokens, size),
    ...tokens(`${at}.inputs.targetTokens`, inputs.targetTokens, vocabulary),
    ...("weights" in inputs ? weighted(`${at}.inputs`, inputs, size) : policy(`${at}.inputs`, inputs, size))
  ]
}

const configKeys: Record<Loss.Name, ReadonlyArray<string>> = {
  cross_entropy: [],
  importance_sampling: [],
  ppo: ["clip_low_threshold", "clip_high_threshold"],
  cispo: ["clip_low_threshold", "clip_high_threshold"],
  dro: ["beta"]
}

const lossConfig = ({ config, name }: Loss.Loss<Datum.Kind>): Found =>
  Object.entries(config).flatMap(([key, value]) => [
    ...one(`${name} config ${key}`, value, configKeys[name].includes(key), `one of: ${configKeys[name].join(", ")}`),
    ...one(`${name} config ${key}`, value, Number.isFinite(value), "a finite number")
  ])

const reject = (found: Found): Effect.Effect<void, Reason> =>
  found.length === 0 ? Effect.void : Effect.fail(new Rejected({ detail: found.join("; ") }))

const fits = (promptTokens: number, maxTokens: number, { contextLength }: Capabilities): Effect.Effect<void, Reason> =>
  promptTokens + maxTokens <= contextLength
    ? Effect.void
    : Effect.fail(new ContextTooLong({ promptTokens, maxTokens, contextLength }))

/** Data that fit the context, the vocabulary and each other, whose numbers are numbers, with advantages on the mask alone. */
export const pass = (
  data: ReadonlyArray<Datum.Datum<Datum.Kind>>,
  loss: Loss.Loss<Datum.Kind>,
  model: ToyModel.ToyModel,
  capabilities: Capabilities
) =>
  Effect.suspend(() =>
    reject([...lossConfig(loss), ...data.flatMap((one, index) => datum(one, `data[${index}]`, model.vocabulary))])
  ).pipe(
    Effect.andThen(
      Effect.forEach(data, ({ modelInput }) => fits(modelInput.length, 0, capabilities), { discard: true })
    )
  )

/** A learning rate of at least 0, betas below 1, and nothing negative. */
export const adam = (params: AdamParams) => {
  const { beta1, beta2, eps, gradClipNorm, learningRate, weightDecay } = { ...defaults, ...params }
  const isRate = (value: number) => Number.isFinite(value) && value >= 0
  return reject([
    ...one("learningRate", learningRate, isRate(learningRate), "a finite number of at least 0"),
    ...one("beta1", beta1, beta1 >= 0 && beta1 < 1, "from 0 to below 1"),
    ...one("beta2", beta2, beta2 >= 0 && beta2 < 1, "from 0 to below 1"),
    ...one("eps", eps, eps > 0, "a number above 0"),
    ...one("weightDecay", weightDecay, isRate(weightDecay), "a finite number of at least 0"),
    ...one("gradClipNorm", gradClipNorm, isRate(gradClipNorm), "a finite number of at least 0")
  ])
}

const samplingParams = ({ maxTokens, temperature = 1, topK, topP = 1 }: Sampling.SamplingParams): Found => [
  ...one("params.maxTokens", maxTokens, Number.isInteger(maxTokens) && maxTokens > 0, "a whole number above 0"),
  ...one("params.temperature", temperature, Number.isFinite(temperature) && temperature >= 0, "at least 0"),
  ...one("params.topP", topP, topP > 0 && topP <= 1, "above 0 and at most 1"),
  ...(topK === undefined ? [] : one("params.topK", topK, Number.isInteger(topK), "a whole number"))
]

const supported = (request: Sampling.SampleRequest, capabilities: Capabilities): Effect.Effect<void, Reason> => {
  const topk = request.topkPromptLogprobs ?? 0
  if (request.promptLogprobs === true && !capabilities.promptLogprobs) {
    return Effect.fail(new Unsupported({ capability: "promptLogprobs", detail: "this model does not give them" }))
  }
  return topk > capabilities.topkPromptLogprobs
    ? Effect.fail(
      new Unsupported({
        capability: "topkPromptLogprobs",
        detail: `${topk} asked for, at most ${capabilities.topkPromptLogprobs}`
      })
    )
    : Effect.void
}

/** A prompt and parameters the model can answer, within its context and capabilities. */
export const sample = (request: Sampling.SampleRequest, capabilities: Capabilities, model: ToyModel.ToyModel) => {
  const { numSamples = 1, params, prompt } = request
  return reject([
    ...input("prompt", prompt, model.vocabulary),
    ...samplingParams(params),
    ...one("numSamples", numSamples, Number.isInteger(numSamples) && numSamples > 0, "a whole number above 0")
  ]).pipe(
    Effect.andThen(supported(request, capabilities)),
    Effect.andThen(fits(prompt.length, params.maxTokens, capabilities))
  )
}

/** A prompt whose log-probabilities the model can give. */
export const prompt = (value: ModelInput.ModelInput, capabilities: Capabilities, model: ToyModel.ToyModel) =>
  reject(input("prompt", value, model.vocabulary)).pipe(
    Effect.andThen(
      supported({ prompt: value, params: { maxTokens: 1 }, promptLogprobs: true }, capabilities)
    ),
    Effect.andThen(fits(value.length, 0, capabilities))
  )

/** A rank within the model's range. */
export const loraRank = (rank: number, { loraRank: [min, max] }: Capabilities): Effect.Effect<void, Reason> =>
  Number.isInteger(rank) && rank >= min && rank <= max
    ? Effect.void
    : Effect.fail(
      new Unsupported({
        capability: "loraRank",
        detail: `loraRank is ${rank}, expected a whole number from ${min} to ${max}`
      })
    )
