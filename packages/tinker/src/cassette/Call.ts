/** Identifies a backend call by its content, for recording and replay. */
import type { Loss, Tinker } from "@effect-rl/core"
import type { AdamParams, Datum, ModelInput, Sampling, TrainingClient } from "@effect-rl/core/backend"
import * as Duration from "effect/Duration"
import type * as Schema from "effect/Schema"
import { createHash } from "node:crypto"
import * as Operation from "./Operation.ts"
import * as Request from "./Request.ts"
import * as Secrets from "./Secrets.ts"

export type JsonObject = { readonly [name: string]: Schema.Json }

export interface Call<in out A> {
  readonly operation: Operation.Operation<A>
  /** The operation name, the client and the arguments. */
  readonly request: JsonObject
  /** Hash of the request. */
  readonly key: string
}

/** A `JSON.stringify` replacer that sorts object fields, so equal content yields equal text. */
const sorted = (_: string, value: unknown) =>
  typeof value === "object" && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).sort(([left], [right]) => left < right ? -1 : 1))
    : value

/** The first 64 bits of the SHA-256 of the request's JSON, in hexadecimal. */
export const keyOf = (request: Schema.Json) =>
  createHash("sha256").update(JSON.stringify(request, sorted)).digest("hex").slice(0, 16)

const make = <A>(operation: Operation.Operation<A>, fields: JsonObject): Call<A> => {
  const request = Secrets.stripObject({ operation: operation.name, ...fields })
  return { operation, request, key: keyOf(request) }
}

export const models = make(Operation.models, {})

export const capabilities = (model: string) => make(Operation.capabilities, { model })

export const createLoraTrainingClient = (options: Tinker.LoraOptions) =>
  make(Operation.createLoraTrainingClient, Request.lora(options))

export const createTrainingClientFromState = (
  path: string,
  { userMetadata }: Pick<Tinker.LoraOptions, "userMetadata"> = {}
) => make(Operation.createTrainingClientFromState, { path, ...(userMetadata === undefined ? {} : { userMetadata }) })

export const createSamplingClient = (from: { readonly baseModel: string } | { readonly modelPath: string }) =>
  make(Operation.createSamplingClient, from)

/** A call to a sampling client, identified by its weights: all clients of the same weights share their answers. */
export const sample = (weights: string, request: Sampling.SampleRequest) =>
  make(Operation.sample, { weights, ...Request.sample(request) })

export const computeLogprobs = (weights: string, prompt: ModelInput.ModelInput) =>
  make(Operation.computeLogprobs, { weights, ...Request.prompt(prompt) })

type Data = ReadonlyArray<Datum.Datum<Datum.Kind>>
type AnyLoss = Loss.Loss<Datum.Kind>

const save = (name: string, { ttl, userMetadata }: TrainingClient.SaveOptions): JsonObject => ({
  name,
  ...(userMetadata === undefined ? {} : { userMetadata }),
  ...(ttl === undefined ? {} : { ttl: Duration.format(Duration.fromInputUnsafe(ttl)) })
})

/**
 * The calls of one training client. Answers depend on earlier changes to the model, so the `after` field of each call counts the changes
 * before it.
 */
export const training = (client: string) => {
  let changes = 0
  const at = () => ({ client, after: changes })
  const change = <A>(operation: Operation.Operation<A>, fields: JsonObject) => {
    const call = make(operation, { ...at(), ...fields })
    changes++
    return call
  }
  return {
    forward: (data: Data, loss: AnyLoss) => make(Operation.forward, { ...at(), ...Request.pass(data, loss) }),
    forwardBackward: (data: Data, loss: AnyLoss) => change(Operation.forwardBackward, Request.pass(data, loss)),
    optimStep: (params: AdamParams.AdamParams) => change(Operation.optimStep, Request.adam(params)),
    loadState: (path: string, optimizer: boolean) => change(Operation.loadState, { path, optimizer }),
    saveState: (name: string, options: TrainingClient.SaveOptions) =>
      make(Operation.saveState, { ...at(), ...save(name, options) }),
    saveWeightsForSampler: (name: string, options: TrainingClient.SaveOptions) =>
      make(Operation.saveWeightsForSampler, { ...at(), ...save(name, options) }),
    saveWeightsAndGetSamplingClient: () => make(Operation.saveWeightsAndGetSamplingClient, at()),
    unload: () => make(Operation.unload, at()),
    /** The name of the current weights. */
    weights: () => `${client}@${changes}`
  }
}
