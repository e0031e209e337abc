/** An environment for a problem whose answer is expected in a box. */
import type { ChatModel } from "@effect-rl/core"
import { Message, ProblemEnv } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Boxed from "../grading/Boxed.ts"
import type * as MathAnswer from "../grading/MathAnswer.ts"
import { MathGrader } from "../grading/MathGrader.ts"

export interface Options extends MathAnswer.Options {
  readonly model: Pick<ChatModel.ChatModel, "renderer">
  readonly problem: string
  readonly answer: string
  /** Messages before the problem, such as the worked example `strawberry`. Default: none. */
  readonly prefix?: ReadonlyArray<Message.Message>
}

export const questionSuffix = " Write your answer in \\boxed{} format."

/** The problem with the instruction to box the answer. */
export const question = (problem: string) => problem + questionSuffix

/** One worked example that shows how to box the answer. */
export const strawberry: ReadonlyArray<Message.Message> = [
  Message.user(question("How many r's are in strawberry?")),
  Message.assistant(
    "Let's spell the word out and number all the letters: 1) s 2) t 3) r 4) a 5) w 6) b 7) e 8) r 9) r 10) y. " +
      "We have r's at positions 3, 8, and 9. \\boxed{3}"
  )
]

/** Grades the boxed answer of a response with `MathGrader`. A response without a box is wrong. */
export const checkAnswer =
  (reference: string, options: MathAnswer.Options = {}) => (response: string): Effect.Effect<boolean> =>
    Option.match(Boxed.extract(response), {
      onNone: () => Effect.succeed(false),
      onSome: (answer) => MathGrader.use((grader) => grader.isCorrect(answer, reference, options))
    })

/**
 * An environment with reward correct + 0.1·(format − 1), where format is 1 if the response has a box and was not truncated.
 *
 * @example
 * const env = MathEnv.make({ model, problem: "What is 17 · 23?", answer: "391", prefix: MathEnv.strawberry })
 *
 * @see tinker-cookbook `MathEnv`
 */
export const make = ({ answer, model, prefix, problem, ...options }: Options): ProblemEnv.ProblemEnv =>
  ProblemEnv.make({
    model,
    question: question(problem),
    referenceAnswer: answer,
    checkAnswer: checkAnswer(answer, options),
    checkFormat: (response) => Option.isSome(Boxed.extract(response)),
    ...(prefix === undefined ? {} : { prefix })
  })
