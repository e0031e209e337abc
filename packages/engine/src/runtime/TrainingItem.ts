/** Training data as the threads read them. */
import { type Datum, type LossGraph, TinkerError, type TrainingClient } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import * as Record from "effect/Record"
import type { Item } from "./Protocol.ts"
import * as Text from "./Text.ts"

/** Most soft targets per position: scratch is reserved for these. */
export const maximumCandidates = 64

const fromInputs = (inputs: Datum.Inputs[Datum.Kind], tokens: Int32Array): Item => {
  if ("advantages" in inputs) return { kind: "PolicyTokens", tokens, inputs }
  return "candidates" in inputs
    ? { kind: "WeightedCandidates", tokens, inputs }
    : { kind: "WeightedTokens", tokens, inputs }
}

const tooMany = (index: number, candidates: number) => {
  const detail = `data[${index}].inputs.candidates is ${candidates}, expected at most ${maximumCandidates}`
  return new TinkerError.Unsupported({ capability: "candidates", detail })
}

/** Of data that keep the rules of requests. */
export const fromData = (data: ReadonlyArray<Datum.Datum<Datum.Kind>>) =>
  Effect.forEach(
    data,
    ({ inputs, modelInput }, index) =>
      "candidates" in inputs && inputs.candidates > maximumCandidates
        ? Effect.fail(tooMany(index, inputs.candidates))
        : Effect.map(Text.tokens(modelInput), (tokens) => fromInputs(inputs, tokens))
  )

const misfit = (index: number, { length }: Uint8Array, expected: number) =>
  new TinkerError.Rejected({ detail: `data[${index}].counted has ${length} values, expected ${expected}` })

/** The numbers alone, where their shape says no more. */
const compact = (values: LossGraph.Values) => {
  const { data, shape } = values
  return data instanceof Float32Array && shape.length === 1 && shape[0] === data.length ? data : values
}

/** Of data for a loss graph. */
export const fromGraphData = (data: ReadonlyArray<TrainingClient.GraphDatum>) =>
  Effect.forEach(
    data,
    Effect.fnUntraced(function*({ counted, inputs, modelInput, targetTokens }, index) {
      if (counted !== undefined && counted.length !== targetTokens.length) {
        return yield* misfit(index, counted, targetTokens.length)
      }
      const values = Record.map(inputs, compact)
      const item: Item = {
        kind: "Graph",
        tokens: yield* Text.tokens(modelInput),
        inputs: { targetTokens, values, counted }
      }
      return item
    })
  )
