/** Measures a sampler on problems it was not trained on. */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { SamplingClient } from "../backend/SamplingClient.ts"
import type { TinkerError } from "../backend/TinkerError.ts"
import type { EnvGroupBuilder } from "../env/EnvGroupBuilder.ts"
import * as Policy from "../policy/Policy.ts"
import * as GroupResult from "../rollout/GroupResult.ts"
import * as Rollout from "../rollout/Rollout.ts"
import type { RolloutError } from "../rollout/RolloutError.ts"
import * as Proportion from "./Proportion.ts"

/** `metrics` are named `<evaluator>/…`; `groups` hold the episodes themselves. */
export interface Evaluation {
  readonly name: string
  readonly metrics: Readonly<Record<string, number>>
  readonly groups: ReadonlyArray<GroupResult.GroupResult>
}

/** @see tinker-cookbook `SamplingClientEvaluator` */
export interface Evaluator<out E = never, out R = never> {
  readonly name: string
  readonly evaluate: (sampler: SamplingClient) => Effect.Effect<Evaluation, E, R>
}

export interface TestSetOptions<E, R> {
  readonly name: string
  readonly groups: ReadonlyArray<EnvGroupBuilder<E, R>>
  readonly maxTokens: number
  /** Default 1; 0 takes the most likely token. */
  readonly temperature?: number
  /** The same in every evaluation, so that two samplers face equal luck; default 0. */
  readonly seed?: number
}

const correctOf = (group: GroupResult.Group) =>
  GroupResult.survivors(group).map(([, trajectory]) =>
    trajectory.transitions.some(({ metrics }) => metrics["correct"]?.kind === "rate" && metrics["correct"].hit)
  )

/** Share of correct episodes and its 95 % interval, share of groups with at least one correct episode, mean reward. */
const summarize = (name: string, groups: ReadonlyArray<GroupResult.GroupResult>): Evaluation["metrics"] => {
  const finished = groups.filter((group) => !GroupResult.isSkipped(group))
  const correctG = finished.map(correctOf)
  const episodes = correctG.flat()
  const hits = episodes.filter(Boolean).length
  const rewards = finished.flatMap((group) => Array.from(group.rewardsG).filter(Number.isFinite))
  const pass = Proportion.wilson(hits, episodes.length)
  const attempts = Math.max(0, ...correctG.map((group) => group.length))
  return {
    [`${name}/correct`]: pass.value,
    [`${name}/correct_low`]: pass.low,
    [`${name}/correct_high`]: pass.high,
    ...(attempts > 1
      ? { [`${name}/pass@${attempts}`]: correctG.filter((group) => group.some(Boolean)).length / correctG.length }
      : {}),
    [`${name}/reward`]: rewards.reduce((total, reward) => total + reward, 0) / rewards.length,
    [`${name}/episodes`]: episodes.length,
    [`${name}/skipped_groups`]: groups.length - finished.length
  }
}

/**
 * Rolls out fixed groups with fixed seeds.
 *
 * @see tinker-cookbook `RLTestSetEvaluator`
 */
export const testSet = <E, R>(
  options: TestSetOptions<E, R>
): Evaluator<E | TinkerError | RolloutError, Exclude<R, Scope.Scope>> => ({
  name: options.name,
  evaluate: Effect.fn("Evaluator.testSet")(function*(sampler: SamplingClient) {
    const { groups: builders, maxTokens, name, seed = 0, temperature = 1 } = options
    const policy = Policy.fromSamplingClient(sampler, { maxTokens, temperature, seed })
    const groups = yield* Stream.runCollect(Rollout.stream(builders, policy))
    return { name, metrics: summarize(name, groups), groups }
  })
})
