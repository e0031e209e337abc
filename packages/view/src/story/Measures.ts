/** Numbers of a rollout that its transcript tells: its metrics, and how sure the policy was. */

type Metrics = Readonly<Record<string, number | boolean | null>>

/** What a turn tells. */
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
 * The measures of a rollout by name: a metric is added up over the turns and the report of the group's graders; of a metric that holds or
 * does not, the turns count in which it holds.
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

/** The problem of a group, in its environment's words. */
export interface Problem {
  readonly question: string
  readonly reference: string
}

/** Measures of a run: their names, and by the sequence number of a group and the member, the values in the order of the names. */
export interface Measures {
  readonly names: ReadonlyArray<string>
  readonly groups: Readonly<Record<number, ReadonlyArray<ReadonlyArray<number | null> | null>>>
  /** The problems of the run, each once. */
  readonly problems: ReadonlyArray<Problem>
  /** The index of a group's problem, by the sequence number of the group. */
  readonly problemOf: Readonly<Record<number, number>>
  /** Groups whose transcripts cannot be read. */
  readonly unread: number
}

/** What the transcripts of a group tell; a member that was dropped is null. */
export interface Measured {
  readonly sequence: number
  readonly problem: Problem
  readonly members: ReadonlyArray<Readonly<Record<string, number>> | null>
}

/** Characters of a question that are kept: a list shows its beginning. */
const longest = 300

const cut = ({ question, reference }: Problem): Problem => ({
  question: question.slice(0, longest),
  reference: reference.slice(0, longest)
})

/** Each problem once, and which one each group attempts; a question is known by its whole text. */
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

/** The measures of all groups. */
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
