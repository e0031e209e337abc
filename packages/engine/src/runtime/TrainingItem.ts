/** Converts training data to the form that threads read. */
import { TinkerError } from "@effect-rl/core"
import type { Datum, TrainingClient } from "@effect-rl/core/backend"
import type { LossGraph } from "@effect-rl/core/losses"
import * as Effect from "effect/Effect"
import * as Record from "effect/Record"
import type { Item } from "./Protocol.ts"
import * as Text from "./Text.ts"

/** Maximum soft targets per position; scratch space is reserved for this many. */
export const maximumCandidates = 64

const fromInputs = (inputs: Datum.Inputs[Datum.Kind], tokens: Int32Array): Item =>
  "advantages" in inputs ? { kind: "PolicyTokens", tokens, inputs } : { kind: "WeightedTokens", tokens, inputs }

const tooMany = (index: number, candidates: number) => {
  const detail = `data[${index}].inputs.candidates is ${candidates}, expected at most ${maximumCandidates}`
  return new TinkerError.Unsupported({ capability: "candidates", detail })
}

/** Converts data that `RequestRules` has accepted. Fails with `Unsupported` for images and for more than `maximumCandidates` targets. */
export const fromData = Effect.fnUntraced(function*(data: ReadonlyArray<Datum.Datum<Datum.Kind>>) {
  const items: Array<Item> = []
  for (const [index, { inputs, modelInput }] of data.entries()) {
    const candidates = "candidates" in inputs ? inputs.candidates : 1
    if (candidates > maximumCandidates) return yield* tooMany(index, candidates)
    items.push(fromInputs(inputs, yield* Text.tokens(modelInput)))
  }
  return items
})

const misfit = (index: number, { length }: Uint8Array, expected: number) =>
  new TinkerError.Rejected({ detail: `data[${index}].counted has ${length} values, expected ${expected}` })

/** Drops the shape of an f32 vector. Other values stay unchanged. */
const compact = (values: LossGraph.Values) => {
  const { data, shape } = values
  return data instanceof Float32Array && shape.length === 1 && shape[0] === data.length ? data : values
}

/**
 * Converts data for a loss graph. Without `counted`, all tokens count. Fails with `Rejected` if `counted` has another length than the
 * targets, and with `Unsupported` for images.
 */
export const fromGraphData = Effect.fnUntraced(function*(data: ReadonlyArray<TrainingClient.GraphDatum>) {
  const items: Array<Item> = []
  for (const [index, { counted: given, inputs, modelInput, targetTokens }] of data.entries()) {
    const counted = given ?? new Uint8Array(targetTokens.length).fill(1)
    if (counted.length !== targetTokens.length) return yield* misfit(index, counted, targetTokens.length)
    const tokens = yield* Text.tokens(modelInput)
    items.push({ kind: "Graph", tokens, inputs: { targetTokens, values: Record.map(inputs, compact), counted } })
  }
  return items
})
