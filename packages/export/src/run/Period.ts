/**
 * When the parts of a group took place, in milliseconds since 1970. What the run did not time took as long as its group, and a group
 * that is used again after a resume took no time.
 */
import type { RunRecord } from "@effect-rl/core"
import type { Trajectory } from "@effect-rl/core/environments"
import { GroupResult } from "@effect-rl/core/program"

export interface Period {
  readonly start: number
  readonly end: number
}

/** A turn: the policy's part, then the environment's. */
export interface Turn {
  readonly sampling: Period
  readonly environment: Period
}

export const group = ({ at, milliseconds, recalled }: RunRecord.GroupRolledOut): Period => ({
  start: recalled === undefined ? at - milliseconds : at,
  end: at
})

const lasting = (start: number, milliseconds: number): Period => ({ start, end: start + milliseconds })

/** The turns of a member; undefined where they were not timed. */
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

/** A member, from its first prompt to its environment's last answer. */
export const member = (record: RunRecord.GroupRolledOut, trajectory: Trajectory.Trajectory): Period => {
  const timed = turns(record, trajectory) ?? []
  const [first, last] = [timed[0], timed.at(-1)]
  return first === undefined || last === undefined
    ? group(record)
    : { start: first.sampling.start, end: last.environment.end }
}

/** The group's rewards, which come last. */
export const grading = (record: RunRecord.GroupRolledOut, result: GroupResult.GroupResult): Period => {
  const time = GroupResult.isSkipped(result) || record.recalled !== undefined ? undefined : result.grading
  return time === undefined ? lasting(record.at, 0) : lasting(time.began, time.milliseconds)
}
