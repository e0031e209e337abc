/**
 * Records of a run: the typed, append-only history that resuming, reports, viewers and exports read.
 *
 * Every record carries its time (`at`, milliseconds since 1970), its `segment` (1 for the first opening of the run, plus one for each later
 * opening) and its `sequence` number (from 0, without gaps). Large values, such as transcripts, are a record's `payload`: they are stored
 * beside the records and read by byte range.
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

/** The location of a payload in its store, such as a byte range in a file. `sum` is a checksum, absent if the store has none. */
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

/**
 * The mean reward of all sampled members, and its standard error over groups. `low` and `high` bound its 95 % interval if the normal
 * approximation does not hold, as for rewards that are all 0 or 1.
 */
export const Reward = Schema.Struct({
  mean: Schema.Number,
  standardError: Schema.optionalKey(Schema.Number),
  low: Schema.optionalKey(Schema.Number),
  high: Schema.optionalKey(Schema.Number)
})
export interface Reward extends Schema.Schema.Type<typeof Reward> {}

/**
 * The run starts or resumes. `iteration` is the index of the next iteration, and `iterations` the number of all, null if the run has no
 * fixed end. After a resume, the records between sequence number `continuesAfter` and this record are abandoned: they were written after
 * the checkpoint that the run resumes from.
 */
export const Opened = Schema.TaggedStruct("Opened", {
  ...stamp,
  program: Schema.String,
  /** Version of @effect-rl/core. */
  version: Schema.String,
  /** The options that must be equal for the run to be resumed. */
  identity: Schema.JsonObject,
  /** A hash of the source text of environments and graders. A change between segments causes a warning, not an error. */
  code: Schema.optionalKey(Schema.String),
  /** The options that may change between segments. */
  settings: Schema.JsonObject,
  capabilities: Schema.JsonObject,
  /** How this segment was started; absent if the run's caller did not say. */
  launch: Schema.optionalKey(Launch),
  iteration: Schema.Natural,
  iterations: Schema.NullOr(Schema.Int),
  resumedFrom: Schema.NullOr(Schema.String),
  continuesAfter: Schema.Int,
  warnings: Schema.Array(Schema.String)
})

/**
 * A group of dataset batch `iteration`. `began` is the number of iterations that its initial weights were trained for; a reused group also
 * has `ended`, the number of finished iterations when its rollout ended.
 */
const Begun = Schema.Struct({
  iteration: Schema.Natural,
  key: Schema.String,
  began: Schema.Int,
  ended: Schema.optionalKey(Schema.Int)
})

/** The answers of the model that is asked for a better instruction. */
const Proposal = Schema.Struct({
  /** A digest of the instruction that was to be improved. */
  parentDigest: Schema.String,
  /** The new instruction; absent if no answer had one. */
  instruction: Schema.optionalKey(Schema.String),
  /** Why earlier answers were not used, in order. */
  refusals: Schema.Array(Schema.Literals(["missing", "long", "known"])),
  /** The tokens of all answers. */
  usage: Usage
})

/** The rollouts of `groups` groups start, with the weights after `step` optimizer steps. */
export const Sampling = Schema.TaggedStruct("Sampling", {
  ...stamp,
  iteration: Schema.Natural,
  step: Schema.Natural,
  groups: Schema.Int,
  /** The groups; present only if they may be trained on in another iteration than the one in which they begin. */
  begun: Schema.optionalKey(Schema.Array(Begun)),
  /**
   * The reflector's answers after the iteration's first groups; present only in an iteration's second record in a run that optimises
   * instructions. `groups` counts these groups and, if there is a new instruction, those that are sampled with it.
   */
  proposal: Schema.optionalKey(Proposal)
})

/** The age of a group in iterations, relative to the weights before its update, split into rollout time and queue time. */
export const Staleness = Schema.Struct({
  /** Iterations that finished between the start and the end of the rollout. */
  inFlight: Schema.Int,
  /** Iterations that finished between the end of the rollout and the update. */
  inQueue: Schema.Int
})
export interface Staleness extends Schema.Schema.Type<typeof Staleness> {}

const FailureReport = Schema.Struct({
  member: Schema.Int,
  attempt: Schema.Int,
  failure: Schema.String,
  message: Schema.String
})

/** A member that finished: its turns, its tokens and how it ended. */
export const MemberSummary = Schema.Struct({
  turns: Schema.Int,
  sampled: Schema.Int,
  observed: Schema.Int,
  stopReason: Schema.NullOr(Schema.String),
  truncated: Schema.Boolean
})
export interface MemberSummary extends Schema.Schema.Type<typeof MemberSummary> {}

/**
 * Durations in milliseconds: sampling and environment time, each added up over all turns of the members that finished, and the time to
 * grade the group. The payload has the times of each turn.
 */
export const GroupTimes = Schema.Struct({
  sampling: Schema.Finite,
  environment: Schema.Finite,
  grading: Schema.Finite
})
export interface GroupTimes extends Schema.Schema.Type<typeof GroupTimes> {}

type Values = ReadonlyArray<ReadonlyArray<number | null> | null>

const isValue = (value: Schema.Json) => value === null || typeof value === "number"

const isValues = (values: Schema.Json): values is Values =>
  Array.isArray(values) && values.every((member) => member === null || (Array.isArray(member) && member.every(isValue)))

/** What lists of rollouts and problems show of a group, so they need not read its payload. */
export const GroupMeasures = Schema.Struct({
  /** The environment's question and expected answer, each cut to 300 characters. Without a question, `question` is the group's key. */
  problem: Schema.Struct({
    question: Schema.String,
    reference: Schema.String,
    /** A digest of the whole texts; absent if none was cut. */
    digest: Schema.optionalKey(Schema.String)
  }),
  names: Schema.Array(Schema.String),
  /** The values of each member, in the order of `names`; null for a measure that the member lacks, and for a dropped member. */
  // A schema of each number would take a third of the time to read a run's records.
  members: Schema.Json.pipe(Schema.refine(isValues, { expected: "numbers or null for each member" }))
})
export interface GroupMeasures extends Schema.Schema.Type<typeof GroupMeasures> {}

/** A group was rolled out, for training or for the named evaluator. The payload holds its trajectories without loss. */
export const GroupRolledOut = Schema.TaggedStruct("GroupRolledOut", {
  ...stamp,
  /** The evaluator that the group was rolled out for; absent for training groups. */
  evaluator: Schema.optionalKey(Schema.String),
  /** A digest of the instruction that the group was sampled with; present only in runs that optimise instructions. */
  instructionDigest: Schema.optionalKey(Schema.String),
  iteration: Schema.Natural,
  /** The number of iterations that the weights had been trained for when the rollout started; default: `iteration`. */
  began: Schema.optionalKey(Schema.Int),
  /** The number of iterations that were finished when the rollout ended; default: `iteration`. */
  ended: Schema.optionalKey(Schema.Int),
  step: Schema.Natural,
  key: Schema.String,
  tags: Schema.Array(Schema.String),
  outcome: Schema.Literals(["Completed", "Partial", "Skipped"]),
  /** Total reward of each member; NaN for a dropped member. Empty for a skipped group. */
  rewards: Schema.Array(Schema.Number),
  /** A summary of each member; null for a dropped member. Empty for a skipped group. */
  members: Schema.Array(Schema.NullOr(MemberSummary)),
  failures: Schema.Array(FailureReport),
  /** The number of failed attempts that a retry replaced. */
  retries: Schema.Int,
  milliseconds: Schema.Finite,
  /** The durations of the rollout; absent for a skipped group. */
  times: Schema.optionalKey(GroupTimes),
  /** Absent in records of earlier versions, whose measures are computed from the payload. */
  measures: Schema.optionalKey(GroupMeasures),
  /**
   * Tokens of all requests for the group: those of its members, failed attempts included, of other players and of judges. Absent in records
   * of earlier versions, which readers count as zero.
   */
  usage: Schema.optionalKey(Usage),
  /** Everything that the run has paid for so far, including abandoned iterations. */
  spent: Spent,
  /** The sequence number of the abandoned record whose group is reused instead of being sampled again. */
  recalled: Schema.optionalKey(Schema.Int)
})

/**
 * The training data of an iteration: the advantages of each group's members, and the datums built from them, in order. Per-token credit is
 * in the payload. The update excludes filtered and stale groups; it includes quarantined groups, but without datums.
 */
export const Credited = Schema.TaggedStruct("Credited", {
  ...stamp,
  iteration: Schema.Natural,
  groups: Schema.Array(Schema.Struct({
    key: Schema.String,
    verdict: Schema.Literals(["informative", "constant", "skipped", "quarantined", "filtered", "stale"]),
    /** Why the group is not trained on; for a quarantined group, what is suspected. */
    reason: Schema.optionalKey(Schema.String),
    /** One advantage per member; empty if the group received none. */
    advantages: Schema.Array(Schema.Number),
    /** The group's dataset batch; absent if it is always the record's iteration. */
    iteration: Schema.optionalKey(Schema.Int),
    staleness: Schema.optionalKey(Staleness)
  })),
  datums: Schema.Array(Schema.Struct({
    group: Schema.String,
    /** The group's dataset batch; absent if it is the record's iteration. */
    iteration: Schema.optionalKey(Schema.Int),
    member: Schema.Int,
    /** Index of the datum within its member; absent for the first, 0. */
    segment: Schema.optionalKey(Schema.Int),
    ...Key.turnFields,
    /** The number of positions; `trained` counts those whose target is trained. */
    length: Schema.Int,
    trained: Schema.Int,
    /** Index of the update within the iteration. */
    update: Schema.Int
  }))
})

const PassReport = Schema.Struct({
  loss: Schema.String,
  /** How the loss was computed: by the backend from its name or its graph, or in two passes with a locally computed gradient. */
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

/** Memory and processor use of the process that writes the run, since the previous iteration. */
export const ProcessUse = Schema.Struct({
  /** Resident memory at the end of the iteration, in bytes. */
  memory: Schema.Finite,
  /** The average number of processors that the process kept busy. */
  processors: Schema.Finite
})
export interface ProcessUse extends Schema.Schema.Type<typeof ProcessUse> {}

/**
 * An iteration is done: its metrics, and one report per optimizer step (none if there was no signal). With policy losses, the payload has
 * the trained tokens one by one; see `TrainedTokens`.
 */
export const Updated = Schema.TaggedStruct("Updated", {
  ...stamp,
  iteration: Schema.Natural,
  metrics: Numbers,
  /** The mean reward of the sampled members; absent if the program has no rewards. */
  reward: Schema.optionalKey(Reward),
  updates: Schema.Array(UpdateReport),
  spent: Spent,
  /** The expected spending at the end of the run, extrapolated from its current rate; absent if the run has no fixed end. */
  forecast: Schema.optionalKey(Spent),
  /** Absent if the run was not given a way to measure its process. */
  process: Schema.optionalKey(ProcessUse)
})

/** An evaluator starts to measure the weights before `iteration`. */
export const Evaluating = Schema.TaggedStruct("Evaluating", {
  ...stamp,
  iteration: Schema.Natural,
  step: Schema.Natural,
  evaluator: Schema.String,
  /** The path of the saved weights that are measured while training continues; absent if training waits for the evaluator. */
  weights: Schema.optionalKey(Schema.String),
  /** The digest of the saved weights; the backend refuses different weights at the path. */
  weightsDigest: Schema.optionalKey(Schema.String)
})

/** The fraction of correct answers, and the ends of its 95 % confidence interval. */
export const Share = Schema.Struct({ value: Schema.Number, low: Schema.Number, high: Schema.Number })
export interface Share extends Schema.Schema.Type<typeof Share> {}

/** An evaluator measured the weights before `iteration`. */
export const Evaluated = Schema.TaggedStruct("Evaluated", {
  ...stamp,
  iteration: Schema.Natural,
  step: Schema.Natural,
  evaluator: Schema.String,
  metrics: Numbers,
  /** The fraction of correct answers; absent if the evaluator does not grade answers as correct or incorrect. */
  score: Schema.optionalKey(Share),
  reward: Schema.optionalKey(Reward),
  seconds: Schema.Finite,
  spent: Spent
})

/** A checkpoint after `iteration` iterations, from which the run can resume. */
export const Saved = Schema.TaggedStruct("Saved", {
  ...stamp,
  iteration: Schema.Natural,
  name: Schema.String,
  kind: Schema.Literals(["periodic", "rolling", "final", "interrupted"]),
  statePath: Schema.String,
  /** The digest with which the backend verifies the state at the path; absent if the backend verifies none. */
  stateDigest: Schema.optionalKey(Schema.String),
  samplerPath: Schema.NullOr(Schema.String),
  optimizerSteps: Schema.Natural,
  /** Tokens of the iterations up to the checkpoint: of their groups, their credit and their updates. */
  usage: Usage,
  /** The program's state, encoded by its own codec. */
  cursor: Schema.Json,
  /** When the backend deletes the checkpoint, in milliseconds since 1970; null if it never expires. */
  expiresAt: Schema.NullOr(Schema.Finite)
})

/** A message for the user; the run continues. */
export const Warning = Schema.TaggedStruct("Warning", { ...stamp, message: Schema.String })

/** The total spending so far, unfinished iterations included; absent in records of earlier versions. */
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
  /** The path of the last checkpoint's state; null if an interrupted run has no checkpoint. */
  checkpoint: Schema.NullOr(Schema.String),
  spent: atEnd
})

/** The run failed; `error` is the tag of its error. */
export const Failed = Schema.TaggedStruct("Failed", {
  ...stamp,
  iteration: Schema.Natural,
  error: Schema.String,
  message: Schema.String,
  /** The rollout that failed; absent for other failures. `iteration` counts from 0; `member` is absent if the whole group failed. */
  where: Schema.optionalKey(Schema.Struct({
    iteration: Schema.Int,
    group: Schema.String,
    member: Schema.optionalKey(Schema.Int)
  })),
  spent: atEnd
})

/** The schema of all records of a run. */
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

/** A record that the store has not stamped with its time, segment and sequence number yet. */
export type Entry = Unstamped<RunRecord>

/** The codec between records and JSON values. NaN and the infinities become strings. */
export const codec = Schema.toCodecJson(RunRecord)

/** Type guards by tag: `guards.Updated` narrows a record to `Updated`. */
export const guards: {
  readonly [Tag in RunRecord["_tag"]]: (value: unknown) => value is Extract<RunRecord, { readonly _tag: Tag }>
} = RunRecord.guards

/** Matches a record by its tag; see `Schema.TaggedUnion`. */
export const { match, matchOrElse } = RunRecord

/** Makes a test for records with one of the given tags. */
export const isAnyOf: <const Tag extends RunRecord["_tag"]>(
  tags: ReadonlyArray<Tag>
) => (record: RunRecord) => record is Extract<RunRecord, { readonly _tag: Tag }> = RunRecord.isAnyOf

/**
 * The records without those that a resume abandoned. A reused group from an abandoned record is represented by the record that recalls it.
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

/** A record as a JSON value. */
export const toJson = (record: RunRecord): Json => encodeSync(record)

export const version = "0.0.0"
