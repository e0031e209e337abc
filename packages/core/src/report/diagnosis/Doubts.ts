/** Reasons to doubt a run's reward. */
import * as Statistics from "../../records/Statistics.ts"
import type * as Story from "../../story/Story.ts"
import type * as Audit from "../Audit.ts"
import * as DiagnosisText from "./DiagnosisText.ts"
import * as Measure from "./Measure.ts"

/** A reason for doubt, and the iteration in which it began, if known. */
export interface Doubt {
  readonly text: string
  readonly iteration: number | undefined
}

type AnyStory = Story.Story<null>

const isReward = (reward: number | null): reward is number => reward !== null && !Number.isNaN(reward)

/** The range of the earned rewards; 1 if all are equal. */
export const rewardScale = (story: AnyStory): number => {
  let [low, high] = [Infinity, -Infinity]
  for (const { groups } of story.iterations.values()) {
    for (const { rewards } of groups) {
      for (const reward of rewards.filter(isReward)) {
        low = Math.min(low, reward)
        high = Math.max(high, reward)
      }
    }
  }
  return high > low ? high - low : 1
}

/** Trend checks of an audit; a single finding is a doubt. */
const trends: ReadonlySet<string> = new Set(["dominance", "unfounded_reward", "surface_reward"])
/** Group checks of an audit, which become a doubt only if a large share of the groups has findings. */
const checks = ["tampering", "grader_disagreement"]
const many = 0.05
const leastGroups = 3

/** Whether the reward fell beyond chance. */
const isFallen = (trained: Measure.Measure) => {
  const { isClear, value } = Measure.gain(trained, ...Measure.ends(trained))
  return trained.unit === "reward" && isClear && value < 0
}

const found = (
  story: AnyStory,
  trained: Measure.Measure,
  findings: ReadonlyArray<Audit.Finding>
): ReadonlyArray<Doubt> => {
  // A reward that fell is not being exploited: an exploit would have raised it.
  const isTrend = ({ check }: Audit.Finding) => trends.has(check) && !(check === "dominance" && isFallen(trained))
  // A trend that ends and starts again has several findings.
  const isFirst = ({ check }: Audit.Finding, at: number) => findings.findIndex((one) => one.check === check) === at
  const groups = Statistics.sum(Array.from(story.iterations.values(), ({ groups }) => groups.length))
  return [
    ...findings.filter((one, at) => isTrend(one) && isFirst(one, at)).map(({ detail, iteration }) => ({
      text: detail,
      iteration
    })),
    ...checks.flatMap((name) => {
      const same = findings.filter(({ check }) => check === name)
      const [first] = same
      return first === undefined || same.length < Math.max(leastGroups, many * groups)
        ? []
        : [{ text: `${first.detail}; the same in ${same.length} of ${groups} groups`, iteration: first.iteration }]
    })
  ]
}

/** Minimum number of iterations for a trend. */
const leastIterations = 6
/** Minimum share of a reward gain that right answers must also gain; below it, the reward pays for something else. */
const leastCarried = 0.5
/** A reward gain above this share of the rewards' range should be visible in other measures. */
const largeGain = 0.15
/** Above this share of right answers, little can be gained. */
const nearlyAll = 0.9

/**
 * The doubt that the reward grew, relative to its range, while the share of right held-out answers grew clearly less than half as much, or
 * fell; empty if there is no such contradiction.
 */
const contradiction = (
  story: AnyStory,
  trained: Measure.Measure,
  held: Measure.Measure | undefined
): ReadonlyArray<Doubt> => {
  if (trained.unit !== "reward" || held?.unit !== "share" || trained.points.length < leastIterations) return []
  const paid = Measure.gain(trained, ...Measure.ends(trained))
  const share = paid.value / rewardScale(story)
  const [before, after] = Measure.ends(held)
  const carried = Measure.gain(held, before, after)
  const isMeasured = after.iterations > before.iterations && after.value < nearlyAll
  const isCarried = carried.value + 2 * carried.standardError >= leastCarried * share
  return !isMeasured || isCarried || !paid.isClear || share < largeGain
    ? []
    : [{ text: DiagnosisText.contradiction(trained, held), iteration: undefined }]
}

/** The share of the reward variance within groups that answer lengths explain. */
const explainedByLength = (story: AnyStory): number => {
  let [xx, xy, yy] = [0, 0, 0]
  for (const { groups } of story.iterations.values()) {
    for (const { members, rewards } of groups) {
      const known = rewards.flatMap((reward, at) => {
        const length = members[at]?.sampled
        return isReward(reward) && typeof length === "number" ? [[length, reward] as const] : []
      })
      const [meanX, meanY] = [Statistics.mean(known.map(([x]) => x)), Statistics.mean(known.map(([, y]) => y))]
      for (const [x, y] of known) {
        xx += (x - meanX) ** 2
        xy += (x - meanX) * (y - meanY)
        yy += (y - meanY) ** 2
      }
    }
  }
  return xx === 0 || yy === 0 ? 0 : xy ** 2 / (xx * yy)
}

/** If answer lengths explain at least this share of the reward variance, they are named as a reason for the reward. */
const mostlyLength = 0.25

const length = (story: AnyStory): ReadonlyArray<Doubt> => {
  const share = explainedByLength(story)
  const [first, last] = Measure.trend(Measure.metric(story, "env/all/response_tokens/p50"))
  return share < mostlyLength
    ? []
    : [{ text: DiagnosisText.length(share, first.value, last.value), iteration: undefined }]
}

/**
 * The doubts about a run, each with the iteration in which it began, if known. Answer length is named only in addition to another doubt.
 */
export const of = (
  story: AnyStory,
  trained: Measure.Measure,
  held: Measure.Measure | undefined,
  findings: ReadonlyArray<Audit.Finding>
): ReadonlyArray<Doubt> => {
  const doubts = [...contradiction(story, trained, held), ...found(story, trained, findings)]
  return doubts.length === 0 ? [] : [...doubts, ...length(story)]
}
