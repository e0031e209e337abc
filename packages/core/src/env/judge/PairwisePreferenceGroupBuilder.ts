/** A group of answers to one prompt that are compared in pairs. */
import * as Effect from "effect/Effect"
import type { ChatModel } from "../../catalog/ChatModel.ts"
import * as Message from "../../chat/Message.ts"
import type * as Renderer from "../../chat/Renderer.ts"
import * as EnvMetric from "../../records/EnvMetric.ts"
import type { Attempt } from "../../records/Key.ts"
import * as Check from "../../settings/Check.ts"
import type { InvalidOption } from "../../settings/InvalidOption.ts"
import type { EnvGroupBuilder, GroupReward } from "../EnvGroupBuilder.ts"
import * as PromptEnv from "../PromptEnv.ts"
import type { Trajectory } from "../Trajectory.ts"
import * as Judge from "./Judge.ts"
import type { PreferenceModel } from "./PreferenceModel.ts"
import * as Tournament from "./Tournament.ts"

/** The prompt, the preference model, and how answers are compared. */
export interface Options<E, R> {
  /** Identifies the group within its batch, and names it in records. */
  readonly key: string
  /** The number of members, which are compared with each other. */
  readonly size: number
  /** Renders the messages and parses the answers. */
  readonly model: Pick<ChatModel, "renderer">
  /** The conversation to answer. */
  readonly messages: ReadonlyArray<Message.Message>
  /** Says which of two answers is better. */
  readonly preferenceModel: PreferenceModel<E, R>
  /** Whether each pair is compared in both orders. Default: "all_pairs_both_ways". */
  readonly pattern?: Tournament.Pattern
  /** Members are only compared within subgroups of this size, so the number of comparisons grows linearly with the group. Default: 4. */
  readonly matchupGroupSize?: number
  /** Extracts the part of an answer to compare, such as the text after a heading. Default: the whole text without thinking. */
  readonly prepare?: (text: string) => string
  /** Number of concurrent comparisons. Default: `Judge.defaultConcurrency`. */
  readonly concurrency?: number
  /** Tags of the group. Default: `["pair_pref"]`. */
  readonly tags?: ReadonlyArray<string>
}

const checkScore = (key: string, score: number) =>
  score >= -1 && score <= 1
    ? Effect.succeed(score)
    : Effect.fail(new Judge.JudgeError({ key, found: String(score), expected: "a number from −1 to 1" }))

const grade = Effect.fnUntraced(function*<E, R>(
  options: Options<E, R>,
  trajectories: ReadonlyArray<Trajectory>,
  { key }: Attempt
) {
  const { concurrency = Judge.defaultConcurrency, messages, model, preferenceModel } = options
  const { matchupGroupSize = 4, pattern = "all_pairs_both_ways", prepare = (text) => text } = options
  const answers = yield* Effect.forEach(trajectories, (trajectory) => PromptEnv.answer(model, trajectory))
  const completions = answers.map(({ message }) => [Message.assistant(prepare(Message.text(message)))])
  const matchups = Tournament.matchups(completions.length, pattern, matchupGroupSize)
  const scores = yield* Effect.forEach(matchups, ({ a, b }) => {
    const comparison = { prompt: messages, completionA: completions[a] ?? [], completionB: completions[b] ?? [] }
    const matchup = `${key}/${a}-${b}`
    const verdict = Judge.call(preferenceModel.compare(comparison, matchup), 0)
    return Effect.flatMap(verdict, (score) => checkScore(matchup, score))
  }, { concurrency })
  const winsMinusLosses = Tournament.winsMinusLosses(completions.length, matchups, scores)
  return answers.map(({ termination }, member): GroupReward => {
    const format = termination === "stop_sequence"
    const difference = winsMinusLosses[member] ?? 0
    return {
      reward: difference + Number(format) - 1,
      score: { value: difference },
      metrics: { win_minus_loss: EnvMetric.mean(difference), format: EnvMetric.rate(format) }
    }
  })
})

/**
 * A member's reward is its wins minus its losses, divided by the number of its comparisons, less 1 if its answer did not end at the
 * renderer's own stop. Comparisons run concurrently; if one fails, the group's grading fails. Opening the group fails with `InvalidOption`
 * if `matchupGroupSize` or `concurrency` is not an integer ≥ 1.
 *
 * @example
 * const group = PairwisePreferenceGroupBuilder.make({
 *   key: "haiku",
 *   size: 4,
 *   model,
 *   messages: [Message.user("Write a haiku.")],
 *   preferenceModel: PreferenceModel.fromMessagePolicy(judge)
 * })
 *
 * @see tinker-cookbook `PairwisePreferenceGroupBuilder`
 */
export const make = <E, R>(
  options: Options<E, R>
): EnvGroupBuilder<E | Judge.JudgeError | InvalidOption | Renderer.RendererError, R> => ({
  key: options.key,
  size: options.size,
  tags: options.tags ?? ["pair_pref"],
  open: Effect.as(
    Check.all(
      Check.option("matchupGroupSize", options.matchupGroupSize, Check.whole(1)),
      Check.option("concurrency", options.concurrency, Check.whole(1))
    ),
    {
      makeEnv: () => Effect.sync(() => PromptEnv.make(options.model, options.messages)),
      groupRewards: (trajectories, attempt) => grade(options, trajectories, attempt)
    }
  )
})
