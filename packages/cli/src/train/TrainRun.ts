/** One `train` command, from its flags to its report. */
import { ChatModel, InvalidOption, type RunRecord, RunStore } from "@effect-rl/core"
import { Usage } from "@effect-rl/core/backend"
import { Caps, GroupSource, Prices, RunOptions, Suggestion } from "@effect-rl/core/program"
import { StoryReader } from "@effect-rl/core/records"
import { RunDirectory } from "@effect-rl/files"
import { CreditSettings, type Recipe } from "@effect-rl/recipes"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as String from "effect/String"
import * as NamedSettings from "../checkpoints/NamedSettings.ts"
import * as ExecutorFlag from "../executor/ExecutorFlag.ts"
import * as SentProgram from "../executor/SentProgram.ts"
import * as Failure from "../Failure.ts"
import * as CurveFiles from "../report/CurveFiles.ts"
import * as FinalReport from "../report/FinalReport.ts"
import * as RunHistory from "../report/RunHistory.ts"
import * as Transcripts from "../report/Transcripts.ts"
import { commandName } from "../terminal/CommandName.ts"
import { Output } from "../terminal/Output.ts"
import { RunLog } from "../terminal/RunLog.ts"
import * as RunLogger from "../terminal/RunLogger.ts"
import type * as TorchFlags from "../TorchFlags.ts"
import * as AnswerKey from "./AnswerKey.ts"
import * as Backend from "./Backend.ts"
import * as ConfigFile from "./ConfigFile.ts"
import * as Launching from "./Launching.ts"
import * as OwnRecipe from "./OwnRecipe.ts"
import * as Plan from "./Plan.ts"
import * as PlanText from "./PlanText.ts"
import * as ProcessMeter from "./ProcessMeter.ts"
import * as Reporter from "./Reporter.ts"
import * as RunFolder from "./RunFolder.ts"
import * as SettingFlags from "./SettingFlags.ts"
import * as ShortRun from "./ShortRun.ts"
import * as SinkFlag from "./SinkFlag.ts"
import type { Given } from "./TinkerBackend.ts"

export interface Flags extends Given, TorchFlags.Given {
  readonly backend: Backend.Name
  readonly workers: Option.Option<number>
  readonly executor: Option.Option<ExecutorFlag.ExecutorFlag>
  readonly durable: boolean
  readonly unsafeHost: boolean
  /** The user's module that exports the recipe; undefined for a built-in recipe. */
  readonly own?: OwnRecipe.Own | undefined
  readonly logPath: Option.Option<string>
  /** The engine's checkpoint folder; by default `checkpoints` in the run's folder. */
  readonly checkpoints?: string
  readonly plan: boolean
  readonly prices: Option.Option<string>
  readonly config: Option.Option<string>
  readonly set: Option.Option<Readonly<Record<string, string>>>
  readonly audit: boolean
  readonly sink: SinkFlag.Given
  readonly view: boolean
  readonly json: boolean
}

/** Advice for a model that is not an engine preset. */
const otherModels =
  "; the engine loads a folder in Hugging Face's layout or a .gguf file too, as in --model ./folder, and a service has more: --backend tinker"

/** The backend does not have the model. */
export class MissingModel extends Schema.TaggedError<MissingModel>()("MissingModel", {
  model: Schema.String,
  backend: Schema.String,
  available: Schema.Array(Schema.String)
}) {
  override get message() {
    const hint = Suggestion.describe(this.model, this.available)
    const isUnlike = Suggestion.nearest(this.model, this.available) === undefined
    const others = this.backend === "engine" && isUnlike ? otherModels : ""
    return `--model "${this.model}" is not a model of the backend "${this.backend}": ${hint}${others}`
  }
}

const resolveModel = (model: string, backend: Backend.Name) =>
  Effect.catchReason(
    ChatModel.resolve(model),
    "TinkerError",
    "NotFound",
    ({ available }) => Effect.fail(new MissingModel({ model, backend, available }))
  )

/**
 * Replaces setting names in an error by their flags. A setting is found by its own name, or by that name after its group's name, as
 * `klReference` for `update.kl.reference`. The credit settings have flags even in recipes that refuse them.
 */
const asFlag = (recipe: Pick<Recipe.Recipe, "settings">) => (error: InvalidOption.InvalidOption) => {
  const fields = { ...CreditSettings.fields, ...recipe.settings.fields }
  const named = (field: string) => {
    const [name = "", group = ""] = field.split(".").toReversed()
    const flag = [name, group + String.capitalize(name)].find((name) => Object.hasOwn(fields, name))
    return flag === undefined ? field : `--${SettingFlags.kebab(flag)}`
  }
  const expected = error.expected.replace(/\b(?:[a-z]\w*\.)+[a-z]\w*/gi, named)
  return new InvalidOption.InvalidOption({ found: error.found, field: named(error.field), expected })
}

/** A recipe or a pipeline of recipes. */
interface Configurable<A> extends Pick<Recipe.Recipe, "settings" | "onEngine" | "sample"> {
  readonly configure: (given: unknown) => Effect.Effect<A, InvalidOption.InvalidOption>
}

/** The merged settings. Flags override `--set`, which overrides the configuration file. */
const chosen = Effect.fnUntraced(function*(
  given: Readonly<Record<string, unknown>>,
  { config, set }: Pick<Flags, "config" | "set">
) {
  const file = Option.isSome(config) ? yield* ConfigFile.read("config", config.value) : {}
  const own = yield* ConfigFile.fromText(Option.getOrElse(set, () => ({})))
  return { ...file, ...own, ...given }
})

const configured = Effect.fnUntraced(function*<A>(
  recipe: Configurable<A>,
  settings: Readonly<Record<string, unknown>>,
  backend: Backend.Name
) {
  const short = yield* ShortRun.settings(recipe, backend, settings["model"])
  return yield* Effect.mapError(recipe.configure({ ...short, ...settings }), asFlag(recipe))
})

/** Configures a recipe with the chosen settings; the backend's defaults apply to the rest. */
export const configure = Effect.fnUntraced(function*<A>(
  recipe: Configurable<A>,
  given: Readonly<Record<string, unknown>>,
  flags: Pick<Flags, "backend" | "config" | "set">
) {
  return yield* configured(recipe, yield* chosen(given, flags), flags.backend)
})

/** The prices in the `--prices` file, or an empty table. */
const pricesOf = ({ prices }: Flags) =>
  Option.match(prices, {
    onNone: () => Effect.succeed<Prices.Prices>({}),
    onSome: (file) =>
      Effect.flatMap(ConfigFile.read("prices", file), (table) => Prices.decode(table, `--prices ${file}`))
  })

/** Builds the recipe's task for its model. Fails before anything is written. */
const prepare = Effect.fnUntraced(function*<E, R>(
  recipe: Recipe.Recipe<E, R>,
  { build, model }: Recipe.Configured<E, R>,
  { backend }: Flags
) {
  const named = asFlag(recipe)
  const task = yield* Effect.mapError(
    build(yield* resolveModel(model, backend)),
    (error) => error instanceof InvalidOption.InvalidOption ? named(error) : error
  )
  yield* AnswerKey.AnswerKey.set(task.answerTo)
  yield* Effect.mapError(task.check, named)
  return task
})

const showPlan = Effect.fnUntraced(function*<E, R>(
  recipe: string,
  task: Recipe.Task<E, R>,
  folder: string,
  { backend, given }: { readonly backend: Backend.Name; readonly given: Backend.Options }
) {
  const output = yield* Output
  const { maxTokens, model, settings } = task
  const plan = yield* Plan.make(task)
  const sum = Plan.all(plan)
  const isStarted = yield* RunFolder.isStarted(folder)
  yield* output.lines(PlanText.lines(plan, {
    recipe,
    model: model.name,
    backend,
    folder,
    isStarted,
    maxTokens,
    turns: task.turns,
    credit: task.credit,
    limits: Caps.limits(settings),
    memory: yield* Backend.memory(backend, given)
  }))
  yield* output.record({
    type: "plan",
    recipe,
    model: model.name,
    folder,
    resumes: isStarted,
    ...(task.credit !== undefined && { credit: task.credit }),
    ...plan,
    ...sum,
    tokens: Usage.total(sum)
  })
})

const report = Effect.fnUntraced(function*(
  title: string,
  folder: string,
  { renderer, tokenizer }: ChatModel.ChatModel
) {
  const output = yield* Output
  const run = yield* RunStore.RunStore
  const history = yield* RunHistory.read(run)
  const transcripts = yield* Transcripts.read(run, history, { decode: tokenizer.decode, parse: renderer.parse })
  yield* output.lines(FinalReport.lines(history, output))
  if (transcripts.length > 0) {
    yield* output.lines(["", ...Transcripts.lines(transcripts, output.style)])
  }
  const files = yield* CurveFiles.write(folder, history, title)
  yield* output.lines(["", `written: ${files.join(", ")}`, `see it:  ${yield* commandName} view ${folder}`])
  yield* output.record({ type: "report", folder, files, ...FinalReport.record(history) })
})

/** Logs an interruption immediately, because the finalizers of the work may take long. */
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

/**
 * Logs how to resume a started run: from the newest checkpoint, or from the beginning if none was saved. If the run cannot be resumed,
 * suggests another folder.
 */
const hintOf = Effect.fnUntraced(function*(folder: string, error?: unknown) {
  if (Predicate.isTagged(error, "ResumeError")) {
    return yield* Effect.logInfo("--log-path begins a run in another folder")
  }
  const { records, saved } = yield* StoryReader.read(yield* RunStore.RunStore)
  if (records.length === 0) return
  yield* Effect.logInfo(
    saved === undefined
      ? `no checkpoint was saved in ${folder}: the same command starts from the beginning`
      : `what is saved is kept in ${folder}: run the same command again to continue from there`
  )
})

/** Serves the run's page until the scope closes. */
const showPage = Effect.fnUntraced(function*(folder: string) {
  const { start } = yield* Effect.promise(() => import("../view/PageServer.ts"))
  const address = yield* start([folder])
  const output = yield* Output
  yield* output.lines([`page:  ${address}`])
  yield* output.record({ type: "page", address })
})

/** Trains to the end and prints a report. If the run is cut short, logs how to resume it. */
const train = Effect.fnUntraced(function*<E, R>(
  recipe: string,
  task: Pick<Recipe.Task<unknown, unknown>, "maxTokens" | "model" | "settings">,
  run: Stream.Stream<RunRecord.RunRecord, E, R>,
  folder: string,
  { view }: Flags
) {
  if (view) yield* showPage(folder)
  const onRecord = yield* Reporter.make({
    folder,
    maxTokens: task.maxTokens
  })
  const longest = Duration.format(Duration.fromInputUnsafe(task.settings.interruptTimeout))
  yield* run.pipe(
    Stream.runForEach(onRecord),
    Effect.onInterrupt(() => Effect.ignore(hintOf(folder))),
    Effect.tapError((error) => Effect.ignore(hintOf(folder, error))),
    announcingInterrupt(
      `stopping: work in progress is finished and saved, for ${longest} at most; Ctrl-C again ends at once`
    )
  )
  yield* report(`${recipe}, ${task.model.name}`, folder, task.model)
}, Effect.scoped)

/** `--executor` cannot be combined with `--backend torch`: each worker would load a copy of the model. */
export class NotOnWorkers extends Schema.TaggedError<NotOnWorkers>()("NotOnWorkers", {}) {
  override get message() {
    return "--executor cannot be used with --backend torch, because each worker would load a copy of its model: leave out one of the two"
  }
}

/** What a worker-driven run needs: its name and its store in the database. Fails if workers cannot drive the run. */
const durable = Effect.fnUntraced(function*(
  folder: string,
  { backend, checkpoints, executor }: Flags,
  given: Readonly<Record<string, unknown>>,
  named: Readonly<Record<string, unknown>>
) {
  const path = yield* Path.Path
  const DurableRun = yield* Effect.promise(() => import("./DurableRun.ts"))
  const refused = (detail: string) => Effect.fail(new DurableRun.NotDurable({ detail }))
  const database = Option.getOrUndefined(executor)
  if (database?._tag !== "Postgres") return yield* refused("--executor names no database")
  if (backend !== "engine" && backend !== "tinker") return yield* refused(`workers do not share --backend ${backend}`)
  if (checkpoints !== undefined) return yield* refused("it is a stage of a pipeline")
  const local = Object.keys(given).find((name) => given[name] !== named[name])
  if (local !== undefined) return yield* refused(`--${SettingFlags.kebab(local)} names a checkpoint of this machine`)
  const run = path.basename(path.resolve(folder))
  return { DurableRun, run, layer: ExecutorFlag.runLayer(database.database, run) }
})

/** Trains a recipe with the given settings, or shows its plan with `--plan`. */
export const run = Effect.fn("TrainRun.run")(function*<E, R>(
  recipe: Recipe.Recipe<E, R>,
  given: Readonly<Record<string, unknown>>,
  flags: Flags
) {
  if (flags.backend === "torch" && Option.isSome(flags.executor)) return yield* new NotOnWorkers()
  const path = yield* Path.Path
  const name = yield* OwnRecipe.runName(recipe, flags.own)
  const settings = yield* chosen(given, flags)
  const { model, seed } = yield* configured(recipe, settings, flags.backend)
  const folder = yield* RunFolder.resolve({ ...flags, recipe: name, seed })
  const checkpoints = flags.checkpoints ?? path.join(folder, "checkpoints")
  const resolve = flags.plan ? NamedSettings.planned : NamedSettings.resolve
  const isStage = flags.checkpoints !== undefined
  const named = yield* resolve(recipe.settings, settings, { backend: flags.backend, checkpoints, isStage })
  const options: Backend.Options = {
    model,
    checkpoints,
    workers: flags.workers,
    service: flags,
    torch: flags
  }
  const backend = Backend.layer(flags.backend, options)
  const log = flags.plan ? RunLog.layerNone : RunLog.layer(path.join(folder, "run.log"))
  const output = Layer.provideMerge(RunLogger.layer, Layer.provideMerge(Output.layer(flags), log))
  const prices = yield* pricesOf(flags)
  const program = Effect.gen(function*() {
    const task = yield* prepare(recipe, yield* configured(recipe, named, flags.backend), flags)
    if (flags.plan) return yield* showPlan(name, task, folder, { backend: flags.backend, given: options })
    yield* ShortRun.say(recipe, model)
    const sinks = yield* SinkFlag.attach(flags, folder)
    const short = yield* ShortRun.settings(recipe, flags.backend, named["model"])
    const chosen = { ...short, ...named }
    const launch = yield* Launching.make(recipe, chosen)
    const sent = { recipe, own: flags.own, settings: chosen, backend: flags.backend, given: options }
    if (flags.durable) {
      const { DurableRun, layer, run } = yield* durable(folder, flags, settings, named)
      const { interruptTimeout } = task.settings
      const program = yield* SentProgram.make({ ...sent, run })
      const driven = DurableRun.stream({
        run,
        folder,
        checkpoints,
        sent: { program, launch, prices },
        interruptTimeout
      })
      return yield* train(name, task, driven, folder, flags).pipe(
        Effect.provide(Layer.provideMerge(sinks, layer))
      )
    }
    const run = Layer.provideMerge(sinks, RunDirectory.layer(folder))
    const trained = train(name, task, task.run, folder, flags).pipe(
      Effect.provide(Layer.merge(run, ProcessMeter.layer)),
      Effect.provideService(RunOptions.Launched, launch)
    )
    if (Option.isNone(flags.executor)) return yield* trained
    const source = SentProgram.source(yield* SentProgram.make(sent))
    return yield* trained.pipe(
      Effect.provideService(GroupSource.GroupSource, source),
      Effect.provide(ExecutorFlag.layer(flags.executor.value, flags))
    )
  })
  yield* program.pipe(
    Effect.provide(Layer.merge(Prices.layer(prices), Layer.provideMerge(backend, AnswerKey.AnswerKey.layer))),
    Effect.tapError(Output.recordError),
    Effect.tapCause((cause) => RunLog.use(({ append }) => append(Failure.lines(cause)))),
    Effect.provide(output)
  )
})
