/**
 * Judgements of environments and graders.
 *
 * @example
 * const judged = (answer: string) => Score.correct(answer.trim() === "4", { answer })
 * const poem: Score.Score = { value: 0.7, parts: { rhyme: 1, metre: 0.4 }, explanation: "The third line is too long." }
 */
import * as EnvMetric from "./EnvMetric.ts"

/** The code execution behind a judgement: its provider, its outcome and its tests. */
export interface Verdict {
  /** The provider that ran the code, such as `bubblewrap` or `wasi`. */
  readonly provider: string
  readonly outcome: string
  /** SHA-256 of the tests, in hexadecimal: verdicts with equal digests come from the same tests. */
  readonly digest?: string
  readonly tests?: ReadonlyArray<{ readonly name: string; readonly passed: boolean; readonly detail?: string }>
}

/**
 * The judgement of a turn, an episode or a group member. If a step or a grader returns only a reward, that reward is the score's value. If
 * it returns both, they may differ, for example by a penalty for the response's format.
 */
export interface Score {
  readonly value: number
  /**
   * Whether the task was solved. An evaluation counts only scores with this field as correct or incorrect; an episode is correct if one of
   * its turns is.
   */
  readonly success?: boolean
  /** The text that was judged. */
  readonly answer?: string
  readonly explanation?: string
  /** Partial values by criterion. */
  readonly parts?: Readonly<Record<string, number>>
  readonly verdict?: Verdict
}

/** A score with value 1 for a correct answer and 0 for an incorrect one. */
export const correct = (isCorrect: boolean, others: Omit<Score, "value" | "success"> = {}): Score => ({
  value: Number(isCorrect),
  success: isCorrect,
  ...others
})

/** The name of the metric derived from `success`. */
const metric = "correct"

/** Adds the rate `correct` to the metrics if the score says whether the task was solved. */
export const withCorrect = (score: Score | undefined, metrics: EnvMetric.Metrics): EnvMetric.Metrics =>
  score?.success === undefined ? metrics : { ...metrics, [metric]: EnvMetric.rate(score.success) }

/** Removes the rate `correct` from the metrics if `withCorrect` adds it for this score. */
export const withoutCorrect = (score: Score | undefined, metrics: EnvMetric.Metrics): EnvMetric.Metrics => {
  if (score?.success === undefined) return metrics
  const { [metric]: _, ...others } = metrics
  return others
}
