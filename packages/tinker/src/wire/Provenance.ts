/** Where a datum's tokens were sampled: spans that name sequences and tile a field. */
import type { Datum as CoreDatum } from "@effect-rl/core/backend"
import * as Result from "effect/Result"
import type { Datum, ProvenanceSpan } from "./gen/TinkerPublic.gen.ts"

const toSpan = ({ length, of, offset, sequenceId }: CoreDatum.Span) => ({
  span: {
    case: of === "prompt" ? "promptTokens" as const : "sampledTokens" as const,
    value: { sequenceId, offset: BigInt(offset), length: BigInt(length) }
  }
})

/** Encodes the provenance of a datum. */
export const fromDatum = ({ modelInput, targets }: CoreDatum.Provenance) => ({
  modelInputSpans: modelInput.map(toSpan),
  lossFnInputSpans: targets.map(toSpan)
})

const fromSpan = ({ span }: ProvenanceSpan): ReadonlyArray<CoreDatum.Span> =>
  span.case === undefined ? [] : [{
    of: span.case === "promptTokens" ? "prompt" : "sampled",
    sequenceId: span.value.sequenceId,
    offset: Number(span.value.offset),
    length: Number(span.value.length)
  }]

/** The provenance of a received datum; undefined if it has none. */
export const toDatum = ({ lossFnInputSpans, modelInputSpans }: Datum): CoreDatum.Provenance | undefined =>
  modelInputSpans.length === 0 && lossFnInputSpans.length === 0
    ? undefined
    : { modelInput: modelInputSpans.flatMap(fromSpan), targets: lossFnInputSpans.flatMap(fromSpan) }

const checkSpans = (
  field: string,
  spans: ReadonlyArray<ProvenanceSpan>,
  positions: number
): Result.Result<void, string> => {
  let covered = 0
  for (const [index, { span }] of spans.entries()) {
    if (span.case === undefined) {
      return Result.fail(`${field}[${index}] is empty, expected prompt_tokens or sampled_tokens`)
    }
    const { length, offset, sequenceId } = span.value
    if (sequenceId === "") return Result.fail(`${field}[${index}].sequence_id is empty`)
    if (offset < 0n || length < 0n) {
      return Result.fail(`${field}[${index}] is at ${offset}, length ${length}, expected at least 0`)
    }
    covered += Number(length)
  }
  return covered === positions
    ? Result.void
    : Result.fail(`${field} covers ${covered} positions, expected ${positions}`)
}

/** Checks that either both span lists or neither are present, and that each tiles its field. */
export const check = (
  { lossFnInputSpans, modelInputSpans }: Datum,
  inputLength: number,
  targets: number
): Result.Result<void, string> => {
  if (modelInputSpans.length === 0 && lossFnInputSpans.length === 0) return Result.void
  return Result.flatMap(
    checkSpans("model_input_spans", modelInputSpans, inputLength),
    () => checkSpans("loss_fn_input_spans", lossFnInputSpans, targets)
  )
}
