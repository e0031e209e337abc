/** Where two runs diverge: the differences in their configurations, and the first record that differs. */
import type { Json, JsonObject } from "../records/Json.ts"
import * as Key from "../records/Key.ts"
import * as RunRecord from "../records/RunRecord.ts"

/** A field that differs; a value is undefined if that side lacks the field. */
export interface Difference {
  /** The path of the field, such as `adam.beta1`. */
  readonly field: string
  readonly left: Json | undefined
  readonly right: Json | undefined
}

/** The first record that differs between the runs, or that only one of them has. */
export interface Divergence {
  /** The tag of the record that differs. */
  readonly record: string
  readonly iteration: number
  readonly evaluator: string | undefined
  /** The group's key; undefined if the record concerns a whole iteration. */
  readonly key: string | undefined
  /** The fields that differ; empty if only one run has the record. */
  readonly differences: ReadonlyArray<Difference>
}

const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** The fields in which two values differ; nested fields are named by their paths. */
const differ = (left: Json | undefined, right: Json | undefined, path: string): ReadonlyArray<Difference> => {
  if (isObject(left) && isObject(right)) {
    const names = [...new Set([...Object.keys(left), ...Object.keys(right)])]
    return names.flatMap((name) => differ(left[name], right[name], path === "" ? name : `${path}.${name}`))
  }
  return JSON.stringify(left) === JSON.stringify(right) ? [] : [{ field: path, left, right }]
}

/** The differences in the identity and the settings of each run's newest segment. */
export const configuration = (
  left: ReadonlyArray<RunRecord.RunRecord>,
  right: ReadonlyArray<RunRecord.RunRecord>
): ReadonlyArray<Difference> => {
  const [one, other] = [left, right].map((records) => records.findLast(RunRecord.guards.Opened))
  return [
    ...differ(one?.identity, other?.identity, ""),
    ...differ(one?.settings, other?.settings, "settings")
  ]
}

/** Fields that may differ between equal runs: times, file offsets, and totals that include repeated work. */
const incidental = [
  "at",
  "segment",
  "sequence",
  "payload",
  "milliseconds",
  "times",
  "seconds",
  "spent",
  "forecast",
  "process",
  "retries",
  "recalled"
]

const isIncidental = ({ field }: Difference) =>
  field.split(".").some((name) => incidental.includes(name) || name.startsWith("time/"))

const essential = ["GroupRolledOut", "Credited", "Updated", "Evaluated"]

interface Placed {
  readonly record: string
  readonly iteration: number
  readonly evaluator: string | undefined
  readonly key: string | undefined
  readonly value: Json
}

const place = (record: RunRecord.RunRecord): ReadonlyArray<Placed> =>
  essential.includes(record._tag) && "iteration" in record
    ? [{
      record: record._tag,
      iteration: record.iteration,
      evaluator: "evaluator" in record ? record.evaluator : undefined,
      key: "key" in record ? record.key : undefined,
      value: RunRecord.toJson(record)
    }]
    : []

const id = ({ evaluator, iteration, key = "", record }: Placed) =>
  `${record} ${Key.ofGroup({ evaluator, iteration, key })}`

/** Sorts evaluations before their iteration, and the groups of an iteration by key, because they finish in any order. */
const order = ({ evaluator, iteration, key = "", record }: Placed) =>
  `${String(iteration).padStart(12, "0")} ${evaluator === undefined ? 1 : 0} ${essential.indexOf(record)} ${key}`

const compareText = (left: string, right: string) => left < right ? -1 : left > right ? 1 : 0

/**
 * The first record that differs between the runs, or that only one of them has. Undefined if there is none before the shorter run ends.
 * Times, file offsets and totals that include repeated work are not compared.
 *
 * @example
 * const where = Divergence.first(recordsOfA, recordsOfB)?.record
 */
export const first = (
  left: ReadonlyArray<RunRecord.RunRecord>,
  right: ReadonlyArray<RunRecord.RunRecord>
): Divergence | undefined => {
  const placed = (records: ReadonlyArray<RunRecord.RunRecord>) =>
    new Map(RunRecord.current(records).flatMap(place).map((one) => [id(one), one]))
  const [ours, theirs] = [placed(left), placed(right)]
  const last = Math.min(...[ours, theirs].map((all) => [...all.values()].at(-1)?.iteration ?? -1))
  const sorted = [...new Map([...theirs, ...ours])].toSorted(([, one], [, other]) =>
    compareText(order(one), order(other))
  )
  for (const [name, { evaluator, iteration, key, record }] of sorted) {
    const [one, other] = [ours.get(name), theirs.get(name)]
    const isShared = one !== undefined && other !== undefined
    if (!isShared && iteration >= last) return undefined
    const differences = isShared
      ? differ(one.value, other.value, "").filter((difference) => !isIncidental(difference))
      : []
    if (!isShared || differences.length > 0) return { record, iteration, evaluator, key, differences }
  }
  return undefined
}
