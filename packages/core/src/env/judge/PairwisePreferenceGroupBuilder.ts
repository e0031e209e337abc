/** Several answers to one prompt, each compared with others. */
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

/** The prompt, the preference model and how answers are compared. */
export interface Options<E, R> {
  readonly key: string
  readonly size: number
  readonly model: Pick<ChatModel, "renderer">
  readonly messages: ReadonlyArray<Message.Message>
  readonly preferenceModel: PreferenceModel<E, R>
  /** Default "all_pairs_both_ways". */
  readonly pattern?: Tournament.Pattern
  /** Members are compared only within groups of this size, so that the number of comparisons grows linearly with members; default 4. */
  readonly matchupGroupSize?: number
  /** The part of an answer that is compared, such as the text after a heading; its whole text without thinking unless given. */
  readonly prepare?: (text: string) => string
  /** Comparisons at the same time; default `Judge.defaultConcurrency`. */
  readonly concurrency?: number
  /** Default `["pair_pref"]`. */
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
 * Reward = wins minus losses over a member's comparisons, and −1 for an answer that did not end at the renderer's own stop.
 * Comparisons run at the same time; one that fails fails the group's grading. Opening the group fails with `InvalidOption` where
 * `matchupGroupSize` or `concurrency` is not a whole number from 1 on.
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
