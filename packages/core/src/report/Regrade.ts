/**
 * Re-grading of a recorded run: what its curve and its training data would have been with other rewards, another rule of credit or fewer
 * groups. Reads only records; nothing is sampled.
 */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as Advantage from "../learn/Advantage.ts"
import * as Credit from "../learn/Credit.ts"
import type { TrainingDatum } from "../learn/TrainingData.ts"
import type { Json } from "../records/Json.ts"
import * as RunRecord from "../records/RunRecord.ts"
import type { RunError, RunReader } from "../records/RunStore.ts"
import * as StepMetrics from "../rl/StepMetrics.ts"
import * as GroupResult from "../rollout/GroupResult.ts"
import * as GroupPayload from "../rollout/payload/GroupPayload.ts"

/** The changes to make to the recorded run. */
export interface Options<out E = never, out R = never> {
  /** Default `Credit.groupRelative(Advantage.centered)`. */
  readonly credit?: Credit.Credit<E, R>
  /** Another total reward of a member that finished; the recorded one unless given. */
  readonly reward?: (group: GroupResult.Group, member: number) => number
  /** The groups to keep; all unless given. */
  readonly keep?: (group: GroupResult.Group) => boolean
}

/** Rules of credit without settings of their own, by their names in the command line. */
export const rules: Readonly<Record<string, Credit.Credit>> = {
  centered: Credit.groupRelative(Advantage.centered),
  leave_one_out: Credit.groupRelative(Advantage.leaveOneOut),
  normalized: Credit.groupRelative(Advantage.normalized()),
  max_rl: Credit.groupRelative(Advantage.maxRl),
  length_weighted: Credit.groupRelative(Advantage.lengthWeighted),
  pass_at_k: Credit.groupRelative(Advantage.passAtK()),
  batch_relative: Credit.batchRelative()
}

/** One iteration as it would have been. */
export interface Regraded {
  readonly iteration: number
  readonly reward: RunRecord.Reward
  /** In the order in which the run credited them. */
  readonly groups: ReadonlyArray<Credit.GroupCredit>
  readonly data: ReadonlyArray<TrainingDatum>
}

/** The training groups of an iteration, in the order in which they were credited. */
interface Recorded {
  readonly iteration: number
  readonly groups: ReadonlyArray<RunRecord.GroupRolledOut>
}

const recorded = (records: ReadonlyArray<RunRecord.RunRecord>): ReadonlyArray<Recorded> => {
  const byIteration = new Map<number, Array<RunRecord.GroupRolledOut>>()
  const positions = new Map<number, ReadonlyMap<string, number>>()
  for (const record of RunRecord.current(records)) {
    if (record._tag === "GroupRolledOut" && record.evaluator === undefined) {
      const groups = byIteration.get(record.iteration) ?? []
      byIteration.set(record.iteration, groups)
      groups.push(record)
    }
    if (record._tag === "Credited") {
      positions.set(record.iteration, new Map(record.groups.map(({ key }, index) => [key, index])))
    }
  }
  return [...byIteration].map(([iteration, groups]) => {
    const position = positions.get(iteration)
    return {
      iteration,
      groups: groups.toSorted((left, right) => (position?.get(left.key) ?? 0) - (position?.get(right.key) ?? 0))
    }
  })
}

const rewarded = (result: GroupResult.GroupResult, reward: Options["reward"]): GroupResult.GroupResult =>
  GroupResult.isSkipped(result) || reward === undefined
    ? result
    : {
      ...result,
      rewardsG: result.rewardsG.map((total, member) => Number.isNaN(total) ? NaN : reward(result, member))
    }

/**
 * The iterations of a recorded run, graded anew.
 *
 * @example
 * const reader = yield* RunDirectory.open("runs/sums")
 * yield* Regrade.run(reader, { credit: Credit.groupRelative(Advantage.leaveOneOut) }).pipe(
 *   Stream.runForEach(({ data, iteration, reward }) => Console.log(iteration, reward.mean, data.length))
 * )
 */
export const run = <E = never, R = never>(
  reader: RunReader,
  { keep = () => true, reward, ...options }: Options<E, R> = {}
): Stream.Stream<Regraded, RunError | GroupPayload.GroupPayloadError | E, R> => {
  const credit: Credit.Credit<E, R> = options.credit ?? Credit.groupRelative(Advantage.centered)
  const load = Effect.fnUntraced(function*({ payload }: RunRecord.GroupRolledOut) {
    if (payload === undefined) return []
    const result = rewarded(yield* GroupPayload.decode(yield* reader.payload(payload)), reward)
    return GroupResult.isSkipped(result) || keep(result) ? [result] : []
  })
  const regrade = Effect.fnUntraced(function*(memory: Json, { groups, iteration }: Recorded) {
    const results = (yield* Effect.forEach(groups, load)).flat()
    const assigned = yield* credit.assign(results, memory)
    const regraded: Regraded = {
      iteration,
      reward: StepMetrics.reward(StepMetrics.rollouts(results)),
      groups: assigned.groups,
      data: assigned.groups.flatMap(({ data }) => data)
    }
    const next: readonly [Json, ReadonlyArray<Regraded>] = [assigned.memory, [regraded]]
    return next
  })
  return Stream.unwrap(
    Effect.map(
      Stream.runCollect(reader.read),
      (records) => Stream.mapAccumEffect(Stream.fromIterable(recorded(records)), (): Json => null, regrade)
    )
  )
}
