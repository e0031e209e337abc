/** Numbers computed from a rollout's transcript: its metrics, and the policy's surprise. */

type Metrics = Readonly<Record<string, number | boolean | null>>

/** A turn's metrics, and the log-probabilities of its sampled tokens. */
export interface Turn {
  readonly metrics: Metrics
  readonly logprobs: ReadonlyArray<number | null>
}

/** The mean surprise of the sampled tokens, in nats. */
export const surprise = "surprise"

const add = (found: Record<string, number>, metrics: Metrics) => {
  for (const [name, value] of Object.entries(metrics)) {
    if (value !== null) found[name] = (found[name] ?? 0) + Number(value)
  }
}

/**
 * A rollout's measures by name. A numeric metric is summed over the turns and the graders' reports. For a boolean metric, the turns in
 * which it is true are counted.
 */
export const of = (turns: ReadonlyArray<Turn>, graded: Metrics): Readonly<Record<string, number>> => {
  const found: Record<string, number> = {}
  let [sum, count] = [0, 0]
  for (const { logprobs, metrics } of turns) {
    add(found, metrics)
    for (const logprob of logprobs) {
      if (logprob === null) continue
      sum -= logprob
      count++
    }
  }
  add(found, graded)
  return count === 0 ? found : { ...found, [surprise]: sum / count }
}

/** A group's problem, as the environment describes it. */
export interface Problem {
  readonly question: string
  readonly reference: string
}

/** A run's measures: their names, and their values by group sequence number and member, in the order of the names. */
export interface Measures {
  readonly names: ReadonlyArray<string>
  readonly groups: Readonly<Record<number, ReadonlyArray<ReadonlyArray<number | null> | null>>>
  /** The run's problems, without duplicates. */
  readonly problems: ReadonlyArray<Problem>
  /** The index in `problems`, by group sequence number. */
  readonly problemOf: Readonly<Record<number, number>>
  /** Number of groups whose transcripts cannot be read. */
  readonly unread: number
}

/** The measures of a group's members; a dropped member is null. */
export interface Measured {
  readonly sequence: number
  readonly problem: Problem
  readonly members: ReadonlyArray<Readonly<Record<string, number>> | null>
}

/** Maximum number of characters kept of a question, of which a list shows the beginning. */
const longest = 300

const cut = ({ question, reference }: Problem): Problem => ({
  question: question.slice(0, longest),
  reference: reference.slice(0, longest)
})

/** The distinct problems, and the index of each group's problem. Questions are compared by their whole text. */
const problemsOf = (measured: ReadonlyArray<Measured>) => {
  const indices = new Map<string, number>()
  const problems: Array<Problem> = []
  const problemOf: Record<number, number> = {}
  for (const { problem, sequence } of measured) {
    const id = JSON.stringify([problem.question, problem.reference])
    const index = indices.get(id) ?? problems.length
    if (index === problems.length) {
      indices.set(id, index)
      problems.push(cut(problem))
    }
    problemOf[sequence] = index
  }
  return { problems, problemOf }
}

const rounded = (value: number | undefined) =>
  value === undefined || !Number.isFinite(value) ? null : Number(value.toPrecision(6))

/** Combines the measures of all groups. */
export const collect = (measured: ReadonlyArray<Measured>, unread = 0): Measures => {
  const all = measured.flatMap(({ members }) => members.flatMap((member) => member === null ? [] : Object.keys(member)))
  const names = [...new Set(all)].toSorted()
  return {
    names,
    groups: Object.fromEntries(
      measured.map(({ members, sequence }) => [
        sequence,
        members.map((member) => member === null ? null : names.map((name) => rounded(member[name])))
      ])
    ),
    ...problemsOf(measured),
    unread
  }
}
