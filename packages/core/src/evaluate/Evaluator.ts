/** Evaluators measure weights on problems that they were not trained on. */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { TinkerError } from "../backend/TinkerError.ts"
import type { Weights } from "../backend/Weights.ts"
import type { EnvGroupBuilder } from "../env/EnvGroupBuilder.ts"
import * as Trajectory from "../env/Trajectory.ts"
import * as Policy from "../policy/Policy.ts"
import type * as RunRecord from "../records/RunRecord.ts"
import * as Statistics from "../records/Statistics.ts"
import * as FailurePolicy from "../rollout/FailurePolicy.ts"
import * as GroupResult from "../rollout/GroupResult.ts"
import * as GroupSource from "../rollout/GroupSource.ts"
import type { Hooks } from "../rollout/Hooks.ts"
import * as Rollout from "../rollout/Rollout.ts"
import type { RolloutError } from "../rollout/RolloutError.ts"
import type { InvalidOption } from "../settings/InvalidOption.ts"
import * as Proportion from "./Proportion.ts"

/** The metrics, score and episodes that an evaluator returns. */
export interface Evaluation {
  readonly name: string
  /** Metrics, named `<evaluator>/…`. */
  readonly metrics: Readonly<Record<string, number>>
  /** The share of correct answers; absent if answers are not graded as correct or incorrect. */
  readonly score?: RunRecord.Share
  /** The mean reward; absent if there are no rewards. */
  readonly reward?: RunRecord.Reward
  /** The episodes; empty if the evaluator has none. */
  readonly groups: ReadonlyArray<GroupResult.GroupResult>
}

/** Measures weights and returns metrics. @see tinker-cookbook `SamplingClientEvaluator` */
export interface Evaluator<out E = never, out R = never> {
  readonly name: string
  readonly evaluate: (weights: Weights) => Effect.Effect<Evaluation, E, R>
  /** The groups of a test set; absent if the evaluator has no fixed groups. */
  readonly groups?: ReadonlyArray<EnvGroupBuilder<E, R | Scope.Scope>>
}

type RolloutOptions = "concurrency" | "limits" | "termination" | "memberTimeout" | "graderTimeout" | "releaseTimeout"

/** The groups of a test set, and how they are rolled out and scored. */
export interface TestSetOptions<E, R, HE = never, HR = never> extends Pick<Rollout.StreamOptions, RolloutOptions> {
  /** The name of the evaluation in records and metrics. */
  readonly name: string
  /** The held-out groups, one per problem. */
  readonly groups: ReadonlyArray<EnvGroupBuilder<E, R>>
  /** Maximum number of tokens per turn. */
  readonly maxTokens: number
  /** Sampling temperature; 0 takes the most likely token. Default: 1. */
  readonly temperature?: number
  /** Seed of every evaluation, so samplers are compared with the same random draws. Default: 0. */
  readonly seed?: number
  /**
   * What to do if a member or the backend fails. Default: a failed member is left out and counted; a failed backend ends the evaluation.
   */
  readonly onFailure?: FailurePolicy.FailurePolicy<NoInfer<E | HE>, TinkerError>
  /** Effects to run around members and groups. Default: none. */
  readonly hooks?: Hooks<HE, HR>
}

/** The default failure policy. A failed member is left out of its group; only a failed policy call ends the evaluation. */
const dropMembers = FailurePolicy.fromDescription({
  maxRetries: 0,
  otherwise: { ...FailurePolicy.always("drop"), PolicyFailed: "abort" }
})

/** For each finished member, whether it was correct; undefined if its score does not say. */
const correctOf = (group: GroupResult.Group) =>
  GroupResult.survivors(group).map(([, trajectory]) => Trajectory.isCorrect(trajectory))

const share = (verdicts: ReadonlyArray<boolean>) => verdicts.filter(Boolean).length / verdicts.length

/** The share of successes, for one attempt at each problem or for several. */
const proportionOf = (verdictsG: ReadonlyArray<ReadonlyArray<boolean>>) =>
  verdictsG.every(({ length }) => length === 1)
    ? Proportion.wilson(verdictsG.flat().filter(Boolean).length, verdictsG.length)
    : Proportion.clustered(verdictsG)

/**
 * The share of correct episodes with its interval and, if a group has several episodes, the share of groups with at least one correct
 * episode; empty if no episode is graded as correct or incorrect. If any episode is graded as correct or incorrect, an
 * episode without such a score counts as incorrect.
 */
const correctNumbers = (groups: ReadonlyArray<GroupResult.Group>) => {
  const reportedG = groups.map(correctOf).filter((reports) => reports.length > 0)
  if (reportedG.flat().every((correct) => correct === undefined)) return {}
  const correctG = reportedG.map((reports) => reports.map((correct) => correct === true))
  const attempts = Math.max(...correctG.map((verdicts) => verdicts.length))
  const passed = correctG.filter((verdicts) => verdicts.includes(true)).length
  const { high, low, value } = proportionOf(correctG)
  return {
    correct: value,
    correct_low: low,
    correct_high: high,
    ...(attempts > 1 ? { [`pass@${attempts}`]: passed / correctG.length } : {})
  }
}

/** The interval of a mean of rewards that are all 0 or 1; undefined for other rewards. */
const shareInterval = (rewardsG: ReadonlyArray<ReadonlyArray<number>>) => {
  if (!rewardsG.flat().every((reward) => reward === 0 || reward === 1)) return undefined
  const { high, low } = proportionOf(rewardsG.map((rewards) => rewards.map((reward) => reward === 1)))
  return { low, high }
}

/** The mean reward with its standard error over problems; undefined if no episode has a reward. */
const rewardOf = (groups: ReadonlyArray<GroupResult.Group>, isGraded: boolean): RunRecord.Reward | undefined => {
  const rewardsG = groups.map((group) => Array.from(group.rewardsG).filter(Number.isFinite)).filter(({ length }) =>
    length > 0
  )
  if (rewardsG.length === 0) return undefined
  const standardError = Statistics.clusteredStandardError(rewardsG)
  return {
    mean: Statistics.mean(rewardsG.flat()),
    ...(standardError === undefined ? {} : { standardError }),
    // Graded episodes have the interval of their score.
    ...(isGraded ? {} : shareInterval(rewardsG))
  }
}

/** The share of correct episodes with its interval, as `score`; absent if no episode is graded as correct or incorrect. */
const scoreOf = (
  numbers: { readonly correct?: number; readonly correct_low?: number; readonly correct_high?: number }
) =>
  numbers.correct === undefined
    ? {}
    : { score: { value: numbers.correct, low: numbers.correct_low ?? NaN, high: numbers.correct_high ?? NaN } }

/**
 * The share of correct episodes with its 95 % interval, the mean reward with its standard error, and the numbers of episodes, dropped
 * members and skipped groups. Undefined metrics are left out.
 */
const summarize = (name: string, results: ReadonlyArray<GroupResult.GroupResult>): Evaluation => {
  const groups = results.filter((result) => !GroupResult.isSkipped(result))
  const episodes = groups.flatMap(GroupResult.survivors).map(([, trajectory]) => trajectory)
  const correct = correctNumbers(groups)
  const reward = rewardOf(groups, "correct" in correct)
  const numbers = {
    ...correct,
    ...(reward === undefined ? {} : { reward: reward.mean }),
    ...(reward?.standardError === undefined ? {} : { reward_standard_error: reward.standardError }),
    episodes: episodes.length,
    ...(episodes.length === 0 ? {} : { truncated: share(episodes.map(Trajectory.isTruncated)) }),
    dropped_members: groups.reduce((count, { members }) => count + members.length, 0) - episodes.length,
    skipped_groups: results.length - groups.length
  }
  return {
    name,
    metrics: Object.fromEntries(Object.entries(numbers).map(([metric, value]) => [`${name}/${metric}`, value])),
    ...scoreOf(correct),
    ...(reward === undefined ? {} : { reward }),
    groups: results
  }
}

/**
 * An evaluator that rolls out fixed groups with fixed seeds. Its metrics are `correct` with its 95 % interval (`correct_low`,
 * `correct_high`), `pass@k` with k attempts per group, `reward`, `reward_standard_error`, `episodes`, `truncated`, `dropped_members` and
 * `skipped_groups`; those that are undefined are absent.
 *
 * @example
 * const evaluator = Evaluator.testSet({ name: "held_out", groups: [builder], maxTokens: 64, temperature: 0 })
 * Rl.run({ model, dataset, run: { evalEvery: 5, evaluators: [evaluator] } })
 *
 * @see tinker-cookbook `RLTestSetEvaluator`
 */
export function testSet<E, R, HE = never, HR = never>(
  options: TestSetOptions<E, R, HE, HR>
): Evaluator<E | HE | TinkerError | RolloutError | InvalidOption, Exclude<R | HR, Scope.Scope>>
export function testSet<E, R, HE, HR>(
  options: TestSetOptions<E, R, HE, HR>
): Evaluator<E | HE | TinkerError | RolloutError | InvalidOption, R | HR> {
  return {
    name: options.name,
    groups: options.groups,
    evaluate: Effect.fn("Evaluator.testSet")(function*(weights: Weights) {
      const { groups, maxTokens, name, onFailure = dropMembers, seed = 0, temperature = 1, ...bounds } = options
      const { client, step: samplerStep } = yield* weights.sampler
      const policy = Policy.fromSamplingClient(client, { maxTokens, temperature, seed })
      const builders = yield* GroupSource.testSet(name, groups)
      const rolled = Rollout.stream(builders, policy, { ...bounds, onFailure, samplerStep, seed })
      return summarize(name, yield* Stream.runCollect(rolled))
    }, Effect.scoped)
  }
}
