/**
 * Records of a run: one typed, append-only history from which resuming, reports, viewers and exports read.
 *
 * Every record carries the time it was written (`at`, milliseconds since 1970), the `segment` (1 for the first opening of the run, one
 * more for each later one) and its `sequence` number (from 0, without gaps). Large values, such as transcripts, are a record's `payload`:
 * stored beside the records and read by byte range.
 *
 * @example
 * const line = RunRecord.matchOrElse({
 *   Updated: ({ iteration, reward }) => `${iteration}: ${reward?.mean}`,
 *   Failed: ({ message }) => message
 * }, () => "")
 */
import * as Schema from "effect/Schema"
import type { Json } from "./Json.ts"
import * as Key from "./Key.ts"
import { Launch } from "./Launch.ts"
import { Spent } from "./Spent.ts"
import { Usage } from "./Usage.ts"

/** Where a payload lies: a range of bytes in the store's payload file, and their checksum, by which the store knows them again. */
export const Payload = Schema.Struct({
  offset: Schema.Natural,
  length: Schema.Natural,
  sum: Schema.optionalKey(Schema.String)
})
export interface Payload extends Schema.Schema.Type<typeof Payload> {}

const stamp = {
  at: Schema.Finite,
  segment: Schema.Natural,
  sequence: Schema.Natural,
  payload: Schema.optionalKey(Payload)
}

const Numbers = Schema.Record(Schema.String, Schema.Number)

/** The mean reward over everything that was sampled, and its standard error over groups. */
export const Reward = Schema.Struct({ mean: Schema.Number, standardError: Schema.optionalKey(Schema.Number) })
export interface Reward extends Schema.Schema.Type<typeof Reward> {}

/**
 * The run begins or resumes with `iteration` as the next of `iterations`. Records after the sequence number `continuesAfter`
 * and before this one were abandoned: they were written after the checkpoint from which the run resumes.
 */
export const Opened = Schema.TaggedStruct("Opened", {
  ...stamp,
  program: Schema.String,
  /** Version of @effect-rl/core. */
  version: Schema.String,
  /** The options that must be equal for the run to be resumed. */
  identity: Schema.JsonObject,
  /** A hash of the source text of environments and graders, which may change between segments with a warning. */
  code: Schema.optionalKey(Schema.String),
  /** The settings that may change between segments. */
  settings: Schema.JsonObject,
  capabilities: Schema.JsonObject,
  /** Absent where nothing told how the run was started. */
  launch: Schema.optionalKey(Launch),
  iteration: Schema.Natural,
  iterations: Schema.NullOr(Schema.Int),
  resumedFrom: Schema.NullOr(Schema.String),
  continuesAfter: Schema.Int,
  warnings: Schema.Array(Schema.String)
})

/**
 * A group of the dataset's batch `iteration`, and the number of iterations behind the weights that it was begun with; for a group that is
 * used again, also the number of iterations that were done when it ended.
 */
const Begun = Schema.Struct({
  iteration: Schema.Natural,
  key: Schema.String,
  began: Schema.Int,
  ended: Schema.optionalKey(Schema.Int)
})

/** Sampling of `groups` groups begins, with weights after `step` optimizer steps. */
export const Sampling = Schema.TaggedStruct("Sampling", {
  ...stamp,
  iteration: Schema.Natural,
  step: Schema.Natural,
  groups: Schema.Int,
  /** The groups; present where they need not be trained on in the iteration in which they begin. */
  begun: Schema.optionalKey(Schema.Array(Begun))
})

/** The age of a group in iterations, relative to the weights before its update, by when it aged. */
export const Staleness = Schema.Struct({
  /** From its beginning to its end. */
  inFlight: Schema.Int,
  /** From its end to the update. */
  inQueue: Schema.Int
})
export interface Staleness extends Schema.Schema.Type<typeof Staleness> {}

const FailureReport = Schema.Struct({
  member: Schema.Int,
  attempt: Schema.Int,
  failure: Schema.String,
  message: Schema.String
})

/** A member that finished: its turns, tokens and how it ended. */
export const MemberSummary = Schema.Struct({
  turns: Schema.Int,
  sampled: Schema.Int,
  observed: Schema.Int,
  stopReason: Schema.NullOr(Schema.String),
  truncated: Schema.Boolean
})
export interface MemberSummary extends Schema.Schema.Type<typeof MemberSummary> {}

/**
 * How long a group took, in milliseconds: all turns of its members added up, by what they waited for, and the group's rewards. The
 * payload has the times of each turn.
 */
export const GroupTimes = Schema.Struct({
  sampling: Schema.Finite,
  environment: Schema.Finite,
  grading: Schema.Finite
})
export interface GroupTimes extends Schema.Schema.Type<typeof GroupTimes> {}

/** A group was rolled out, for training or for the named evaluator. The payload holds its trajectories, losslessly. */
export const GroupRolledOut = Schema.TaggedStruct("GroupRolledOut", {
  ...stamp,
  /** Absent for training groups. */
  evaluator: Schema.optionalKey(Schema.String),
  iteration: Schema.Natural,
  /** Iterations behind its weights when it began, and iterations done when it ended; `iteration` unless given. */
  began: Schema.optionalKey(Schema.Int),
  ended: Schema.optionalKey(Schema.Int),
  step: Schema.Natural,
  key: Schema.String,
  tags: Schema.Array(Schema.String),
  outcome: Schema.Literals(["Completed", "Partial", "Skipped"]),
  /** Total reward of each member, NaN where it was dropped. */
  rewards: Schema.Array(Schema.Number),
  /** Null where a member was dropped. */
  members: Schema.Array(Schema.NullOr(MemberSummary)),
  failures: Schema.Array(FailureReport),
  /** Failed attempts that a retry made good. */
  retries: Schema.Int,
  milliseconds: Schema.Finite,
  /** Absent where no member finished. */
  times: Schema.optionalKey(GroupTimes),
  /**
   * Tokens of all requests that were made for the group: those of its members, failed attempts too, of other players and of judges. Absent
   * in records that were written before they were counted, which count as none.
   */
  usage: Schema.optionalKey(Usage),
  /** Everything that the run has paid for so far, including abandoned iterations. */
  spent: Spent,
  /** The sequence number of the abandoned record whose group is used again instead of being sampled a second time. */
  recalled: Schema.optionalKey(Schema.Int)
})

/**
 * What an iteration trains on, in order: advantages per member, and the datums that were made of them. Per-token credit is in the
 * payload. A filtered or stale group is not part of the update; a quarantined group is part of it, without datums.
 */
export const Credited = Schema.TaggedStruct("Credited", {
  ...stamp,
  iteration: Schema.Natural,
  groups: Schema.Array(Schema.Struct({
    key: Schema.String,
    verdict: Schema.Literals(["informative", "constant", "skipped", "quarantined", "filtered", "stale"]),
    /** Why a group is not trained on, in words; of a quarantined group, the suspicion. */
    reason: Schema.optionalKey(Schema.String),
    /** One per member; empty where the group is not trained on. */
    advantages: Schema.Array(Schema.Number),
    /** The dataset's batch to which it belongs, where that need not be the record's iteration. */
    iteration: Schema.optionalKey(Schema.Int),
    staleness: Schema.optionalKey(Staleness)
  })),
  datums: Schema.Array(Schema.Struct({
    group: Schema.String,
    /** The dataset's batch to which the group belongs, where that is not the record's iteration. */
    iteration: Schema.optionalKey(Schema.Int),
    member: Schema.Int,
    /** Counts the member's datums from 0; absent for the first. */
    segment: Schema.optionalKey(Schema.Int),
    ...Key.turnFields,
    /** The number of positions, and of those with a target that counts. */
    length: Schema.Int,
    trained: Schema.Int,
    /** Index of the update within the iteration. */
    update: Schema.Int
  }))
})

const PassReport = Schema.Struct({
  loss: Schema.String,
  /** The backend knew the loss by name, computed its graph, or took a gradient that was computed here in two passes. */
  route: Schema.optionalKey(Schema.Literals(["name", "graph", "two-pass"])),
  datums: Schema.Int,
  tokens: Schema.Int,
  metrics: Numbers
})

const UpdateReport = Schema.Struct({
  learningRate: Schema.Number,
  passes: Schema.Array(PassReport),
  metrics: Numbers,
  seconds: Schema.Finite
})

/**
 * An iteration is done: its metrics, and one report for each optimizer step (none where there was no signal). With policy losses, the
 * payload has the trained tokens one by one; see `TrainedTokens`.
 */
export const Updated = Schema.TaggedStruct("Updated", {
  ...stamp,
  iteration: Schema.Natural,
  metrics: Numbers,
  /** Absent where the program has no rewards. */
  reward: Schema.optionalKey(Reward),
  updates: Schema.Array(UpdateReport),
  spent: Spent,
  /** The spending expected at the end of the run, at its present rate; absent if it has no end. */
  forecast: Schema.optionalKey(Spent)
})

/** An evaluator begins to measure the weights before `iteration`. */
export const Evaluating = Schema.TaggedStruct("Evaluating", {
  ...stamp,
  iteration: Schema.Natural,
  step: Schema.Natural,
  evaluator: Schema.String,
  /** Where the weights were saved that are measured beside training; absent where training waits. */
  weights: Schema.optionalKey(Schema.String),
  /** The digest of these weights; the backend refuses others at the path. */
  weightsDigest: Schema.optionalKey(Schema.String)
})

/** A share of correct answers with the ends of its 95 % interval. */
export const Share = Schema.Struct({ value: Schema.Number, low: Schema.Number, high: Schema.Number })
export interface Share extends Schema.Schema.Type<typeof Share> {}

/** An evaluator measured the weights before `iteration`. */
export const Evaluated = Schema.TaggedStruct("Evaluated", {
  ...stamp,
  iteration: Schema.Natural,
  step: Schema.Natural,
  evaluator: Schema.String,
  metrics: Numbers,
  /** Absent where the evaluator does not grade answers as correct or not. */
  score: Schema.optionalKey(Share),
  reward: Schema.optionalKey(Reward),
  seconds: Schema.Finite,
  spent: Spent
})

/** A checkpoint after `iteration` iterations, from which the run can be resumed. */
export const Saved = Schema.TaggedStruct("Saved", {
  ...stamp,
  iteration: Schema.Natural,
  name: Schema.String,
  kind: Schema.Literals(["periodic", "rolling", "final", "interrupted"]),
  statePath: Schema.String,
  /** What a backend compares with the state that it finds at the path; absent where it compares nothing. */
  stateDigest: Schema.optionalKey(Schema.String),
  samplerPath: Schema.NullOr(Schema.String),
  optimizerSteps: Schema.Natural,
  /** Tokens of the iterations up to the checkpoint: of their groups, their credit and their updates. */
  usage: Usage,
  /** The program's state, encoded by its own codec. */
  cursor: Schema.Json,
  /** When the backend deletes it, in milliseconds since 1970; null where it is kept. */
  expiresAt: Schema.NullOr(Schema.Finite)
})

/** A message for people that does not stop the run. */
export const Warning = Schema.TaggedStruct("Warning", { ...stamp, message: Schema.String })

/** What is paid for by then, unfinished iterations too; absent in records that were written before it was counted there. */
const atEnd = Schema.optionalKey(Spent)

/** The run ended after `iteration` iterations. */
export const Finished = Schema.TaggedStruct("Finished", {
  ...stamp,
  iteration: Schema.Natural,
  reason: Schema.Literals([
    "completed",
    "max_tokens_total",
    "max_dollars",
    "max_minutes",
    "max_judge_calls",
    "interrupted"
  ]),
  /** Null where nothing was done, or nothing could be saved. */
  checkpoint: Schema.NullOr(Schema.String),
  spent: atEnd
})

/** The run failed; `error` is the error's tag. */
export const Failed = Schema.TaggedStruct("Failed", {
  ...stamp,
  iteration: Schema.Natural,
  error: Schema.String,
  message: Schema.String,
  /** The rollout that failed; absent where something else did. Its iteration counts from 0; a whole group has no member. */
  where: Schema.optionalKey(Schema.Struct({
    iteration: Schema.Int,
    group: Schema.String,
    member: Schema.optionalKey(Schema.Int)
  })),
  spent: atEnd
})

/** Any record of a run. */
export const RunRecord = Schema.Union([
  Opened,
  Sampling,
  GroupRolledOut,
  Credited,
  Updated,
  Evaluating,
  Evaluated,
  Saved,
  Warning,
  Finished,
  Failed
]).pipe(Schema.toTaggedUnion("_tag"))
export type RunRecord =
  | Opened
  | Sampling
  | GroupRolledOut
  | Credited
  | Updated
  | Evaluating
  | Evaluated
  | Saved
  | Warning
  | Finished
  | Failed

export interface Opened extends Schema.Schema.Type<typeof Opened> {}
export interface Sampling extends Schema.Schema.Type<typeof Sampling> {}
export interface GroupRolledOut extends Schema.Schema.Type<typeof GroupRolledOut> {}
export interface Credited extends Schema.Schema.Type<typeof Credited> {}
export interface Updated extends Schema.Schema.Type<typeof Updated> {}
export interface Evaluating extends Schema.Schema.Type<typeof Evaluating> {}
export interface Evaluated extends Schema.Schema.Type<typeof Evaluated> {}
export interface Saved extends Schema.Schema.Type<typeof Saved> {}
export interface Warning extends Schema.Schema.Type<typeof Warning> {}
export interface Finished extends Schema.Schema.Type<typeof Finished> {}
export interface Failed extends Schema.Schema.Type<typeof Failed> {}

type Unstamped<A> = A extends RunRecord ? Omit<A, keyof typeof stamp> : never

/** A record before the store has stamped it. */
export type Entry = Unstamped<RunRecord>

/** Encodes records as JSON values: NaN and the infinities become strings. */
export const codec = Schema.toCodecJson(RunRecord)

/** Whether a value is a record of one tag: `guards.Updated` narrows to `Updated`. */
export const guards: {
  readonly [Tag in RunRecord["_tag"]]: (value: unknown) => value is Extract<RunRecord, { readonly _tag: Tag }>
} = RunRecord.guards

/** Matches a record by its tag; see `Schema.TaggedUnion`. */
export const { match, matchOrElse } = RunRecord

/** Whether a record has one of some tags. */
export const isAnyOf: <const Tag extends RunRecord["_tag"]>(
  tags: ReadonlyArray<Tag>
) => (record: RunRecord) => record is Extract<RunRecord, { readonly _tag: Tag }> = RunRecord.isAnyOf

/**
 * The records that count: those that no resume abandoned. An abandoned group that was used again is represented by the record that
 * recalls it.
 */
export const current = (records: ReadonlyArray<RunRecord>): ReadonlyArray<RunRecord> => {
  const story: Array<RunRecord> = []
  for (const record of records) {
    if (record._tag === "Opened") {
      while ((story.at(-1)?.sequence ?? -1) > record.continuesAfter) story.pop()
    }
    story.push(record)
  }
  return story
}

const encodeSync = Schema.encodeSync(codec)

/** One record as a value that JSON can hold. */
export const toJson = (record: RunRecord): Json => encodeSync(record)

export const version = "0.0.0"
