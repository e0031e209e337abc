/** The data of a pass as arrays, one after the other, and their log-probabilities back as one array each. */
import { TinkerError } from "@effect-rl/core"
import { type Datum, ModelInput } from "@effect-rl/core/backend"
import * as Effect from "effect/Effect"
import type { Command } from "../process/PythonProcess.ts"

type AnyDatum = Datum.Datum<Datum.Kind>

/** The tokens of an input: the model reads text alone. */
export const tokens = (input: ModelInput.ModelInput) =>
  Effect.mapError(
    ModelInput.toTokens(input),
    (error) => new TinkerError.Unsupported({ capability: "images", detail: error.message })
  )

const ints = (parts: ReadonlyArray<Int32Array>) => {
  const all = new Int32Array(parts.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const part of parts) {
    all.set(part, at)
    at += part.length
  }
  return all
}

const floats = (parts: ReadonlyArray<Float32Array>) => {
  const all = new Float32Array(parts.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const part of parts) {
    all.set(part, at)
    at += part.length
  }
  return all
}

/** What the loss reads: weights, or what policy losses read. All data of a pass are of one kind. */
const lossInputs = (data: ReadonlyArray<AnyDatum>) => {
  const inputs = data.map((datum) => datum.inputs)
  const weighted = inputs.flatMap((one) => "weights" in one ? [one.weights] : [])
  if (weighted.length > 0) return { weights: floats(weighted) }
  const policy = inputs.flatMap((one) => "advantages" in one ? [one] : [])
  return {
    logprobs: floats(policy.map(({ logprobs }) => logprobs)),
    advantages: floats(policy.map(({ advantages }) => advantages)),
    mask: floats(policy.map(({ mask }) => mask))
  }
}

/** The fields and arrays of a pass over data that were checked. */
export const make = Effect.fnUntraced(function*(data: ReadonlyArray<AnyDatum>) {
  const inputs = yield* Effect.forEach(data, ({ modelInput }) => tokens(modelInput))
  return {
    fields: {
      lengths: inputs.map(({ length }) => length),
      candidates: data.map(({ inputs }) => "candidates" in inputs ? inputs.candidates : 1)
    },
    arrays: {
      tokens: ints(inputs),
      targets: ints(data.map(({ inputs }) => inputs.targetTokens)),
      ...lossInputs(data)
    }
  } satisfies Omit<Command, "op">
})

/** The parts of `all` that belong to each datum. */
export const split = (data: ReadonlyArray<AnyDatum>, all: Float32Array): ReadonlyArray<Float32Array> => {
  let at = 0
  return data.map(({ inputs: { targetTokens: { length } } }) => all.slice(at, at += length))
}
