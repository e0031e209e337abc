/** An environment for a programming problem. The program in the last response is run against hidden tests. */
import {
  type ChatModel,
  EnvMetric,
  FunctionTool,
  Grader,
  Message,
  MessageEnv,
  type MessagePolicy,
  Score,
  ToolEnv
} from "@effect-rl/core"
import { Judge, Rubric } from "@effect-rl/core/environments"
import { Statistics } from "@effect-rl/core/evaluation"
import { PythonJson } from "@effect-rl/core/renderers"
import { Outcome, Sandbox, type SandboxError } from "@effect-rl/sandbox"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Ungraded from "../grading/Ungraded.ts"
import * as CodeBlock from "./CodeBlock.ts"
import * as CodeGrader from "./CodeGrader.ts"
import type * as CodeTask from "./CodeTask.ts"

/**
 * The kinds of episodes.
 *
 * - `single`: one response
 * - `check`: the tool `check_solution` tells whether a program passes the hidden tests, as in the cookbook
 * - `repair`: if a program fails an example, the model sees how it failed and may repair it
 * - `python`: the tool `run_python` runs programs in the model's own sandbox
 */
export const forms = ["single", "check", "repair", "python"] as const
export type Form = (typeof forms)[number]

/** Criteria for programs that a model judges, in addition to the tests. */
export interface Rubrics {
  readonly rubrics: ReadonlyArray<Rubric.Rubric>
  readonly judge: MessagePolicy.MessagePolicy<{ readonly message: string }>
  /** Weight of the rubrics' mean score. Passing the tests has weight 1. */
  readonly coefficient: number
}

export interface Options extends CodeGrader.Options {
  readonly model: Pick<ChatModel.ChatModel, "renderer">
  readonly task: CodeTask.CodeTask
  /** The kind of episode. Default: `single`. */
  readonly form?: Form
  /** The most responses of an episode. Default: 1 for `single`, 2 for `check` and `repair`, 5 for `python`. */
  readonly maxTurns?: number
  /** How much less a response without a code block earns. Default: 0.1. */
  readonly formatCoef?: number
  /** Criteria that a model judges. Default: none, so only the tests judge programs. */
  readonly rubrics?: Rubrics
}

/** The default number of responses in an episode. */
export const turns: Readonly<Record<Form, number>> = { single: 1, check: 2, repair: 2, python: 5 }

const judge = (options: Options, tests: CodeTask.Tests, code: string) =>
  Ungraded.orElse(CodeGrader.judge(tests, code, options))

const explain = ({ failure, ran }: CodeGrader.Judgement) =>
  failure === undefined ? {} : { explanation: `test ${ran.at(-1)?.name}: ${failure}` }

/** A graded response. */
interface Graded {
  readonly reward: number
  readonly score: Score.Score
  readonly metrics: EnvMetric.Metrics
}

/** The reward of a response: correct + formatCoef·(format − 1), where format is 1 if the response has a code block. */
const reward = (
  { formatCoef = 0.1 }: Options,
  code: Option.Option<string>,
  judged: CodeGrader.Judgement | undefined
): Graded => {
  const format = Option.isSome(code)
  const passed = judged?.passed === true
  return {
    reward: Number(passed) + formatCoef * (Number(format) - 1),
    score: Score.correct(passed, {
      ...(format && { answer: code.value }),
      ...(judged === undefined ? { explanation: "there is no code block" } : explain(judged)),
      ...(judged !== undefined && { verdict: judged.verdict })
    }),
    metrics: { format: EnvMetric.rate(format) }
  }
}

/** The score of a message on each rubric, from 0 to 1. */
const scoresOf = ({ judge, rubrics }: Rubrics, { id, prompt }: CodeTask.CodeTask, completion: Message.Message) =>
  Ungraded.orElse(Effect.forEach(
    rubrics,
    (rubric, index) =>
      Rubric.grade(judge, { rubric, context: [Message.user(prompt)], completion, key: `${id}/rubric${index + 1}` }),
    { concurrency: Judge.defaultConcurrency }
  ))

/** Adds the rubric score to a program's reward, whether or not the program passed its tests. */
const withRubrics = (
  graded: Graded,
  { coefficient }: Rubrics,
  scores: ReadonlyArray<number>
): Graded => {
  const mean = Statistics.mean(scores)
  const parts = Object.fromEntries(scores.map((score, index) => [`rubric ${index + 1}`, score]))
  return {
    reward: graded.reward + coefficient * mean,
    score: { ...graded.score, parts: { tests: graded.score.value, ...parts } },
    metrics: { ...graded.metrics, rubric_score: EnvMetric.mean(mean) }
  }
}

/** Grades the program in a message. */
const grade = Effect.fnUntraced(function*(options: Options, message: Message.Message) {
  const { rubrics, task } = options
  const code = CodeBlock.last(Message.text(message))
  const judged = Option.isSome(code) ? yield* judge(options, task.tests, code.value) : undefined
  const graded = reward(options, code, judged)
  if (rubrics === undefined || Option.isNone(code)) return graded
  return withRubrics(graded, rubrics, yield* scoresOf(rubrics, task, message))
})

const gradeLast = (options: Options) => (messages: ReadonlyArray<Message.Message>) => {
  const last = messages.findLast(({ role }) => role === "assistant")
  return last === undefined
    ? Effect.succeed({ reward: 0, score: Score.correct(false), metrics: { format: EnvMetric.rate(false) } })
    : grade(options, last)
}

const Code = Schema.Struct({ code: Schema.String.annotate({ description: "Python code implementing the solution." }) })

const json = (fields: Readonly<Record<string, PythonJson.Value>>) =>
  PythonJson.stringify(new Map(Object.entries(fields)))

/** A tool that tells the model how its program failed, without revealing the hidden tests. */
const checkSolution = (options: Options) =>
  FunctionTool.make({
    name: "check_solution",
    description: "Execute the proposed solution against the task's test cases.\n\n" +
      "Use this to test your code before providing your final answer.",
    parameters: Code,
    handler: ({ code }) =>
      Effect.map(CodeGrader.judge(options.task.tests, code, options), ({ failure, passed, ran }) =>
        json({
          passed,
          details: new Map(failure === undefined ? [] : [["error_message", failure], ["test", ran.at(-1)?.name ?? ""]])
        })),
    isFatal: (error): error is CodeGrader.Error => error !== undefined
  })

/** The most characters of each output stream that the model sees. */
const shown = 2000

const cut = (bytes: Uint8Array) => {
  const text = Outcome.text(bytes)
  return text.length <= shown ? text : `${text.slice(0, shown)}… (${text.length} characters)`
}

const runPython = (place: Sandbox.Handle) =>
  FunctionTool.make({
    name: "run_python",
    description: "Run a Python program and see what it prints.",
    parameters: Schema.Struct({
      code: Schema.String.annotate({ description: "The program." }),
      stdin: Schema.optionalKey(Schema.String.annotate({ description: "Standard input; empty unless given." }))
    }),
    handler: Effect.fnUntraced(function*({ code, stdin = "" }) {
      yield* place.write("program.py", code)
      const outcome = yield* place.exec({ argv: ["python3", "program.py"], stdin })
      return json({
        outcome: Outcome.is("Exited")(outcome) ? `exit code ${outcome.code}` : outcome._tag,
        stdout: cut(outcome.stdout),
        stderr: cut(outcome.stderr)
      })
    }),
    isFatal: (error): error is SandboxError.SandboxError => error !== undefined
  })

/** The sandbox for the model's own programs. It lasts for the episode and has no access to the task's tests. */
const agentPlace = Effect.fnUntraced(function*({ memory, timeout = CodeGrader.defaultTimeout }: Options) {
  const sandbox = yield* Sandbox.Sandbox
  const wall = Duration.times(Duration.fromInputUnsafe(timeout), sandbox.capabilities.timeScale)
  return yield* sandbox.open({
    runtime: "python",
    role: "agent",
    limits: { wall, ...(memory !== undefined && { memory }) }
  })
})

const failedExample = ({ failure, ran }: CodeGrader.Judgement, isShown: boolean) =>
  "The program failed a test.\n" +
  `${failure}${isShown ? `: ${ran.at(-1)?.detail ?? ""}` : ""}\n` +
  "Repair it, and answer with the whole program in a ```python block."

/**
 * Lets the model repair its program until the program passes the examples; without examples, until it passes the hidden tests, whose
 * contents the model does not see. A response without a program, or the last allowed response, ends the episode.
 */
const repair = (options: Options): MessageEnv.MessageEnv<never, Sandbox.Sandbox> => {
  const { examples, prompt, tests } = options.task
  const most = options.maxTurns ?? turns.repair
  const judgeShown = (code: string) => judge(options, examples ?? tests, code)
  let messages: ReadonlyArray<Message.Message> = [Message.user(prompt)]
  let taken = 0
  return {
    initialMessages: Effect.sync(() => messages),
    task: { question: prompt },
    step: Effect.fnUntraced(function*(message): Effect.fn.Return<MessageEnv.Step, never, Sandbox.Sandbox> {
      taken++
      messages = [...messages, message]
      const code = CodeBlock.last(Message.text(message))
      const judged = Option.isSome(code) && taken < most ? yield* Grader.run(judgeShown(code.value)) : undefined
      if (judged === undefined || judged.passed) {
        const stopReason = taken < most ? "completed" : "max_turns"
        return { _tag: "Done", stopReason, ...yield* Grader.run(grade(options, message)) }
      }
      messages = [...messages, Message.user(failedExample(judged, examples !== undefined))]
      return { _tag: "Continue", reward: 0, messages, metrics: { repaired: EnvMetric.rate(true) } }
    })
  }
}

const withTools = <T extends FunctionTool.FunctionTool<CodeGrader.Error, Sandbox.Sandbox>>(
  options: Options,
  tools: ReadonlyArray<T>
) =>
  Effect.map(
    ToolEnv.make<FunctionTool.FunctionTool<CodeGrader.Error, Sandbox.Sandbox>, never, Sandbox.Sandbox>({
      model: options.model,
      tools,
      messages: [Message.user(options.task.prompt)],
      maxTurns: options.maxTurns ?? turns[options.form ?? "single"],
      grade: gradeLast(options)
    }),
    (env) => ({
      ...env,
      task: { question: options.task.prompt },
      step: (action: Parameters<typeof env.step>[0]) =>
        Effect.catchTag(env.step(action), ["SandboxError", "TestsUnusable"], (error) =>
          Ungraded.orElse(Effect.fail(error)))
    })
  )

/**
 * An environment with reward correct + `formatCoef`·(format − 1). `correct` is 1 if the program in the last block of the last response
 * passes all hidden tests; `format` is 1 if there is a block. A response that is truncated or cannot be parsed earns −0.1 and is not run.
 * The score's verdict records which provider ran which tests. If the sandbox fails, the group member is `Ungraded` and gets no reward. With
 * `rubrics`, a judge's mean score of a response with a block is added, times its coefficient. If the judge fails, the member is ungraded
 * too.
 *
 * @example
 * const env = CodeEnv.make({
 *   model,
 *   task: {
 *     id: "sum",
 *     prompt: CodePrompt.liveCodeBench("Print the sum of two numbers."),
 *     tests: { _tag: "Stdin", cases: [{ input: "2 3", output: "5" }] }
 *   }
 * })
 *
 * @see tinker-cookbook `DeepcoderTool`, `DeepcoderReward`
 */
export const make = Effect.fnUntraced(function*(options: Options) {
  switch (options.form ?? "single") {
    case "single":
      return yield* withTools(options, [])
    case "check":
      return yield* withTools(options, [checkSolution(options)])
    case "python":
      return yield* withTools(options, [runPython(yield* Ungraded.orElse(agentPlace(options)))])
    case "repair":
      return yield* MessageEnv.toEnv(repair(options), { model: options.model, failedParseReward: -0.1 })
  }
})
