/**
 * What lists of rollouts and problems show of a group: its problem, its members' metrics and the policy's surprise.
 *
 * @example
 * GroupMeasures.unplayed("3 + 4").problem.question // => "3 + 4"
 */
import * as Option from "effect/Option"
import * as Epochs from "../data/Epochs.ts"
import type * as Trajectory from "../env/Trajectory.ts"
import type * as EnvMetric from "../records/EnvMetric.ts"
import type * as RunRecord from "../records/RunRecord.ts"
import * as GroupResult from "./GroupResult.ts"

/** The name of the mean surprise of a member's sampled tokens, in nats. */
export const surprise = "surprise"

/** Maximum number of characters kept of a question, of which a list shows the beginning. */
const longest = 300

type Problem = RunRecord.GroupMeasures["problem"]

const problemOf = (question: string, reference: string): Problem => {
  const problem = { question: question.slice(0, longest), reference: reference.slice(0, longest) }
  return question.length <= longest && reference.length <= longest
    ? problem
    : { ...problem, digest: Epochs.hashOf([question, reference]) }
}

const add = (found: Map<string, number>, metrics: EnvMetric.Metrics) => {
  for (const [name, metric] of Object.entries(metrics)) {
    found.set(name, (found.get(name) ?? 0) + (metric.kind === "rate" ? Number(metric.hit) : metric.value))
  }
}

const memberOf = ({ transitions }: Trajectory.Trajectory, graded: EnvMetric.Metrics): ReadonlyMap<string, number> => {
  const found = new Map<string, number>()
  let [sum, count] = [0, 0]
  for (const { action: { logprobs }, metrics } of transitions) {
    add(found, metrics)
    for (const logprob of logprobs) {
      if (!Number.isFinite(logprob)) continue
      sum -= logprob
      count++
    }
  }
  add(found, graded)
  if (count > 0) found.set(surprise, sum / count)
  return found
}

/** The value to six digits, which keeps records small; null if it is not finite. */
const rounded = (value: number | undefined) =>
  value === undefined || !Number.isFinite(value) ? null : Number(value.toPrecision(6))

/** The measures of a group of which no member is known. */
export const unplayed = (key: string): RunRecord.GroupMeasures => ({
  problem: problemOf(key, ""),
  names: [],
  members: []
})

/**
 * The group's measures. A numeric metric is summed over a member's turns and the graders' reports; of a yes-or-no metric, the reports in
 * which it holds are counted. The surprise of a member is the mean of −log p of its sampled tokens.
 */
export const of = (result: GroupResult.GroupResult): RunRecord.GroupMeasures => {
  if (GroupResult.isSkipped(result)) return unplayed(result.key)
  const members = result.members.map((member, index) =>
    Option.getOrNull(Option.map(member, (trajectory) => memberOf(trajectory, result.metricsG[index] ?? {})))
  )
  const [first] = result.members.flatMap((member) => Option.toArray(member))
  const { question = "", reference = "" } = first?.task ?? {}
  const names = [...new Set(members.flatMap((member) => [...member?.keys() ?? []]))].toSorted()
  return {
    problem: problemOf(question === "" ? result.key : question, reference),
    names,
    members: members.map((member) => member === null ? null : names.map((name) => rounded(member.get(name))))
  }
}
