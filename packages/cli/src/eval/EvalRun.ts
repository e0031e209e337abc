/** One `eval` command, from its flags to its report. */
import { ChatModel, type Evaluator } from "@effect-rl/core"
import { Weights } from "@effect-rl/core/backend"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import * as RecipeServices from "../RecipeServices.ts"
import { Output } from "../terminal/Output.ts"
import * as Untrusted from "../terminal/Untrusted.ts"
import * as EvalReport from "./EvalReport.ts"
import * as Evaluators from "./Evaluators.ts"
import * as Subject from "./Subject.ts"
import * as SubjectFlags from "./SubjectFlags.ts"

export interface Flags extends SubjectFlags.Flags, Omit<Evaluators.Options, "target"> {
  readonly name: string
  readonly answers: Option.Option<string>
  readonly unsafeHost: boolean
}

const writeAnswers = Effect.fnUntraced(function*(file: string, answers: ReadonlyArray<EvalReport.Answer>) {
  const fs = yield* FileSystem.FileSystem
  yield* fs.writeFileString(file, answers.map((answer) => `${Untrusted.json(answer)}\n`).join(""))
})

const report = Effect.fnUntraced(function*(evaluation: Evaluator.Evaluation, { checkpoint, model }: Subject.Subject) {
  const output = yield* Output
  for (const answer of EvalReport.answers(evaluation)) yield* output.record({ type: "answer", ...answer })
  yield* output.lines(EvalReport.lines(evaluation, checkpoint ?? model, output.style))
  yield* output.record({
    type: "evaluation",
    model,
    ...(checkpoint === undefined ? {} : { checkpoint }),
    ...EvalReport.record(evaluation)
  })
})

const measure = Effect.fnUntraced(function*(subject: Subject.Subject, flags: Flags) {
  const model = yield* ChatModel.resolve(subject.model)
  const target = { backend: flags.backend, checkpoints: subject.checkpoints, isStage: false }
  const evaluators = yield* Evaluators.of(flags.name, model, { ...flags, target })
  const weights = Weights.fromSamplingClient(yield* Subject.sampler(subject))
  const evaluations: Array<Evaluator.Evaluation> = []
  for (const evaluator of evaluators) {
    const evaluation = yield* evaluator.evaluate(weights)
    evaluations.push(evaluation)
    yield* report(evaluation, subject)
  }
  if (Option.isSome(flags.answers)) {
    yield* writeAnswers(flags.answers.value, evaluations.flatMap(EvalReport.answers))
  }
}, Effect.scoped)

/** Evaluates the model or checkpoint, and prints the report. */
export const run = Effect.fn("EvalRun.run")(function*(flags: Flags) {
  const subject = yield* Subject.resolve(flags.model, flags.checkpoint, yield* Evaluators.usualModel(flags.name))
  const needs = yield* Evaluators.needs(flags.name)
  yield* measure(subject, flags).pipe(
    RecipeServices.provide(needs, flags.unsafeHost),
    Effect.provide(SubjectFlags.backend(subject, flags))
  )
}, Effect.tapError(Output.recordError))
