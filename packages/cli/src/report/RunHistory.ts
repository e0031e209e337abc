/** A run's rewards and evaluations so far, including those before a resume. */
import type { RunStore } from "@effect-rl/core"
import { type RewardCurve, Story, StoryReader } from "@effect-rl/core/records"
import * as Effect from "effect/Effect"

/** The share of held-out problems answered correctly, or of held-out preferences ranked correctly, with its 95 % interval. */
export interface Measurement {
  readonly evaluator: string
  readonly iteration: number
  readonly value: number
  readonly low: number
  readonly high: number
  /** Mean reward over the same episodes. */
  readonly reward: number
  /** Number of episodes, or of preference pairs. */
  readonly episodes: number
}

export interface RunHistory {
  readonly story: Story.Story
  readonly rewards: ReadonlyArray<RewardCurve.Report>
  readonly measurements: ReadonlyArray<Measurement>
}

const reportOf = ({ index, updated }: Story.Iteration): ReadonlyArray<RewardCurve.Report> =>
  updated?.reward === undefined
    ? []
    : [{ iteration: index + 1, reward: updated.reward.mean, rewardStandardError: updated.reward.standardError }]

const measurementOf = ({ evaluated }: Story.Evaluation): ReadonlyArray<Measurement> => {
  if (evaluated?.score === undefined) return []
  const { evaluator, iteration, metrics, reward, score } = evaluated
  return [{
    evaluator,
    iteration,
    ...score,
    reward: reward?.mean ?? NaN,
    episodes: metrics[`${evaluator}/episodes`] ?? metrics[`${evaluator}/pairs`] ?? NaN
  }]
}

export const of = (story: Story.Story): RunHistory => ({
  story,
  rewards: Story.iterations(story).flatMap(reportOf),
  measurements: Story.evaluations(story).flatMap(measurementOf)
})

export const read = (run: RunStore.RunReader) => Effect.map(StoryReader.read(run), of)
