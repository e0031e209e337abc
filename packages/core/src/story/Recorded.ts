/**
 * Records as readers receive them: in memory, or decoded from JSON, where `null` replaces NaN and the infinities. `Gap` is the type of such
 * a replacement: `never` for records in memory, `null` for JSON.
 *
 * @example
 * const rewards = (records: ReadonlyArray<Recorded.Recorded<null>>) =>
 *   records.flatMap((record) => record._tag === "Updated" ? [record.reward?.mean ?? NaN] : [])
 */
import type * as RunRecord from "../records/RunRecord.ts"

/** A value whose numbers may be replaced by gaps. */
type Read<A, Gap> = A extends number ? A | Gap
  : A extends ReadonlyArray<infer B> ? ReadonlyArray<Read<B, Gap>>
  : A extends object ? { readonly [K in keyof A]: Read<A[K], Gap> }
  : A

/** The fields of every record. These numbers, like those of `Counts`, are always finite, so readers can calculate with them. */
interface Stamp {
  readonly at: number
  readonly segment: number
  readonly sequence: number
}

type Counts = "iteration" | "continuesAfter" | "groups" | "retries" | "milliseconds"

type Counted<A, Gap> = A extends number ? A : Read<A, Gap>

type Of<A, Gap> = A extends RunRecord.RunRecord ?
    & {
      readonly [K in keyof A as K extends keyof Stamp | "datums" ? never : K]: K extends "payload" ? A[K]
        : K extends Counts ? Counted<A[K], Gap>
        : Read<A[K], Gap>
    }
    & Stamp
  : never

/** Any record, without the large lists of datums in `Credited` records. */
export type Recorded<Gap = never> = Of<RunRecord.RunRecord, Gap>

export type Opened<Gap = never> = Of<RunRecord.Opened, Gap>
export type Sampling<Gap = never> = Of<RunRecord.Sampling, Gap>
export type Group<Gap = never> = Of<RunRecord.GroupRolledOut, Gap>
export type Credited<Gap = never> = Of<RunRecord.Credited, Gap>
export type Updated<Gap = never> = Of<RunRecord.Updated, Gap>
export type Evaluating<Gap = never> = Of<RunRecord.Evaluating, Gap>
export type Evaluated<Gap = never> = Of<RunRecord.Evaluated, Gap>
export type Saved<Gap = never> = Of<RunRecord.Saved, Gap>
export type Warning<Gap = never> = Of<RunRecord.Warning, Gap>
export type Finished<Gap = never> = Of<RunRecord.Finished, Gap>
export type Failed<Gap = never> = Of<RunRecord.Failed, Gap>

/** A record in the form that a story keeps: without datums. */
export const make = (record: RunRecord.RunRecord): Recorded => {
  if (record._tag !== "Credited") return record
  const { datums: _, ...credited } = record
  return credited
}
