/**
 * An environment with one question and a graded answer.
 *
 * @example
 * const env = ProblemEnv.make({
 *   model,
 *   question: "What is 2 + 2?",
 *   referenceAnswer: "4",
 *   checkAnswer: (text) => text.trim() === "4"
 * })
 */
import * as Effect from "effect/Effect"
import type { ChatModel } from "../catalog/ChatModel.ts"
import * as Message from "../chat/Message.ts"
import type * as Renderer from "../chat/Renderer.ts"
import * as EnvMetric from "../records/EnvMetric.ts"
import * as Score from "../records/Score.ts"
import * as Env from "./Env.ts"
import * as Grader from "./Grader.ts"

type Check<E, R> = (text: string) => boolean | Effect.Effect<boolean, E, R>

/** The question and how answers to it are graded. */
export interface Options<E = never, R = never> {
  /** Renders the question and parses the answer. */
  readonly model: Pick<ChatModel, "renderer">
  /** The question, as the text of a user message. */
  readonly question: string
  /** The expected answer, for transcripts. */
  readonly referenceAnswer: string
  /** Whether the text of an answer is right. */
  readonly checkAnswer: Check<E, R>
  /** Whether a response is well formed. Default: every response is. */
  readonly checkFormat?: (text: string) => boolean
  /** Messages before the question, such as worked examples. */
  readonly prefix?: ReadonlyArray<Message.Message>
  /** Weight of the format in the reward. Default: 0.1. */
  readonly formatCoef?: number
  /** Whether a response ends properly only at the renderer's own stop, not also at the model's end-of-text token. Default: true. */
  readonly requireStopSequence?: boolean
}

/**
 * One question. The reward is correct + formatCoef·(format − 1). `format` is 1 if the response ended properly and passes `checkFormat`,
 * otherwise 0, so with the default coefficient the rewards are 1, 0.9, 0 and −0.1. A response that was cut at its token limit is graded as
 * well; its stop reason shows that it was cut. The score is 1 for a correct response, otherwise 0.
 *
 * @see tinker-cookbook `ProblemEnv`
 */
export interface ProblemEnv<out E = never, out R = never> extends Env.Env<E | Renderer.RendererError, R> {
  readonly question: string
  readonly referenceAnswer: string
}

/** Creates the environment of one question. */
export const make = <E = never, R = never>(options: Options<E, R>): ProblemEnv<E, R> => {
  const { renderer } = options.model
  const messages = [...(options.prefix ?? []), Message.user(options.question)]
  const isWellEnded = (termination: Renderer.Termination) =>
    termination === "stop_sequence" || (options.requireStopSequence === false && termination === "eos")
  return {
    question: options.question,
    referenceAnswer: options.referenceAnswer,
    task: { question: options.question, reference: options.referenceAnswer },
    ...Env.singleTurn(
      renderer,
      messages,
      Effect.fnUntraced(function*({ message, termination }, { stopReason }) {
        const text = Message.text(message)
        const format = isWellEnded(termination) && (options.checkFormat?.(text) ?? true)
        const correct = yield* Grader.verdict(() => options.checkAnswer(text))
        return {
          _tag: "Done",
          reward: Number(correct) + (options.formatCoef ?? 0.1) * (Number(format) - 1),
          score: Score.correct(correct, { answer: text }),
          metrics: { format: EnvMetric.rate(format) },
          stopReason: stopReason === "length" ? "max_tokens" : "completed"
        } satisfies Env.Done
      })
    )
  }
}
