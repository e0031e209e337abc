/**
 * Re-grading of a recorded run: what its curve and its training data would have been with other rewards, another rule of credit or fewer
 * groups. Reads only records; nothing is sampled.
 */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as Weights from "../backend/Weights.ts"
import * as Advantage from "../learn/Advantage.ts"
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

/** The changes to make to the recorded run. */
export interface Options<out E = never, out R = never> {
  /** Default `Credit.groupRelative(Advantage.centered)`. */
  readonly credit?: Credit.Credit<E, R>
  /** Another total reward of a member that finished; the recorded one unless given. */
  readonly reward?: (group: GroupResult.Group, member: number) => number
  /** The groups to keep; all unless given. */
  readonly keep?: (group: GroupResult.Group) => boolean
}

/** One iteration with its groups graded anew. */
export interface Regraded {
  readonly iteration: number
  readonly reward: RunRecord.Reward
  /** The groups in the order in which the run credited them. */
  readonly groups: ReadonlyArray<Credit.GroupCredit>
  /** The advantages that the run recorded, of each group; empty where no update used it. */
  readonly recorded: ReadonlyArray<ReadonlyArray<number>>
  readonly data: ReadonlyArray<TrainingDatum>
}

/** The groups that an iteration's update lists; for an iteration without an update, those of its batch that no update lists. */
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

/** Grades batches of groups one after the other, with the memory of those before. */
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
    const assigned = yield* credit.assign(results, memory, Weights.absent)
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
 * The iterations of a recorded run, graded anew. Groups that cannot be read are left out with a warning.
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
): Stream.Stream<Regraded, RunError | E, R> =>
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

/** One iteration of a run, graded anew as if it were the first; undefined where it has no groups. */
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
