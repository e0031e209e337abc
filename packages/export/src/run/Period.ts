/**
 * The periods of a group and its parts, in milliseconds since 1970. A member without recorded times gets its group's period. A group that
 * is reused after a resume has zero length.
 */
import type { RunRecord } from "@effect-rl/core"
import type { Trajectory } from "@effect-rl/core/environments"
import { GroupResult } from "@effect-rl/core/program"

export interface Period {
  readonly start: number
  readonly end: number
}

/** The periods of a turn: sampling by the policy, then the environment's step. */
export interface Turn {
  readonly sampling: Period
  readonly environment: Period
}

export const group = ({ at, milliseconds, recalled }: RunRecord.GroupRolledOut): Period => ({
  start: recalled === undefined ? at - milliseconds : at,
  end: at
})

const lasting = (start: number, milliseconds: number): Period => ({ start, end: start + milliseconds })

/** The periods of a member's turns; undefined if the turns were not timed or the group is reused. */
export const turns = (
  { recalled }: RunRecord.GroupRolledOut,
  { transitions }: Trajectory.Trajectory
): ReadonlyArray<Turn> | undefined => {
  const first = transitions.find(({ times }) => times !== undefined)?.times
  if (first === undefined || recalled !== undefined) return undefined
  let last = first.began
  return transitions.map(
    ({ times: { began, environment, sampling } = { began: last, sampling: 0, environment: 0 } }) => {
      const sampled = lasting(began, sampling)
      const answered = lasting(sampled.end, environment)
      last = answered.end
      return { sampling: sampled, environment: answered }
    }
  )
}

/** A member's period, from its first prompt to the environment's last response; the group's period if the turns have none. */
export const member = (record: RunRecord.GroupRolledOut, trajectory: Trajectory.Trajectory): Period => {
  const timed = turns(record, trajectory) ?? []
  const [first, last] = [timed[0], timed.at(-1)]
  return first === undefined || last === undefined
    ? group(record)
    : { start: first.sampling.start, end: last.environment.end }
}

/** The period in which the group's rewards were computed, after all members ended. Its length is 0 if it was not timed. */
export const grading = (record: RunRecord.GroupRolledOut, result: GroupResult.GroupResult): Period => {
  const time = GroupResult.isSkipped(result) || record.recalled !== undefined ? undefined : result.grading
  return time === undefined ? lasting(record.at, 0) : lasting(time.began, time.milliseconds)
}
