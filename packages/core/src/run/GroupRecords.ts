/** Records groups when they finish, and reuses recorded groups that a resumed run would otherwise sample again. */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Struct from "effect/Struct"
import * as Trajectory from "../env/Trajectory.ts"
import * as Key from "../records/Key.ts"
import * as RunRecord from "../records/RunRecord.ts"
import { type RunError, RunStore } from "../records/RunStore.ts"
import * as Usage from "../records/Usage.ts"
import type { Finished, GroupLog, Origin } from "../rollout/GroupLog.ts"
import * as GroupMeasures from "../rollout/GroupMeasures.ts"
import * as GroupResult from "../rollout/GroupResult.ts"
import * as GroupPayload from "../rollout/payload/GroupPayload.ts"
import * as Story from "../story/Story.ts"
import type { Note } from "./Program.ts"
import type { Budget } from "./spending/Budget.ts"

/** What a group is for: training, or an evaluator's measurement before an iteration. */
export type Purpose = { readonly _tag: "Training" } | {
  readonly _tag: "Evaluation"
  readonly evaluator: string
  readonly iteration: number
  readonly step: number
}

export const training: Purpose = { _tag: "Training" }

const summary = (trajectory: Trajectory.Trajectory): RunRecord.MemberSummary => ({
  turns: trajectory.transitions.length,
  sampled: Trajectory.actionTokens(trajectory),
  observed: Trajectory.observationTokens(trajectory),
  stopReason: Option.getOrNull(trajectory.stopReason),
  truncated: Trajectory.isTruncated(trajectory)
})

const timesOf = (result: GroupResult.Group): RunRecord.GroupTimes => {
  const turns = GroupResult.survivors(result).flatMap(([, { transitions }]) => transitions)
  return {
    sampling: turns.reduce((sum, { times }) => sum + (times?.sampling ?? 0), 0),
    environment: turns.reduce((sum, { times }) => sum + (times?.environment ?? 0), 0),
    grading: result.grading?.milliseconds ?? 0
  }
}

const outcome = (result: GroupResult.GroupResult) =>
  GroupResult.isSkipped(result)
    ? { rewards: [], members: [], failures: failuresOf(result), retries: 0 }
    : {
      rewards: Array.from(result.rewardsG),
      members: result.members.map((member) => Option.getOrNull(Option.map(member, summary))),
      failures: result._tag === "Partial" ? result.dropped : [],
      retries: result.retried.length,
      times: timesOf(result)
    }

const failuresOf = ({ dropped, reason }: GroupResult.Skipped) =>
  reason.failure === "BelowFloor" || dropped.includes(reason)
    ? dropped
    : [...dropped, reason]

/** The fields of a group record as text, for comparison. */
const told = (
  { failures, members, outcome, retries, rewards, tags }: Pick<
    RunRecord.GroupRolledOut,
    "failures" | "members" | "outcome" | "retries" | "rewards" | "tags"
  >
) => ({
  outcome,
  tags: JSON.stringify(tags),
  rewards: rewards.map((reward) => reward + 0).join(", "),
  members: members.map((member) =>
    member === null
      ? "none"
      : `${member.turns}, ${member.sampled}, ${member.observed}, ${member.stopReason}, ${member.truncated}`
  ).join("; "),
  failures: JSON.stringify(
    failures.map(({ attempt, failure, member, message }) => [member, attempt, failure, message])
  ),
  retries: String(retries)
})

/** The first field in which a group's record contradicts its payload; undefined if none does. */
const contradiction = (record: RunRecord.GroupRolledOut, result: GroupResult.GroupResult): string | undefined => {
  const stored = told(record)
  const found = told({ outcome: result._tag, tags: result.tags, ...outcome(result) })
  const fields = Struct.keys(stored)
  const field = fields.find((field) => stored[field] !== found[field])
  return field === undefined ? undefined : `its payload has ${field} ${found[field]}, its record ${stored[field]}`
}

const place = (purpose: Purpose, origin: Origin) =>
  purpose._tag === "Training"
    ? Struct.omit(origin, ["key"])
    : { iteration: purpose.iteration, step: purpose.step, evaluator: purpose.evaluator }

interface Place {
  readonly evaluator?: string
  readonly instructionDigest?: string
  readonly iteration: number
  readonly step: number
}

/**
 * A group's id for reuse. It includes the digest of the instruction if the program optimises one. For evaluation groups it also includes
 * the weights; training groups may be reused with newer weights.
 */
const id = ({ evaluator, instructionDigest = "", iteration, step }: Place, key: string) =>
  `${Key.ofGroup({ evaluator, iteration, key })} ${evaluator === undefined ? "" : step} ${instructionDigest}`

/**
 * Makes the test for recorded groups that must be sampled again. After a failed run, these are the groups that lost members and were not
 * trained on, because the cause may have been fixed; otherwise there are none.
 */
export const isGivenUp = (records: ReadonlyArray<RunRecord.RunRecord>) => {
  const last = records.findLast(RunRecord.isAnyOf(["Opened", "Failed", "Finished"]))
  if (last?._tag !== "Failed") return () => false
  const story = Story.fromRecords(records)
  const isTrainedOn = (record: RunRecord.GroupRolledOut) =>
    (Story.credit(story, record)?.update ?? Infinity) < last.iteration
  return (record: RunRecord.GroupRolledOut) => record.outcome !== "Completed" && !isTrainedOn(record)
}

/**
 * The newest record of each reusable group. Records after sequence number `after` are reusable. Earlier records that were not abandoned are
 * reusable only for training or for an unfinished evaluation, because these groups may have been waiting when the checkpoint was saved.
 */
const reusable = ({ after, records, unfinished }: Pick<Options, "after" | "records" | "unfinished">) => {
  const givenUp = isGivenUp(records)
  const isWaiting = ({ evaluator, iteration }: RunRecord.GroupRolledOut) =>
    evaluator === undefined || unfinished.some((one) => one.evaluator === evaluator && one.iteration === iteration)
  const kept = RunRecord.current(records).filter(RunRecord.guards.GroupRolledOut).filter(
    (record) => record.sequence <= after && isWaiting(record)
  )
  const abandoned = records.filter(RunRecord.guards.GroupRolledOut).filter(({ sequence }) => sequence > after)
  const groups = [...kept, ...abandoned].filter((record) => record.payload !== undefined && !givenUp(record))
  return new Map(groups.map((record) => [id(record, record.key), record]))
}

export interface Options {
  /** The earlier records of the run. */
  readonly records: ReadonlyArray<RunRecord.RunRecord>
  /** The sequence number of the last record before the point from which the run resumes; later records are abandoned. */
  readonly after: number
  /** The evaluations that the resumed run continues. */
  readonly unfinished: ReadonlyArray<{ readonly evaluator: string; readonly iteration: number }>
  readonly budget: Budget
  readonly append: (note: Note) => Effect.Effect<unknown, RunError>
  /** Fails with the first error while writing or reading a group; that group then waits until the run ends. */
  readonly failure: Deferred.Deferred<never, RunError>
}

/** Makes the group log that a run provides to its program and its evaluators. */
export const make = Effect.fnUntraced(function*(options: Options) {
  const { after, append, budget, failure } = options
  const store = yield* RunStore
  const groups = reusable(options)
  const orFailRun = <A>(effect: Effect.Effect<A, RunError>): Effect.Effect<A> =>
    Effect.catch(effect, (error) => Effect.andThen(Deferred.fail(failure, error), Effect.never))

  const write = Effect.fnUntraced(function*(
    purpose: Purpose,
    origin: Origin,
    { result, usage }: Finished,
    milliseconds: number,
    recalled: number | undefined
  ) {
    const spent = yield* budget.spent
    yield* append({
      entry: {
        _tag: "GroupRolledOut",
        ...place(purpose, origin),
        key: origin.key,
        tags: result.tags,
        outcome: result._tag,
        ...outcome(result),
        measures: GroupMeasures.of(result),
        milliseconds,
        usage,
        spent,
        ...(recalled === undefined ? {} : { recalled })
      },
      payload: GroupPayload.encode(result)
    })
  })

  const again = Effect.fnUntraced(function*({ key }: RunRecord.GroupRolledOut, detail: string) {
    const message = `group "${key}" is sampled again: ${detail}`
    yield* Effect.logWarning(message)
    yield* append({ entry: { _tag: "Warning", message } })
    return Option.none()
  })

  /**
   * The recorded group. `None`, with a warning, if its payload is missing, for instance after a power failure, is invalid, or contradicts
   * the record.
   */
  const stored = (record: RunRecord.GroupRolledOut) =>
    record.payload === undefined
      ? Effect.succeed(Option.none())
      : Effect.flatMap(store.payload(record.payload), GroupPayload.decode).pipe(
        Effect.matchEffect({
          onFailure: ({ message }) => again(record, message),
          onSuccess: (result) => {
            const detail = contradiction(record, result)
            return detail === undefined ? Effect.succeed(Option.some(result)) : again(record, detail)
          }
        })
      )

  const recall = Effect.fnUntraced(function*(purpose: Purpose, origin: Origin) {
    const record = groups.get(id(place(purpose, origin), origin.key))
    if (record === undefined) return Option.none()
    const result = yield* stored(record)
    if (Option.isNone(result)) return Option.none()
    const group: Finished = { result: result.value, usage: record.usage ?? Usage.zero }
    if (record.sequence > after) {
      const sampled = { ...origin, ...Struct.pick(record, ["step", "began", "ended"]) }
      yield* write(purpose, sampled, group, record.milliseconds, record.recalled ?? record.sequence)
    }
    return Option.some(group)
  })

  return (purpose: Purpose): GroupLog => ({
    recall: (origin) => groups.size === 0 ? Effect.succeed(Option.none()) : orFailRun(recall(purpose, origin)),
    write: (origin, group, milliseconds) => orFailRun(write(purpose, origin, group, milliseconds, undefined))
  })
})
