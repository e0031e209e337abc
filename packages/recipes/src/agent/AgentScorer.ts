/** Scorers for agents that are programs: a function, a judge model, or a verdict file that the agent writes. */
import { type ChatModel, InvalidOption, Message, type Score, type TinkerError } from "@effect-rl/core"
import { type Judge, Rubric } from "@effect-rl/core/environments"
import type { Renderer } from "@effect-rl/core/renderers"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import * as BaseJudge from "../grading/BaseJudge.ts"

/** What an agent did, as input to its scorer. The exit code by itself is not a reward. */
export interface Outcome {
  /** The row of the agent's task. */
  readonly task: Schema.JsonObject
  readonly stdout: string
  readonly stderr: string
  readonly exitCode: number
}

/** The scorer gave no verdict. The episode has no reward, and its group member fails. */
export class NoVerdict extends Schema.TaggedError<NoVerdict>()("NoVerdict", {
  scorer: Schema.String,
  found: Schema.String
}) {
  override get message() {
    return `${this.scorer} gave ${this.found}, expected a finite number or an object with a finite number as value`
  }
}

/** The reasons why an outcome cannot be scored. */
export type Error = NoVerdict | Judge.JudgeError | TinkerError.TinkerError | Renderer.RendererError

/** Scores an outcome. `key` identifies the episode and is the same in every run. */
export type Scorer = (outcome: Outcome, key: string) => Effect.Effect<Score.Score, Error>

/** The function that a user's module exports as its default. */
export type Function = (outcome: Outcome) => Verdict | PromiseLike<Verdict>

/** A reward, or a complete score. */
export type Verdict = typeof Verdict.Type

const Verdict = Schema.Union([
  Schema.Finite,
  Schema.Struct({
    value: Schema.Finite,
    success: Schema.optionalKey(Schema.Boolean),
    answer: Schema.optionalKey(Schema.String),
    explanation: Schema.optionalKey(Schema.String),
    parts: Schema.optionalKey(Schema.Record(Schema.String, Schema.Finite))
  })
])

const longestFound = 200

const inWords = (value: unknown) => (JSON.stringify(value) ?? String(value)).slice(0, longestFound)

const decoded = (scorer: string, verdict: unknown) =>
  Effect.mapBoth(Schema.decodeUnknownEffect(Verdict)(verdict), {
    onFailure: () => new NoVerdict({ scorer, found: inWords(verdict) }),
    onSuccess: (verdict): Score.Score => typeof verdict === "number" ? { value: verdict } : verdict
  })

const failure = (error: unknown) => Predicate.isError(error) ? error.message : String(error)

const isFunction = (value: unknown): value is (outcome: Outcome) => unknown => typeof value === "function"

/**
 * A scorer that calls the function that a module exports as its default. The function may return a promise; its verdict is validated. Fails
 * if the module cannot be imported or its default export is not a function.
 *
 * @example
 * const scorer = AgentScorer.fromModule("./score.ts")
 */
export const fromModule = Effect.fn("AgentScorer.fromModule")(function*(file: string) {
  const path = yield* Path.Path
  const url = yield* Effect.orDie(path.toFileUrl(path.resolve(file)))
  const wrong = (found: string) =>
    new InvalidOption.InvalidOption({ field: "score", found, expected: "a module whose default export is a function" })
  const module = yield* Effect.tryPromise({
    try: (): Promise<unknown> => import(url.href),
    catch: (error) => wrong(`${file}: ${failure(error)}`)
  })
  const score = Predicate.hasProperty(module, "default") ? module.default : undefined
  if (!isFunction(score)) return yield* wrong(file)
  const scorer: Scorer = Effect.fnUntraced(function*(outcome) {
    const verdict = yield* Effect.tryPromise({
      try: () => Promise.resolve(outcome).then(score),
      catch: (error) => new NoVerdict({ scorer: file, found: `the error ${failure(error)}` })
    })
    return yield* decoded(file, verdict)
  })
  return scorer
})

/**
 * The score from the JSON verdict that an agent wrote to a file. `redact` removes secrets that the agent was given. Fails with `NoVerdict`
 * if the file cannot be read or contains no verdict.
 */
export const fromFile = Effect.fn("AgentScorer.fromFile")(function*(file: string, redact: (text: string) => string) {
  const scorer = "the agent's file {verdict}"
  const fs = yield* FileSystem.FileSystem
  const text = yield* Effect.mapBoth(fs.readFileString(file), {
    onFailure: () => new NoVerdict({ scorer, found: "no text: it was not written" }),
    onSuccess: redact
  })
  const verdict = yield* Effect.mapError(
    Schema.decodeEffect(Schema.fromJsonString(Schema.Unknown))(text),
    () => new NoVerdict({ scorer, found: inWords(text) })
  )
  return yield* decoded(scorer, verdict)
})

/** A judge of what the agent printed to standard output. */
export interface JudgeOptions {
  readonly rubric: string
  /** The judge's model. Its weights are not trained. */
  readonly model: ChatModel.ChatModel
  readonly textOf: (task: Schema.JsonObject) => string
}

/**
 * A scorer with a judge model that reads the task and the agent's standard output, and gives a score from 0 to 1.
 *
 * @see Rubric
 */
export const fromJudge = Effect.fn("AgentScorer.fromJudge")(
  function*({ model, rubric: text, textOf }: JudgeOptions) {
    const open = yield* BaseJudge.make(model, text)
    const scorer: Scorer = Effect.fnUntraced(function*({ stdout, task }, key) {
      const judge = yield* open
      const completion = Message.assistant(stdout)
      const context = [Message.user(textOf(task))]
      return { value: yield* Rubric.grade(judge, { key, rubric: { text }, context, completion }), answer: stdout }
    }, Effect.scoped)
    return scorer
  }
)
