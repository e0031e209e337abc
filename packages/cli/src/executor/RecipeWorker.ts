/** The tasks of a worker: recipes with settings, put together when the first of their groups comes. */
import { ChatModel, RunRecord } from "@effect-rl/core"
import { type Executor, GroupSource, RolloutTask, Suggestion, TaskRegistry } from "@effect-rl/core/program"
import { RecipeTask } from "@effect-rl/recipes"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as RcMap from "effect/RcMap"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as NamedRecipe from "../NamedRecipe.ts"
import * as RecipeServices from "../RecipeServices.ts"
import { AnswerKey } from "../train/AnswerKey.ts"
import * as Backend from "../train/Backend.ts"
import * as OwnRecipe from "../train/OwnRecipe.ts"
import { SentProgram } from "./SentProgram.ts"

/** The worker has another version of effect-rl than the run. */
export class VersionsDiffer extends Schema.TaggedError<VersionsDiffer>()("VersionsDiffer", {
  worker: Schema.String,
  run: Schema.String
}) {
  override get message() {
    return `the worker has effect-rl ${this.worker} and the run ${this.run}: install the same version on both`
  }
}

/** The worker has no such recipe. */
export class UnknownRecipe extends Schema.TaggedError<UnknownRecipe>()("UnknownRecipe", {
  name: Schema.String,
  known: Schema.Array(Schema.String)
}) {
  override get message() {
    return `no recipe "${this.name}": ${Suggestion.describe(this.name, this.known)}`
  }
}

/** The module of a recipe is another at the worker than where the run is. */
export class OtherModule extends Schema.TaggedError<OtherModule>()("OtherModule", { file: Schema.String }) {
  override get message() {
    return `${this.file} is not the same at the worker: copy the run's to it and start the worker again`
  }
}

/** A program that no group came of for this time is closed: its models may need much memory. */
const idleTimeToLive = "10 minutes"

const Program = Schema.fromJsonString(SentProgram)

/** A process reads a module once, whatever becomes of its file. */
const texts = new Map<string, string>()

/** The hash of a module's text when it was first read. */
const codeOf = Effect.fnUntraced(function*(file: string) {
  const code = texts.get(file) ?? (yield* OwnRecipe.codeOf(file))
  texts.set(file, code)
  return code
})

const recipeOf = Effect.fnUntraced(function*({ code, recipe: name, version }: SentProgram) {
  if (version !== RunRecord.version) return yield* new VersionsDiffer({ worker: RunRecord.version, run: version })
  const recipe = yield* NamedRecipe.find(name)
  if (recipe === undefined) return yield* new UnknownRecipe({ name, known: NamedRecipe.all.map(({ name }) => name) })
  if (code !== undefined && code !== (yield* codeOf(name))) return yield* new OtherModule({ file: name })
  return recipe
})

export interface Options {
  /** Compute threads of the engine. */
  readonly workers: Option.Option<number>
  /** Whether the programs of agents may run outside of a sandbox. */
  readonly unsafeHost: boolean
}

/** Opens a program, given as JSON: its backend, the services of its recipe and its task, for as long as the scope is open. */
const open = ({ unsafeHost, workers }: Options) =>
  Effect.fnUntraced(function*(json: string) {
    const program = yield* Schema.decodeEffect(Program)(json)
    const recipe = yield* recipeOf(program)
    const { backend, model, settings } = program
    const opened = Layer.mergeAll(
      Layer.provideMerge(
        Backend.layer(backend.name, {
          model,
          checkpoints: backend.checkpoints,
          workers,
          service: {
            baseUrl: Option.fromUndefinedOr(backend.baseUrl),
            server: Option.fromUndefinedOr(backend.server),
            allowUnmaskedLoss: backend.allowUnmaskedLoss
          },
          // Runs on torch have no workers.
          torch: { python: Option.none(), device: Option.none(), dtype: Option.none() }
        }),
        AnswerKey.layer
      ),
      RecipeServices.layer(recipe, unsafeHost)
    )
    const registry = Effect.gen(function*() {
      const configured = yield* recipe.configure(settings)
      const task = yield* configured.build(yield* ChatModel.resolve(model))
      yield* AnswerKey.set(task.answerTo)
      return TaskRegistry.TaskRegistry.layer(yield* RecipeTask.of(task))
    })
    const context = yield* Layer.build(Layer.provideMerge(Layer.unwrap(registry), opened))
    return yield* Effect.provideContext(TaskRegistry.TaskRegistry, context)
  })

const decode = Schema.decodeUnknownEffect(GroupSource.Payload)

/** The recipes that this process has, those of modules too. */
export const layer = (options: Options) => {
  const opened = open(options)
  return Layer.effect(
    TaskRegistry.TaskRegistry,
    Effect.gen(function*() {
      const own = yield* Effect.context<Effect.Services<ReturnType<typeof opened>>>()
      // A program outlives the group that it is opened for, so it must not keep that group's log and metering.
      const apart = (inner: Context.Context<Scope.Scope>) =>
        Context.add(own, Scope.Scope, Context.get(inner, Scope.Scope))
      const programs = yield* RcMap.make({
        lookup: (json: string) => Effect.updateContext(opened(json), apart),
        idleTimeToLive
      })
      const registryOf = Effect.fnUntraced(function*({ task: { payload } }: Executor.Job) {
        const key = JSON.stringify((yield* decode(payload)).program)
        return yield* Effect.tapError(RcMap.get(programs, key), () => RcMap.invalidate(programs, key))
      })
      return TaskRegistry.TaskRegistry.of({
        roll: (job) =>
          registryOf(job).pipe(
            Effect.catchDefect((defect) => Effect.fail(defect)),
            Effect.mapError((error) => RolloutTask.failed(job.group, error)),
            Effect.flatMap(({ roll }) => roll(job)),
            Effect.scoped
          )
      })
    })
  )
}
