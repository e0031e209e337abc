/**
 * Judgements of environments and graders.
 *
 * @example
 * const judged = (answer: string) => Score.correct(answer.trim() === "4", { answer })
 * const poem: Score.Score = { value: 0.7, parts: { rhyme: 1, metre: 0.4 }, explanation: "The third line is too long." }
 */
import * as EnvMetric from "./EnvMetric.ts"

/** What ran where, for a judgement that comes from running code. */
export interface Verdict {
  /** The place that ran it, such as `bubblewrap` or `wasi`. */
  readonly provider: string
  readonly outcome: string
  /** SHA-256 of the tests, in hexadecimal: verdicts with equal digests were given by the same tests. */
  readonly digest?: string
  readonly tests?: ReadonlyArray<{ readonly name: string; readonly passed: boolean; readonly detail?: string }>
}

/**
 * The judgement of a turn, an episode, or a member of a group. Where a step or a grader gives a reward alone, the reward is the value of its
 * score. A reward may differ from the value of a score that is given beside it, as where it charges for a response's form.
 */
export interface Score {
  readonly value: number
  /**
   * Whether the task was solved. Only scores that say so count as correct or incorrect in an evaluation; an episode is correct if one of
   * its turns is.
   */
  readonly success?: boolean
  /** The text that was judged. */
  readonly answer?: string
  readonly explanation?: string
  /** Values by the criterion that they are for. */
  readonly parts?: Readonly<Record<string, number>>
  readonly verdict?: Verdict
}

/** The score of an answer that is right, 1, or wrong, 0. */
export const correct = (isCorrect: boolean, others: Omit<Score, "value" | "success"> = {}): Score => ({
  value: Number(isCorrect),
  success: isCorrect,
  ...others
})

/** The name of the metric that is derived from scores. */
const metric = "correct"

/** The metrics with the rate `correct` of a score that says whether the task was solved. */
export const withCorrect = (score: Score | undefined, metrics: EnvMetric.Metrics): EnvMetric.Metrics =>
  score?.success === undefined ? metrics : { ...metrics, [metric]: EnvMetric.rate(score.success) }

/** The metrics without the rate that `withCorrect` added. */
export const withoutCorrect = (score: Score | undefined, metrics: EnvMetric.Metrics): EnvMetric.Metrics => {
  if (score?.success === undefined) return metrics
  const { [metric]: _, ...others } = metrics
  return others
}
