/** Requests as JSON. Equal requests yield equal text, whether or not defaults are spelled out. */
import type { Loss, Tinker } from "@effect-rl/core"
import { AdamParams, type Datum, type ModelInput, type Sampling } from "@effect-rl/core/backend"
import type * as Schema from "effect/Schema"
import * as NumberText from "./NumberText.ts"

type JsonObject = { readonly [name: string]: Schema.Json }

/** A number as JSON; NaN and infinities, which JSON lacks, become strings. */
const number = (value: number): Schema.Json => Number.isFinite(value) ? value : String(value)

const numbers = (values: Readonly<Record<string, number>>): JsonObject =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, number(value)]))

/** The field, unless it is undefined or has its default value. */
const field = <N extends string, A extends Schema.Json>(name: N, value: A | undefined, usual?: A): JsonObject =>
  value === undefined || value === usual ? {} : { [name]: typeof value === "number" ? number(value) : value }

const chunk = (chunk: ModelInput.Chunk): Schema.Json =>
  chunk._tag === "EncodedText"
    ? NumberText.fromInts(chunk.tokens)
    : { format: chunk.format, expectedTokens: chunk.expectedTokens, base64: Buffer.from(chunk.data).toString("base64") }

const input = ({ chunks }: ModelInput.ModelInput): Schema.Json => {
  const all = chunks.map(chunk)
  const [first, ...others] = all
  return first !== undefined && others.length === 0 ? first : all
}

const span = ({ length, of, offset, sequenceId }: Datum.Span): JsonObject => ({ of, sequenceId, offset, length })

const datum = ({ inputs, kind, modelInput, provenance }: Datum.Datum<Datum.Kind>): JsonObject => ({
  kind,
  input: input(modelInput),
  targetTokens: NumberText.fromInts(inputs.targetTokens),
  ...("weights" in inputs ? { weights: NumberText.fromFloats(inputs.weights) } : {
    logprobs: NumberText.fromFloats(inputs.logprobs),
    advantages: NumberText.fromFloats(inputs.advantages),
    mask: NumberText.fromFloats(inputs.mask)
  }),
  ...("candidates" in inputs ? { candidates: number(inputs.candidates) } : {}),
  ...(provenance === undefined ? {} : {
    provenance: { modelInput: provenance.modelInput.map(span), targets: provenance.targets.map(span) }
  })
})

export const pass = (data: ReadonlyArray<Datum.Datum<Datum.Kind>>, loss: Loss.Loss<Datum.Kind>): JsonObject => ({
  loss: loss.name,
  ...(Object.keys(loss.config).length === 0 ? {} : { config: numbers(loss.config) }),
  data: data.map(datum)
})

const stop = (stop: Sampling.Stop | undefined): Schema.Json | undefined => {
  const isTokens = (stop: Sampling.Stop): stop is ReadonlyArray<number> => typeof stop[0] === "number"
  return stop === undefined || !isTokens(stop) ? stop : stop.map(number)
}

const grammar = (grammar: Sampling.SampleRequest["grammar"]): Schema.Json | undefined =>
  grammar === undefined
    ? undefined
    : { jsonSchema: grammar.jsonSchema, ...(grammar.calls !== undefined && { calls: { ...grammar.calls } }) }

export const sample = (request: Sampling.SampleRequest): JsonObject => {
  const { numSamples, params, prompt, promptLogprobs, targetPromptLogprobs: targets, topkPromptLogprobs } = request
  return {
    prompt: input(prompt),
    maxTokens: number(params.maxTokens),
    ...field("seed", params.seed),
    ...field("stop", stop(params.stop)),
    ...field("temperature", params.temperature, 1),
    ...field("topP", params.topP, 1),
    ...field("topK", params.topK),
    ...field("numSamples", numSamples, 1),
    ...field("promptLogprobs", promptLogprobs, false),
    ...field("topkPromptLogprobs", topkPromptLogprobs, 0),
    ...field("topkSampleLogprobs", request.topkSampleLogprobs, 0),
    ...(targets === undefined ? {} : {
      targetPromptLogprobs: { tokens: NumberText.fromInts(targets.tokens), candidates: number(targets.candidates) }
    }),
    ...field("promptAltTokens", request.promptAltTokens, 0),
    ...field("promptLogprobsLastN", request.promptLogprobsLastN),
    ...field("recordStabilityInfo", request.recordStabilityInfo, false),
    ...field("grammar", grammar(request.grammar))
  }
}

export const prompt = (prompt: ModelInput.ModelInput): JsonObject => ({ prompt: input(prompt) })

export const adam = (params: AdamParams.AdamParams): JsonObject => numbers({ ...AdamParams.defaults, ...params })

export const lora = (options: Tinker.LoraOptions): JsonObject => ({
  baseModel: options.baseModel,
  loraRank: number(options.loraRank ?? 32),
  ...field("seed", options.seed),
  ...field("trainMlp", options.trainMlp, true),
  ...field("trainAttn", options.trainAttn, true),
  ...field("trainUnembed", options.trainUnembed, true),
  ...(options.userMetadata === undefined ? {} : { userMetadata: options.userMetadata })
})
