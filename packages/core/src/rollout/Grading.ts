/** The group's rewards, once all members have played. */
import * as Effect from "effect/Effect"
import type { EnvGroup, GroupReward } from "../env/EnvGroupBuilder.ts"
import * as Grader from "../env/Grader.ts"
import * as TerminationReward from "../env/message/TerminationReward.ts"
import type { Trajectory } from "../env/Trajectory.ts"
import * as Attempt from "../records/Attempt.ts"
import * as Attempts from "./Attempts.ts"
import type * as FailurePolicy from "./FailurePolicy.ts"
import * as Given from "./Given.ts"
import type { Bounds } from "./GroupOptions.ts"
import * as Release from "./Release.ts"
import { type Reason, RolloutError, Violation } from "./RolloutError.ts"

const rewardsViolation = (rewards: ReadonlyArray<GroupReward>, count: number) => {
  if (rewards.length !== count) {
    const found = `${rewards.length} rewards`
    return new Violation({ field: "groupRewards", found, expected: `one per trajectory (${count})` })
  }
  for (const [index, { reward, score }] of rewards.entries()) {
    const at = `groupRewards[${index}]`
    const expected = Given.expectedReward(reward)
    if (expected !== undefined) return new Violation({ field: `${at}.reward`, found: String(reward), expected })
    const [field, found] = score === undefined ? [] : Given.wrongNumber(score) ?? []
    if (field === undefined) continue
    return new Violation({ field: `${at}.score.${field}`, found: String(found), expected: "a finite number" })
  }
  return undefined
}

const noReward: GroupReward = { reward: 0 }

/** A group and the options that it was rolled out with. */
export interface Graded<E, R> {
  readonly key: string
  readonly group: EnvGroup<E, R>
  readonly options: Bounds
  readonly release: Release.Release
  readonly attempt: number
}

/** The rewards that the group itself gives. */
const graded = <E, R>(
  { attempt, group, key, options, release }: Graded<E, R>,
  trajectories: ReadonlyArray<Trajectory>
) => {
  if (group.groupRewards === undefined || TerminationReward.skipsGrading(options.termination ?? {}, trajectories)) {
    return Effect.succeed(trajectories.map(() => noReward))
  }
  const { iteration = 0, seed = 0 } = options
  const given = Attempt.group(seed, { iteration, group: key, attempt })
  const errorOf = (reason: Reason) => new RolloutError({ group: key, member: Attempts.wholeGroup, reason })
  const failed = (error: E | RolloutError) => ({ _tag: "GraderFailed", error }) as const
  const rewarded = group.groupRewards(trajectories, given).pipe(
    Effect.mapError(failed),
    Effect.tap((rewards) => {
      const reason = rewardsViolation(rewards, trajectories.length)
      return reason === undefined ? Effect.void : Effect.fail(failed(errorOf(reason)))
    })
  )
  const limit = options.graderTimeout ?? options.memberTimeout
  const abandonable = Grader.run(Release.abandonable(rewarded, release, Attempts.wholeGroup))
  return limit === undefined ? abandonable : Effect.provideService(abandonable, Grader.GraderTimeout, limit)
}

/** The group's rewards, one per trajectory, adjusted by the rewards of endings. */
export const grade = <E, R>(
  asked: Graded<E, R>,
  trajectories: ReadonlyArray<Trajectory>
): Effect.Effect<ReadonlyArray<GroupReward>, FailurePolicy.Failure<E, never>, R> => {
  if (trajectories.length === 0) return Effect.succeed([])
  const { termination } = asked.options
  const rewarded = graded(asked, trajectories)
  if (termination === undefined) return rewarded
  return Effect.map(
    rewarded,
    (rewards) =>
      trajectories.map((trajectory, index) =>
        TerminationReward.apply(termination, trajectory, rewards[index] ?? noReward)
      )
  )
}
