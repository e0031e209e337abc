/** Warnings of a run that starts or resumes: logged, and kept in its `Opened` record. */
import type { Capabilities } from "../backend/Capabilities.ts"
import * as RunRecord from "../records/RunRecord.ts"
import type { Program } from "./Program.ts"
import type * as RunOptions from "./RunOptions.ts"

/** A run that is about to be opened. */
export interface Opening {
  readonly capabilities: Pick<Capabilities, "lossReduction">
  readonly settings: Pick<RunOptions.Resolved["run"], "iterations">
  readonly program: Pick<Program<never>, "length" | "shortBatch">
  /** The hash of the sources of its environments and graders. */
  readonly code: string | undefined
  /** The run's records so far. */
  readonly story: ReadonlyArray<RunRecord.RunRecord>
}

const ofReduction = ({ capabilities: { lossReduction } }: Opening) =>
  lossReduction === "token-sum"
    ? undefined
    : `the backend's losses are reduced as "${lossReduction}", learning rates are for sums over tokens`

const ofLength = ({ program: { length }, settings: { iterations = 0 } }: Opening) =>
  iterations <= length
    ? undefined
    : `run.iterations is ${iterations}, but the data end after ${length}, and the run with them: more epochs repeat the data`

const ofShortBatch = ({ program: { shortBatch }, settings: { iterations = Infinity } }: Opening) =>
  shortBatch === undefined || shortBatch.batch >= iterations
    ? undefined
    : `the last batch of each epoch has ${shortBatch.rows} of ${shortBatch.batchSize} rows: dropRemainder leaves it out`

const ofCode = ({ code, story }: Opening) => {
  const before = story.findLast(RunRecord.guards.Opened)?.code
  return before === undefined || code === undefined || before === code
    ? undefined
    : "the source of the environments or graders is not what this run began with: earlier and later rewards may not be "
      + "comparable; begin another run to keep them apart"
}

/** The warnings of a run that is about to be opened. */
export const of = (opening: Opening): ReadonlyArray<string> =>
  [ofReduction, ofLength, ofShortBatch, ofCode].flatMap((warning) => warning(opening) ?? [])
