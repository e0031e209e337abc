/** The rollouts of a recorded run, with what training made of them. */
import { RunRecord, type RunStore } from "@effect-rl/core"
import type { Trajectory } from "@effect-rl/core/environments"
import { GroupResult } from "@effect-rl/core/program"
import { GroupPayload } from "@effect-rl/core/records"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"

/** A group as it was rolled out. */
export interface RecordedGroup {
  readonly record: RunRecord.GroupRolledOut
  readonly result: GroupResult.GroupResult
  /** Position in its batch: of the groups that an iteration credited, or of an evaluation's groups by key. */
  readonly index: number
  /** One per member; empty where no update used the group. */
  readonly advantages: ReadonlyArray<number>
}

export type Credit = RunRecord.Credited["groups"][number]

/** Groups that belong together: those of a training iteration, or of one evaluator's measurement before it. */
export interface Batch {
  readonly iteration: number
  /** Undefined for training. */
  readonly evaluator: string | undefined
  readonly groups: ReadonlyArray<RunRecord.GroupRolledOut>
  /** What updates made of them, those of later iterations included; none of an evaluation. */
  readonly credits: ReadonlyArray<Credit>
}

const idOf = ({ evaluator, iteration }: RunRecord.GroupRolledOut) => JSON.stringify([iteration, evaluator ?? null])

const sorted = (groups: ReadonlyArray<RunRecord.GroupRolledOut>, credits: ReadonlyArray<Credit>) => {
  const positions = new Map(credits.map(({ key }, index) => [key, index]))
  const position = ({ key }: RunRecord.GroupRolledOut) => positions.get(key) ?? positions.size
  return groups.toSorted(
    (left, right) => position(left) - position(right) || (left.key < right.key ? -1 : left.key > right.key ? 1 : 0)
  )
}

/** What updates made of groups, by the batch that the groups are of. */
const creditsOf = (records: ReadonlyArray<RunRecord.RunRecord>) => {
  const credits = new Map<number, Array<Credit>>()
  for (const { groups, iteration: update } of records.filter(RunRecord.guards.Credited)) {
    for (const credit of groups) {
      const { iteration: batch = update } = credit
      const found = credits.get(batch)
      if (found === undefined) credits.set(batch, [credit])
      else found.push(credit)
    }
  }
  return credits
}

/** The batches of the records that count, in the order in which they began; groups in an order that no timing changes. */
export const batches = (records: ReadonlyArray<RunRecord.RunRecord>): ReadonlyArray<Batch> => {
  const current = RunRecord.current(records)
  const credited = creditsOf(current)
  const groups = new Map<string, Array<RunRecord.GroupRolledOut>>()
  for (const record of current.filter(RunRecord.guards.GroupRolledOut)) {
    const id = idOf(record)
    groups.set(id, [...groups.get(id) ?? [], record])
  }
  return [...groups.values()].flatMap((found): ReadonlyArray<Batch> => {
    const [first] = found
    if (first === undefined) return []
    const { evaluator, iteration } = first
    const credits = evaluator === undefined ? credited.get(iteration) ?? [] : []
    return [{ iteration, evaluator, groups: sorted(found, credits), credits }]
  })
}

/** Name of the model that the run trains; empty where the records do not say. */
export const model = (records: ReadonlyArray<RunRecord.RunRecord>): string => {
  const name = records.findLast(RunRecord.guards.Opened)?.identity["model"]
  return typeof name === "string" ? name : ""
}

/** A batch's groups with their trajectories; groups whose payload is not recorded are left out. */
export const load = Effect.fnUntraced(function*(run: RunStore.RunReader, { credits, groups }: Batch) {
  const advantages = new Map(credits.map(({ advantages, key }) => [key, advantages]))
  const loaded = yield* Effect.forEach(groups, (record, index) =>
    record.payload === undefined
      ? Effect.succeed([])
      : Effect.map(
        Effect.flatMap(run.payload(record.payload), GroupPayload.decode),
        (result): ReadonlyArray<RecordedGroup> => [
          { record, result, index, advantages: advantages.get(record.key) ?? [] }
        ]
      ))
  return loaded.flat()
})

export type Error = RunStore.RunError | GroupPayload.GroupPayloadError

/**
 * The batches of a run, one after the other with their trajectories.
 *
 * @example
 * const longest = Rollouts.stream(reader).pipe(
 *   Stream.flatMap(([, groups]) => Stream.fromIterable(groups.flatMap(Rollouts.members))),
 *   Stream.runFold(() => 0, (most, { trajectory }) => Math.max(most, Trajectory.actionTokens(trajectory)))
 * )
 */
export const stream = (
  run: RunStore.RunReader
): Stream.Stream<readonly [batch: Batch, groups: ReadonlyArray<RecordedGroup>], Error> =>
  Stream.unwrap(
    Effect.map(
      Stream.runCollect(run.read),
      (records) =>
        Stream.mapEffect(
          Stream.fromIterable(batches(records)),
          (batch) => Effect.map(load(run, batch), (groups) => [batch, groups] as const)
        )
    )
  )

/** A member that finished. */
export interface Member {
  readonly group: RecordedGroup
  readonly member: number
  readonly trajectory: Trajectory.Trajectory
  readonly reward: number
  /** Undefined where no update used it. */
  readonly advantage: number | undefined
}

/** The members that finished, in order. */
export const members = (group: RecordedGroup): ReadonlyArray<Member> => {
  const { advantages, result } = group
  return GroupResult.isSkipped(result)
    ? []
    : GroupResult.survivors(result).map(([member, trajectory]) => ({
      group,
      member,
      trajectory,
      reward: result.rewardsG[member] ?? NaN,
      advantage: advantages[member]
    }))
}
