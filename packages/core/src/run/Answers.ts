/**
 * The answers of passes, found by the datum that each is about.
 *
 * @example
 * const shifts = (data: ReadonlyArray<Datum.Datum<"PolicyTokens">>, outputs: ReadonlyArray<Program.UpdateOutput>) =>
 *   data.map((datum) => (Answers.logprobs(outputs)(datum)?.[0] ?? NaN) - (datum.inputs.logprobs[0] ?? NaN))
 */
import * as Datum from "../model/Datum.ts"
import type { UpdateOutput } from "./Program.ts"

/** The log-probabilities of a datum's targets `[T]` under the weights before its update; undefined where no pass gave any. */
export type LogprobsOf = (datum: Datum.Datum<Datum.Kind>) => Float32Array | undefined

/** A loss may train on a copy of a datum, which has the origin of the datum. */
const idOf = (datum: Datum.Datum<Datum.Kind>) => datum.origin === undefined ? datum : Datum.idOf(datum.origin)

/** The answers of an iteration's updates; of two about one datum, the first. */
export const logprobs = (outputs: ReadonlyArray<UpdateOutput>): LogprobsOf => {
  const found = new Map<ReturnType<typeof idOf>, Float32Array>()
  for (const { answers } of outputs.flatMap(({ passes }) => passes)) {
    for (const { datum, logprobs } of answers) if (!found.has(idOf(datum))) found.set(idOf(datum), logprobs)
  }
  return (datum) => found.get(idOf(datum))
}
