/** The segments of a stored run, and whether they belong to the same run. */
import type { Json, JsonObject } from "../records/Json.ts"
import * as RunRecord from "../records/RunRecord.ts"

export const show = (value: Json | undefined) => JSON.stringify(value) ?? "absent"

/** The first field in which two identities differ; undefined if none does. */
export const difference = (given: JsonObject, stored: JsonObject) =>
  [...new Set([...Object.keys(given), ...Object.keys(stored)])].find((name) => show(given[name]) !== show(stored[name]))

/**
 * The records from the first opening with this identity after the last opening with another one. A run may change its identity until its
 * first iteration is done. Empty if the last opening has another identity.
 */
export const of = (records: ReadonlyArray<RunRecord.RunRecord>, identity: JsonObject) => {
  const isOther = (record: RunRecord.RunRecord) =>
    record._tag === "Opened" && difference(identity, record.identity) !== undefined
  const since = records.slice(records.findLastIndex(isOther) + 1)
  const first = since.findIndex(RunRecord.guards.Opened)
  return first < 0 ? [] : since.slice(first)
}
