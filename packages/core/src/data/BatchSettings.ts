/** The sizes of a dataset's batches and groups, as options of datasets and settings of recipes. */
import * as Schema from "effect/Schema"
import type * as Check from "../settings/Check.ts"
import * as Setting from "../settings/Setting.ts"

/**
 * Both sizes, without defaults.
 *
 * @example
 * const groupsPerBatch = Setting.withDefault(BatchSettings.BatchSettings.fields.groupsPerBatch, 16)
 */
export const BatchSettings = Schema.Struct({
  /** Problems in each iteration. */
  groupsPerBatch: Setting.int({ least: 1, unit: "problems", help: "Problems in each iteration" }),
  /** Attempts at each problem, whose rewards are compared with each other. */
  groupSize: Setting.int({
    least: 1,
    unit: "attempts",
    help: "Attempts at each problem, whose rewards are compared with each other"
  })
})
export interface BatchSettings extends Required<Schema.Codec.Encoded<typeof BatchSettings>> {}

/** Requires the number of groups per batch to be an integer ≥ 1. */
export const checks = ({ groupsPerBatch }: Pick<BatchSettings, "groupsPerBatch">): ReadonlyArray<Check.Check> =>
  Setting.checks(BatchSettings)({ groupsPerBatch })
