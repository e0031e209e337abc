/** A group of answers to one prompt that a judge grades with rubrics. */
import type * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import type { ChatModel } from "../../catalog/ChatModel.ts"
import type * as Message from "../../chat/Message.ts"
import type * as Renderer from "../../chat/Renderer.ts"
import type { MessagePolicy } from "../../policy/MessagePolicy.ts"
import * as EnvMetric from "../../records/EnvMetric.ts"
import type { Attempt } from "../../records/Key.ts"
import * as Statistics from "../../records/Statistics.ts"
import * as Check from "../../settings/Check.ts"
import type { InvalidOption } from "../../settings/InvalidOption.ts"
import type { EnvGroupBuilder, GroupReward } from "../EnvGroupBuilder.ts"
import * as PromptEnv from "../PromptEnv.ts"
import type { Trajectory } from "../Trajectory.ts"
import * as Judge from "./Judge.ts"
import * as Rubric from "./Rubric.ts"

/** The prompt, the rubrics and the judge. */
export interface Options<E, R> {
  /** Identifies the group within its batch, and names it in records. */
  readonly key: string
  /** The number of members, which are compared with each other. */
  readonly size: number
  /** Renders the messages and parses the answers. */
  readonly model: Pick<ChatModel, "renderer">
  /** The conversation to answer. */
  readonly messages: ReadonlyArray<Message.Message>
  /** The criteria that an answer is judged by. */
  readonly rubrics: Arr.NonEmptyReadonlyArray<Rubric.Rubric>
  /** The model that judges. */
  readonly judge: MessagePolicy<E, R>
  /** Weight of the format in the reward. Default: 0.1. */
  readonly formatCoef?: number
  /** Number of concurrent verdicts. Default: `Judge.defaultConcurrency`. */
  readonly concurrency?: number
  /** Tags of the group. Default: `["rubric"]`. */
  readonly tags?: ReadonlyArray<string>
}

const grade = Effect.fnUntraced(function*<E, R>(
  options: Options<E, R>,
  trajectories: ReadonlyArray<Trajectory>,
  { key }: Attempt
) {
  const { concurrency = Judge.defaultConcurrency, formatCoef = 0.1, judge, messages, model, rubrics } = options
  const answers = yield* Effect.forEach(trajectories, (trajectory) => PromptEnv.answer(model, trajectory))
  const requests = answers.flatMap(({ message }, member) =>
    rubrics.map((rubric, index) => ({
      rubric,
      context: messages,
      completion: message,
      key: `${key}/m${member}/r${index}`
    }))
  )
  const scores = yield* Effect.forEach(requests, (request) => Rubric.grade(judge, request), { concurrency })
  return answers.map(({ termination }, member): GroupReward => {
    const own = scores.slice(member * rubrics.length, (member + 1) * rubrics.length)
    const value = Statistics.mean(own)
    const format = termination === "stop_sequence"
    return {
      reward: value + formatCoef * (Number(format) - 1),
      score: { value, parts: Object.fromEntries(own.map((score, index) => [`rubric ${index + 1}`, score])) },
      metrics: { rubric_score: EnvMetric.mean(value), format: EnvMetric.rate(format) }
    }
  })
})

/**
 * A member's reward is the mean score over the rubrics + formatCoef·(format − 1). `format` is 1 if the answer ended at the renderer's own
 * stop, otherwise 0. Verdicts are requested concurrently; if one fails or cannot be parsed, the group's grading fails. Opening the group
 * fails with `InvalidOption` if `concurrency` is not an integer ≥ 1.
 *
 * @example
 * const group = RubricGradedGroupBuilder.make({
 *   key: "haiku",
 *   size: 4,
 *   model,
 *   messages: [Message.user("Write a haiku.")],
 *   rubrics: [{ text: "Has three lines of 5, 7 and 5 syllables", range: [0, 1] }],
 *   judge
 * })
 *
 * @see tinker-cookbook `RubricGradedEnvGroupBuilder`
 */
export const make = <E, R>(
  options: Options<E, R>
): EnvGroupBuilder<E | Judge.JudgeError | InvalidOption | Renderer.RendererError, R> => ({
  key: options.key,
  size: options.size,
  tags: options.tags ?? ["rubric"],
  open: Effect.as(Check.all(Check.option("concurrency", options.concurrency, Check.whole(1))), {
    makeEnv: () => Effect.sync(() => PromptEnv.make(options.model, options.messages)),
    groupRewards: (trajectories, attempt) => grade(options, trajectories, attempt)
  })
})
