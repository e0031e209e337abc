/**
 * Records as readers have them: as they were written, or read from JSON, where a `null` stands in each gap that NaN and the infinities
 * leave. Types take what stands there: `never` for records as they were written, `null` for JSON.
 *
 * @example
 * const rewards = (records: ReadonlyArray<Recorded.Recorded<null>>) =>
 *   records.flatMap((record) => record._tag === "Updated" ? [record.reward?.mean ?? NaN] : [])
 */
import type * as RunRecord from "../records/RunRecord.ts"

/** A value whose numbers may be gaps. */
type Read<A, Gap> = A extends number ? A | Gap
  : A extends ReadonlyArray<infer B> ? ReadonlyArray<Read<B, Gap>>
  : A extends object ? { readonly [K in keyof A]: Read<A[K], Gap> }
  : A

/** Fields of every record. They are finite, as those of `Counts` are, so that readers can count with them. */
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

/** Any record, without the datums of its updates, of which every member of every group has some. */
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

/** A record as a story keeps it. */
export const make = (record: RunRecord.RunRecord): Recorded => {
  if (record._tag !== "Credited") return record
  const { datums: _, ...credited } = record
  return credited
}
