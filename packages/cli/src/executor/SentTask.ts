/** Builds a received program in this process: its backend, its recipe's services and its task. */
import { ChatModel, RunRecord } from "@effect-rl/core"
import { Suggestion } from "@effect-rl/core/program"
import type { CheckpointStore } from "@effect-rl/files"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as NamedRecipe from "../NamedRecipe.ts"
import * as RecipeServices from "../RecipeServices.ts"
import { AnswerKey } from "../train/AnswerKey.ts"
import * as Backend from "../train/Backend.ts"
import * as OwnRecipe from "../train/OwnRecipe.ts"
import type { SentProgram } from "./SentProgram.ts"

/** The worker's version of effect-rl differs from the run's. */
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

/** The worker's copy of a recipe's module differs from the run's. */
export class OtherModule extends Schema.TaggedError<OtherModule>()("OtherModule", { file: Schema.String }) {
  override get message() {
    return `${this.file} differs on the worker: copy the run's file there and start the worker again`
  }
}

/** Hashes of modules when they were first read. A process loads a module only once, even if its file changes. */
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
  /** Number of the engine's compute threads. */
  readonly workers: Option.Option<number>
  /** Whether agents' programs may run outside of a sandbox. */
  readonly unsafeHost: boolean
}

/** Opens a program until the scope closes. The engine loads checkpoints from the given store, or from the program's folder. */
export const open = Effect.fnUntraced(function*(
  program: SentProgram,
  { unsafeHost, workers }: Options,
  store?: CheckpointStore.CheckpointStore
) {
  const recipe = yield* recipeOf(program)
  const { backend, model, settings } = program
  const context = yield* Layer.build(Layer.mergeAll(
    Layer.provideMerge(
      Backend.layer(backend.name, {
        model,
        checkpoints: backend.checkpoints,
        ...(store !== undefined && { store }),
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
  ))
  const task = yield* Effect.gen(function*() {
    const configured = yield* recipe.configure(settings)
    const task = yield* configured.build(yield* ChatModel.resolve(model))
    yield* AnswerKey.set(task.answerTo)
    return task
  }).pipe(Effect.provideContext(context))
  return { context, task }
})
