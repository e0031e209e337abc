/** Refuses training data and parameters that cannot be used, naming the field, its value and what is expected. */
import { AdamParams, type Datum, type Loss } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import type { AdamConfig } from "../model/Adam.ts"
import type { Item } from "./Protocol.ts"
import { foreignToken, rejected, textTokens, tooLong } from "./SamplingCheck.ts"

/** Most soft targets per position. */
export const maximumCandidates = 64

export interface Limits {
  readonly contextLength: number
  readonly vocabularySize: number
}

const configKeys: Readonly<Record<Loss.Name, ReadonlyArray<string>>> = {
  cross_entropy: [],
  importance_sampling: [],
  ppo: ["clip_low_threshold", "clip_high_threshold"],
  cispo: ["clip_low_threshold", "clip_high_threshold"],
  dro: ["beta"]
}

const lossComplaint = ({ config, name }: Loss.Loss<Datum.Kind>) => {
  const known = configKeys[name]
  for (const [key, value] of Object.entries(config)) {
    if (!known.includes(key)) {
      return `config key "${key}" is unknown to ${name}, which reads ${known.length === 0 ? "none" : known.join(", ")}`
    }
    if (!Number.isFinite(value)) return `config key "${key}" is ${value}, expected a finite number`
  }
  const missing = known.find((key) => config[key] === undefined)
  return missing === undefined ? undefined : `config key "${missing}" is missing, which ${name} reads`
}

const lengthComplaint = (field: string, values: ArrayLike<number>, expected: number) =>
  values.length === expected ? undefined : `${field} has ${values.length} values, expected ${expected}`

const finiteComplaint = (field: string, values: Float32Array) => {
  const index = values.findIndex((value) => !Number.isFinite(value))
  return index < 0 ? undefined : `${field}[${index}] is ${values[index]}, expected a finite number`
}

const targetComplaint = (tokens: Int32Array, vocabularySize: number) => {
  const index = foreignToken(tokens, vocabularySize)
  return index < 0
    ? undefined
    : `targetTokens[${index}] is ${tokens[index]}, expected a token id from 0 to ${vocabularySize - 1}`
}

const policyComplaint = (inputs: Datum.Inputs["PolicyTokens"], length: number) => {
  const { advantages, logprobs, mask } = inputs
  const complaint = lengthComplaint("logprobs", logprobs, length) ??
    lengthComplaint("advantages", advantages, length) ??
    lengthComplaint("mask", mask, length) ??
    finiteComplaint("advantages", advantages) ??
    finiteComplaint("mask", mask)
  if (complaint !== undefined) return complaint
  for (let index = 0; index < length; index++) {
    if (mask[index] === 0) {
      if (advantages[index] !== 0) return `advantages[${index}] is ${advantages[index]} where mask is 0, expected 0`
    } else if (!Number.isFinite(logprobs[index])) {
      return `logprobs[${index}] is ${logprobs[index]} where mask is ${
        mask[index]
      }, expected the sampler's log-probability`
    }
  }
  return undefined
}

const itemComplaint = (item: Item, { vocabularySize }: Limits) => {
  const length = item.tokens.length
  if (length === 0) return "modelInput is empty, expected at least one token"
  const foreign = foreignToken(item.tokens, vocabularySize)
  if (foreign >= 0) {
    return `modelInput[${foreign}] is ${item.tokens[foreign]}, expected a token id from 0 to ${vocabularySize - 1}`
  }
  const candidates = item.kind === "WeightedCandidates" ? item.inputs.candidates : 1
  if (!Number.isInteger(candidates) || candidates < 1 || candidates > maximumCandidates) {
    return `candidates is ${candidates}, expected a whole number from 1 to ${maximumCandidates}`
  }
  const targets = lengthComplaint("targetTokens", item.inputs.targetTokens, length * candidates) ??
    targetComplaint(item.inputs.targetTokens, vocabularySize)
  if (targets !== undefined) return targets
  if (item.kind === "PolicyTokens") return policyComplaint(item.inputs, length)
  return lengthComplaint("weights", item.inputs.weights, length * candidates) ??
    finiteComplaint("weights", item.inputs.weights)
}

/** A datum's inputs say what they are, so that data from outside the type system is told apart as well. */
const toItem = (inputs: Datum.Inputs[Datum.Kind], tokens: Int32Array): Item => {
  if ("advantages" in inputs) return { kind: "PolicyTokens", tokens, inputs }
  return "candidates" in inputs
    ? { kind: "WeightedCandidates", tokens, inputs }
    : { kind: "WeightedTokens", tokens, inputs }
}

const kindComplaint = ({ kind }: Item, loss: Loss.Loss<Datum.Kind>) =>
  kind === loss.kind ? undefined : `inputs are ${kind}, expected ${loss.kind} as ${loss.name} reads`

/** The data as the workers read it. */
export const data = Effect.fnUntraced(function*<K extends Datum.Kind>(
  operation: string,
  data: ReadonlyArray<Datum.Datum<K>>,
  loss: Loss.Loss<K>,
  limits: Limits
) {
  const complaint = data.length === 0 ? "data is empty, expected at least one datum" : lossComplaint(loss)
  if (complaint !== undefined) return yield* rejected(operation, complaint)
  const items: Array<Item> = []
  for (const [index, datum] of data.entries()) {
    const tokens = yield* textTokens(operation, datum.modelInput)
    if (tokens.length > limits.contextLength) return yield* tooLong(operation, tokens.length, 0, limits.contextLength)
    const item = toItem(datum.inputs, tokens)
    const complaint = kindComplaint(item, loss) ?? itemComplaint(item, limits)
    if (complaint !== undefined) return yield* rejected(operation, `data[${index}]: ${complaint}`)
    items.push(item)
  }
  return items
})

const adamComplaint = (config: AdamConfig) => {
  const { beta1, beta2, epsilon, gradientClipNorm, learningRate, weightDecay } = config
  const isSize = (value: number) => value >= 0 && value < Infinity
  if (!isSize(learningRate)) return `learningRate is ${learningRate}, expected 0 or more`
  if (!(beta1 >= 0 && beta1 < 1)) return `beta1 is ${beta1}, expected 0 or more and less than 1`
  if (!(beta2 >= 0 && beta2 < 1)) return `beta2 is ${beta2}, expected 0 or more and less than 1`
  if (!(epsilon > 0 && isSize(epsilon))) return `eps is ${epsilon}, expected more than 0`
  if (!isSize(weightDecay)) return `weightDecay is ${weightDecay}, expected 0 or more`
  return isSize(gradientClipNorm) ? undefined : `gradClipNorm is ${gradientClipNorm}, expected 0 or more`
}

/** The optimizer's parameters with the service's defaults. */
export const adam = (operation: string, params: AdamParams.AdamParams) => {
  const { beta1, beta2, eps, gradClipNorm, learningRate, weightDecay } = { ...AdamParams.defaults, ...params }
  const config = { learningRate, beta1, beta2, epsilon: eps, weightDecay, gradientClipNorm: gradClipNorm }
  const complaint = adamComplaint(config)
  return complaint === undefined ? Effect.succeed(config) : Effect.fail(rejected(operation, complaint))
}
