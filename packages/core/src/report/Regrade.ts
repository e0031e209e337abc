/**
 * Re-grades a recorded run: its reward curve and training data under other rewards, another credit rule or fewer groups. Reads only
 * records; nothing is sampled.
 */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as Weights from "../backend/Weights.ts"
import * as Advantage from "../learn/Advantage.ts"
import * as Assignment from "../learn/Assignment.ts"
import * as Credit from "../learn/Credit.ts"
import type { TrainingDatum } from "../learn/TrainingData.ts"
import type { Json } from "../records/Json.ts"
import type * as RunRecord from "../records/RunRecord.ts"
import type { RunError, RunReader } from "../records/RunStore.ts"
import * as StepMetrics from "../rl/metrics/StepMetrics.ts"
import * as GroupResult from "../rollout/GroupResult.ts"
import * as Rollouts from "../story/Rollouts.ts"
import * as Story from "../story/Story.ts"
import * as StoryReader from "../story/StoryReader.ts"

/** The changes to apply to the recorded run. */
export interface Options<out E = never, out R = never> {
  /** The credit rule; default: `Credit.groupRelative(Advantage.centered)`. */
  readonly credit?: Credit.Credit<E, R>
  /** The new total reward of a member that finished. Default: the recorded reward. */
  readonly reward?: (group: GroupResult.Group, member: number) => number
  /** Which groups to keep; skipped groups are always kept. Default: all. */
  readonly keep?: (group: GroupResult.Group) => boolean
}

/** A re-graded iteration. */
export interface Regraded {
  readonly iteration: number
  readonly reward: RunRecord.Reward
  /** The groups, in the order in which the run credited them. */
  readonly groups: ReadonlyArray<Credit.GroupCredit>
  /** The advantages that the run recorded for each group, in the order of `groups`; empty for a group that received none. */
  readonly recorded: ReadonlyArray<ReadonlyArray<number>>
  readonly data: ReadonlyArray<TrainingDatum>
}

/** The groups listed by an iteration's update. Without an update, the groups of the iteration's batch that no other update lists. */
const batchOf = (story: Story.Story, { credited, groups, index }: Story.Iteration): Story.Batch => ({
  iteration: index,
  evaluator: undefined,
  groups: credited === undefined
    ? groups.filter((group) => Story.credit(story, group) === undefined)
    : Story.updateGroups(story, index)
})

const rewarded = (result: GroupResult.GroupResult, reward: Options["reward"]): GroupResult.GroupResult =>
  GroupResult.isSkipped(result) || reward === undefined
    ? result
    : {
      ...result,
      rewardsG: result.rewardsG.map((total, member) => Number.isNaN(total) ? NaN : reward(result, member))
    }

/** Grades batches of groups in order; credit keeps its memory from batch to batch. */
const grade = <E = never, R = never>(
  run: Pick<RunReader, "payload">,
  story: Story.Story,
  { keep = () => true, reward, ...options }: Options<E, R>
) => {
  const credit: Credit.Credit<E, R> = options.credit ?? Credit.groupRelative(Advantage.centered)
  return Effect.fnUntraced(function*(memory: Json, batch: Story.Batch) {
    const groups = yield* Effect.flatMap(Rollouts.load(run, story, batch), Rollouts.readable)
    const advantages = new Map(groups.map((group) => [rewarded(group.result, reward), group.advantages]))
    const results = [...advantages.keys()].filter((result) => GroupResult.isSkipped(result) || keep(result))
    const assigned = yield* Assignment.assign(credit, results, memory, Weights.absent)
    const regraded: Regraded = {
      iteration: batch.iteration,
      reward: StepMetrics.reward(StepMetrics.rollouts(results)),
      groups: assigned.groups,
      recorded: assigned.groups.map(({ result }) => advantages.get(result) ?? []),
      data: assigned.groups.flatMap(({ data }) => data)
    }
    const next: readonly [Json, ReadonlyArray<Regraded>] = [assigned.memory, [regraded]]
    return next
  })
}

/**
 * Re-grades the iterations of a recorded run. Groups that cannot be read are left out with a warning.
 *
 * @example
 * const reader = yield* RunDirectory.open("runs/sums")
 * yield* Regrade.run(reader, { credit: Credit.groupRelative(Advantage.leaveOneOut) }).pipe(
 *   Stream.runForEach(({ data, iteration, reward }) => Console.log(iteration, reward.mean, data.length))
 * )
 */
export const run = <E = never, R = never>(
  reader: RunReader,
  options: Options<E, R> = {}
): Stream.Stream<Regraded, RunError | Credit.CreditError | E, R> =>
  Stream.unwrap(
    Effect.map(StoryReader.read(reader), (story) => {
      const batches = Story.iterations(story).map((iteration) => batchOf(story, iteration))
      return Stream.mapAccumEffect(
        Stream.fromIterable(batches.filter(({ groups }) => groups.length > 0)),
        (): Json => null,
        grade(reader, story, options)
      )
    })
  )

/** Re-grades one iteration as if it were the run's first; undefined if it has no groups. */
export const iteration = Effect.fnUntraced(function*<E = never, R = never>(
  run: Pick<RunReader, "payload">,
  story: Story.Story,
  index: number,
  options: Options<E, R> = {}
) {
  const batch = batchOf(story, Story.iteration(story, index))
  if (batch.groups.length === 0) return undefined
  const [, [regraded]] = yield* grade(run, story, options)(null, batch)
  return regraded
})
