/** Where the tokens of a datum were sampled: runs that name sequences and tile a field. */
import * as Result from "effect/Result"
import type { Datum, ProvenanceSpan } from "./gen/TinkerPublic.gen.ts"

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

/** Both lists or neither, and each tiles its field. */
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
