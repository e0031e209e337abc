/** A run's problems with their results over iterations and evaluations. */
import * as Story from "@effect-rl/core/story/Story"
import type * as Entry from "../story/Entry.ts"
import type { Measures, Problem } from "../story/Measures.ts"

/** The attempts at a problem in one iteration or one evaluation. */
export interface Attempted {
  readonly group: Entry.Group
  /** Mean reward over the members that finished. */
  readonly mean: number
  /** Number of finished members with a good reward. */
  readonly good: number
  readonly members: number
}

/** How a problem's results developed over its attempts. */
export type Kind = "never solved" | "became worse" | "flaky" | "became better" | "always solved" | "solved at times"

export const kinds: ReadonlyArray<Kind> = [
  "never solved",
  "became worse",
  "flaky",
  "became better",
  "solved at times",
  "always solved"
]

export interface ProblemRow {
  readonly problem: Problem
  /** Training attempts, oldest first. */
  readonly trained: ReadonlyArray<Attempted>
  /** Attempts in evaluations by the chosen evaluator, oldest first. */
  readonly measured: ReadonlyArray<Attempted>
  readonly kind: Kind
  /**
   * The mean reward of the newest attempts minus that of the first attempts; null if the problem was attempted in only
   * one iteration or evaluation.
   */
  readonly change: number | null
}

const attempted = (group: Entry.Group): Attempted | undefined => {
  const rewards = group.rewards.filter((reward) => reward !== null)
  if (rewards.length === 0) return undefined
  return {
    group,
    mean: rewards.reduce((sum, reward) => sum + reward, 0) / rewards.length,
    good: rewards.filter((reward) => reward >= 0.5).length,
    members: rewards.length
  }
}

/** How often a problem's attempts changed between mostly good and mostly bad. */
const flips = (attempts: ReadonlyArray<Attempted>) =>
  attempts.filter(({ mean }, at) => {
    const before = attempts[at - 1]
    return before !== undefined && before.mean >= 0.5 !== mean >= 0.5
  }).length

const changeOf = (attempts: ReadonlyArray<Attempted>): number | null => {
  const [first, last] = [attempts[0], attempts.at(-1)]
  return first === undefined || last === undefined || first === last ? null : last.mean - first.mean
}

/** Flaky problems changed more than once; all others are classified by their first and newest attempts. */
const kindOf = (attempts: ReadonlyArray<Attempted>): Kind => {
  if (attempts.every(({ good }) => good === 0)) return "never solved"
  if (attempts.every(({ good, members }) => good === members)) return "always solved"
  if (flips(attempts) > 1) return "flaky"
  const change = changeOf(attempts) ?? 0
  return change < 0 ? "became worse" : change > 0 ? "became better" : "solved at times"
}

const place = <A>(places: Map<number, Array<A>>, index: number, one: A) => {
  const all = places.get(index)
  if (all === undefined) places.set(index, [one])
  else all.push(one)
}

/**
 * The attempted problems, in the order of their first attempts. A problem's results come from the evaluator's measurements, or from
 * training if there are none.
 */
export const of = (
  story: Story.Story<null>,
  { problemOf, problems }: Measures,
  evaluator: string | undefined
): ReadonlyArray<ProblemRow> => {
  const [trained, measured] = [new Map<number, Array<Attempted>>(), new Map<number, Array<Attempted>>()]
  for (const record of story.records) {
    if (record._tag !== "GroupRolledOut") continue
    const index = problemOf[record.sequence]
    const one = attempted(record)
    if (index === undefined || one === undefined) continue
    if (record.evaluator === undefined) place(trained, index, one)
    else if (record.evaluator === evaluator) place(measured, index, one)
  }
  return problems.flatMap((problem, index) => {
    const [ofTraining, ofEvaluator] = [trained.get(index) ?? [], measured.get(index) ?? []]
    const telling = ofEvaluator.length > 0 ? ofEvaluator : ofTraining
    return telling.length === 0
      ? []
      : [{ problem, trained: ofTraining, measured: ofEvaluator, kind: kindOf(telling), change: changeOf(telling) }]
  })
}

/** The evaluator to show: the requested evaluator, or the run's first. */
export const evaluatorOf = (story: Story.Story<null>, asked: string | undefined): string | undefined =>
  asked ?? Story.evaluators(story)[0]
