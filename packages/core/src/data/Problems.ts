/** Groups that answer questions with known answers, used by `RLDataset.problems`. */
import * as Effect from "effect/Effect"
import type { ChatModel } from "../catalog/ChatModel.ts"
import * as Message from "../chat/Message.ts"
import type * as Renderer from "../chat/Renderer.ts"
import * as Env from "../env/Env.ts"
import * as EnvGroupBuilder from "../env/EnvGroupBuilder.ts"
import * as Grader from "../env/Grader.ts"
import * as ProblemEnv from "../env/ProblemEnv.ts"
import type { BatchSettings } from "./BatchSettings.ts"

/** A function that grades responses. Its name is part of the dataset's fingerprint. */
export interface Reward<out E = never, out R = never> {
  readonly name: string
  readonly of: (text: string) => number | Effect.Effect<number, E, R>
}

/** A question, its answer, and how responses are graded. */
export interface Problem<out E = never, out R = never> {
  readonly question: string
  readonly answer: string
  /** Whether a response is correct. Default: it equals the answer, ignoring surrounding white space. */
  readonly check?: (text: string) => boolean | Effect.Effect<boolean, E, R>
  /** The reward of a response. Replaces `check`. */
  readonly reward?: Reward<E, R>
}

/** The model and the groups that attempt the problems. */
export interface Options extends Pick<BatchSettings, "groupSize"> {
  /** Renders the questions and parses the answers. */
  readonly model: Pick<ChatModel, "renderer">
  /** Messages before each question, such as worked examples. */
  readonly prefix?: ReadonlyArray<Message.Message>
  /** Tags of the groups. Default: `["problems"]`. */
  readonly tags?: ReadonlyArray<string>
}

const rewarded = <E, R>(
  { model: { renderer }, prefix = [] }: Options,
  { answer, question }: Problem<E, R>,
  { name, of }: Reward<E, R>
): Env.Env<E | Renderer.RendererError, R> => ({
  task: { question, reference: answer },
  ...Env.singleTurn(
    renderer,
    [...prefix, Message.user(question)],
    Effect.fnUntraced(function*({ message }, { stopReason }) {
      const text = Message.text(message)
      const reward = yield* Grader.verdict(() => of(text))
      return {
        _tag: "Done",
        reward,
        score: { value: reward, answer: text },
        logs: { reward: name },
        stopReason: stopReason === "length" ? "max_tokens" : "completed"
      }
    })
  )
})

const checked = <E, R>({ model, prefix = [] }: Options, { answer, check, question }: Problem<E, R>) =>
  ProblemEnv.make<E, R>({
    model,
    question,
    prefix,
    referenceAnswer: answer,
    checkAnswer: check ?? ((text) => text.trim() === answer.trim())
  })

/** A text for `EnvGroupBuilder.form`: how the problem is graded, and the number of messages before its question. */
const formOf = ({ check, reward }: Problem<unknown, unknown>, { prefix = [] }: Options) => {
  const graded = reward?.name ?? (check === undefined ? "exact match" : "own check")
  return prefix.length === 0 ? graded : `${graded} after ${prefix.length} messages`
}

/**
 * A group with `groupSize` attempts at one problem.
 *
 * @example
 * const group = Problems.group("2+2", { question: "What is 2 + 2?", answer: "4" }, { model, groupSize: 8 })
 */
export const group = <E, R>(
  key: string,
  problem: Problem<E, R>,
  options: Options
): EnvGroupBuilder.EnvGroupBuilder<E | Renderer.RendererError, R> => ({
  ...EnvGroupBuilder.make({
    key,
    size: options.groupSize,
    tags: options.tags ?? ["problems"],
    makeEnv: () =>
      Effect.sync(() =>
        problem.reward === undefined ? checked(options, problem) : rewarded(options, problem, problem.reward)
      )
  }),
  form: formOf(problem, options),
  code: String(problem.reward?.of ?? problem.check)
})
