/** Joins the data of a pass into arrays for the Python process, and splits the returned log-probabilities by datum. */
import { TinkerError } from "@effect-rl/core"
import { type Datum, ModelInput } from "@effect-rl/core/backend"
import * as Effect from "effect/Effect"
import type { Command } from "../process/PythonProcess.ts"

type AnyDatum = Datum.Datum<Datum.Kind>

/** The tokens of an input. Fails with `Unsupported` if the input contains images. */
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

/** The inputs of the loss: weights, or the inputs of policy losses. All data of a pass have the same kind. */
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

/** The fields and arrays of a pass. The data must have been checked by `RequestRules`. Fails with `Unsupported` for images. */
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

/** Splits the log-probabilities of all targets into one array per datum. */
export const split = (data: ReadonlyArray<AnyDatum>, all: Float32Array): ReadonlyArray<Float32Array> => {
  let at = 0
  return data.map(({ inputs: { targetTokens: { length } } }) => all.slice(at, at += length))
}
