/** A member as the checks of an audit see it. */
import * as Trajectory from "../../env/Trajectory.ts"
import * as EnvMetric from "../../records/EnvMetric.ts"
import * as GroupResult from "../../rollout/GroupResult.ts"

export interface Episode {
  readonly member: number
  readonly reward: number
  /** Sampled tokens of all turns. */
  readonly tokens: Int32Array
  /** Log-probability of all of them; NaN where the backend gave none. */
  readonly logprob: number
  readonly isTruncated: boolean
  /** Whether it solved its task; undefined where no score says. */
  readonly isCorrect: boolean | undefined
  /** The answers that were judged, and everything that its turns logged, by name. */
  readonly texts: ReadonlyArray<readonly [name: string, text: string]>
  /** The metrics of its turns and of its group's graders. */
  readonly metrics: Readonly<Record<string, number>>
}

const joined = (parts: ReadonlyArray<Int32Array>) => {
  const all = new Int32Array(parts.reduce((length, part) => length + part.length, 0))
  let offset = 0
  for (const part of parts) {
    all.set(part, offset)
    offset += part.length
  }
  return all
}

const sum = (values: Float32Array) => values.reduce((total, value) => total + value, 0)

/** The members of a group that finished; none of a group that was skipped. */
export const of = (result: GroupResult.GroupResult): ReadonlyArray<Episode> =>
  GroupResult.isSkipped(result)
    ? []
    : GroupResult.survivors(result).map(([member, trajectory]) => ({
      member,
      reward: result.rewardsG[member] ?? NaN,
      tokens: joined(trajectory.transitions.map(({ action }) => action.tokens)),
      logprob: trajectory.transitions.reduce((total, { action }) => total + sum(action.logprobs), 0),
      isTruncated: Trajectory.isTruncated(trajectory),
      isCorrect: Trajectory.isCorrect(trajectory),
      texts: trajectory.transitions.flatMap(({ logs, score }) => [
        ...(score?.answer === undefined ? [] : [["answer", score.answer] as const]),
        ...Object.entries(logs).map(([name, value]) => [name, String(value)] as const)
      ]),
      metrics: EnvMetric.aggregate([[
        ...trajectory.transitions.map(({ metrics }) => metrics),
        result.metricsG[member] ?? {}
      ]])
    }))
