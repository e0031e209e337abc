/** One `train` command, from its flags to its report. */
import { ChatModel, Suggestion, Train } from "@effect-rl/core"
import { RunDirectory } from "@effect-rl/files"
import type { Recipe } from "@effect-rl/recipes"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import * as Ref from "effect/Ref"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as Failure from "../Failure.ts"
import * as CurveFiles from "../report/CurveFiles.ts"
import * as FinalReport from "../report/FinalReport.ts"
import * as RunHistory from "../report/RunHistory.ts"
import * as Transcripts from "../report/Transcripts.ts"
import { Output } from "../terminal/Output.ts"
import { RunLog } from "../terminal/RunLog.ts"
import * as RunLogger from "../terminal/RunLogger.ts"
import * as AnswerKey from "./AnswerKey.ts"
import * as Backend from "./Backend.ts"
import * as Plan from "./Plan.ts"
import * as PlanText from "./PlanText.ts"
import * as Reporter from "./Reporter.ts"
import * as RunFolder from "./RunFolder.ts"
import type { Given } from "./TinkerBackend.ts"

export interface Flags extends Given {
  readonly backend: Backend.Name
  readonly workers: Option.Option<number>
  readonly logPath: Option.Option<string>
  readonly plan: boolean
  readonly price: Option.Option<number>
  readonly maxTokensTotal: Option.Option<number>
  readonly json: boolean
}

/** The backend does not have the model. */
export class UnknownModel extends Schema.TaggedError<UnknownModel>()("UnknownModel", {
  model: Schema.String,
  backend: Schema.String,
  available: Schema.Array(Schema.String)
}) {
  override get message() {
    const hint = Suggestion.describe(this.model, this.available)
    return `--model "${this.model}" is not a model of the backend "${this.backend}": ${hint}`
  }
}

const resolveModel = (model: string, backend: Backend.Name) =>
  Effect.catchReason(
    ChatModel.resolve(model),
    "TinkerError",
    "NotFound",
    ({ available }) => Effect.fail(new UnknownModel({ model, backend, available }))
  )

/** The recipe's task for its model, with the limit that was asked for. Fails before anything is written. */
const prepare = Effect.fnUntraced(function*<A extends Recipe.BaseSettings, E, R>(
  recipe: Recipe.Recipe<A, E, R>,
  settings: A,
  { backend, maxTokensTotal }: Flags
) {
  const model = yield* resolveModel(settings.model, backend)
  const task = yield* recipe.build(model, settings)
  yield* AnswerKey.AnswerKey.set(task.answerTo)
  const limit = Option.match(maxTokensTotal, {
    onNone: () => ({}),
    onSome: (maxTokensTotal) => ({ maxTokensTotal })
  })
  const config: Recipe.Task["config"] = { ...task.config, ...limit }
  yield* Train.validate(config)
  return { ...task, config }
})

const showPlan = Effect.fnUntraced(function*(recipe: string, task: Recipe.Task, folder: string, flags: Flags) {
  const output = yield* Output
  const { maxTokens, maxTokensTotal, model } = task.config
  const plan = yield* Plan.make(task)
  const price = Option.getOrUndefined(flags.price)
  const isStarted = yield* RunFolder.isStarted(folder)
  yield* output.lines(PlanText.lines(plan, {
    recipe,
    model: model.name,
    backend: flags.backend,
    folder,
    isStarted,
    maxTokens,
    turns: task.turns ?? 1,
    price,
    maxTokensTotal
  }))
  yield* output.record({
    type: "plan",
    recipe,
    model: model.name,
    folder,
    resumes: isStarted,
    ...plan,
    tokens: Plan.totalTokens(plan),
    ...(price === undefined ? {} : { dollars: Plan.cost(plan, price) })
  })
})

const report = Effect.fnUntraced(function*(title: string, folder: string, transcriptsFile: string) {
  const output = yield* Output
  const history = yield* RunHistory.read
  const transcripts = yield* Transcripts.read(transcriptsFile)
  yield* output.lines(FinalReport.lines(history, output.style))
  if (transcripts.length > 0) {
    yield* output.lines(["", ...Transcripts.lines(transcripts, output.style)])
  }
  const files = yield* CurveFiles.write(folder, history, title)
  yield* output.lines(["", `written: ${[...files, ...(transcripts.length > 0 ? [transcriptsFile] : [])].join(", ")}`])
  yield* output.record({ type: "report", folder, files, ...FinalReport.record(history) })
})

/** Says at once that it was interrupted, as the work's own finalizers may take long. */
const announcingInterrupt = (text: string) => <A, E, R>(work: Effect.Effect<A, E, R>) =>
  Effect.suspend(() => {
    let isOver = false
    const ended = Effect.sync(() => void (isOver = true))
    const announce = Effect.suspend(() => isOver ? Effect.void : Effect.logInfo(text))
    return work.pipe(
      Effect.onExit((exit) => Exit.hasInterrupts(exit) ? Effect.void : ended),
      Effect.raceFirst(Effect.onInterrupt(Effect.never, () => announce))
    )
  })

/** Trains to the end and reports; a run that is cut short says how to go on. */
const train = Effect.fnUntraced(function*(recipe: string, task: Recipe.Task, folder: string) {
  const path = yield* Path.Path
  const transcriptsFile = path.join(folder, "transcripts.json")
  const onEvent = yield* Reporter.make({ config: task.config, folder, transcriptsFile })
  const hasStarted = yield* Ref.make(false)
  const resumeHint = Effect.flatMap(Ref.get(hasStarted), (started) =>
    started
      ? Effect.logInfo(`what is done is kept in ${folder}: run the same command again to go on from there`)
      : Effect.void)
  yield* Train.run(task.config).pipe(
    Stream.tap(() => Ref.set(hasStarted, true)),
    Stream.runForEach(onEvent),
    Effect.onInterrupt(() => resumeHint),
    Effect.tapError(() => resumeHint),
    announcingInterrupt("stopping: what is under way is finished and saved, for five minutes at most")
  )
  yield* report(`${recipe}, ${task.config.model.name}`, folder, transcriptsFile)
}, Effect.scoped)

const recordError = (error: unknown) =>
  Effect.flatMap(Output, (output) => output.record({ type: "error", message: Failure.message(error) }))

/** Trains `recipe` with `settings`, or shows the plan for it. */
export const run = Effect.fn("TrainRun.run")(function*<A extends Recipe.BaseSettings, E, R>(
  recipe: Recipe.Recipe<A, E, R>,
  settings: A,
  flags: Flags
) {
  const path = yield* Path.Path
  const { name } = recipe
  const folder = yield* RunFolder.resolve({ ...flags, recipe: name, seed: settings.seed })
  const backend = Backend.layer(flags.backend, {
    model: settings.model,
    checkpoints: path.join(folder, "checkpoints"),
    workers: flags.workers,
    service: flags
  })
  const prepared = prepare(recipe, settings, flags)
  const log = flags.plan ? RunLog.layerNone : RunLog.layer(path.join(folder, "run.log"))
  const output = Layer.provideMerge(RunLogger.layer, Layer.provide(Output.layer(flags), log))
  const program = flags.plan
    ? Effect.flatMap(prepared, (task) => showPlan(name, task, folder, flags))
    : Effect.flatMap(prepared, (task) => Effect.provide(train(name, task, folder), RunDirectory.layer(folder)))
  yield* program.pipe(
    Effect.provide(Layer.provideMerge(backend, AnswerKey.AnswerKey.layer)),
    Effect.tapError(recordError),
    Effect.provide(output)
  )
})
