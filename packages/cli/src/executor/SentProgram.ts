/** A run's recipe, settings and backend as they are sent to workers. */
import { RunRecord } from "@effect-rl/core"
import type { GroupSource } from "@effect-rl/core/program"
import { type Recipe, RecipeTask } from "@effect-rl/recipes"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import * as Schema from "effect/Schema"
import * as Backend from "../train/Backend.ts"
import type { Own } from "../train/OwnRecipe.ts"

export const SentProgram = Schema.Struct({
  version: Schema.String,
  /** The name of a built-in recipe, or the module path with which the run was started. */
  recipe: Schema.String,
  /** A hash of the module's text. */
  code: Schema.optionalKey(Schema.String),
  model: Schema.String,
  settings: Schema.Record(Schema.String, Schema.Json),
  backend: Schema.Struct({
    name: Schema.Literals(Backend.names),
    /** The checkpoint folder. Workers find it at the same path. */
    checkpoints: Schema.String,
    baseUrl: Schema.optionalKey(Schema.String),
    server: Schema.optionalKey(Schema.Literals(Backend.servers)),
    allowUnmaskedLoss: Schema.Boolean
  }),
  /** The run's name in the cluster's database, which then stores the checkpoints instead of the folder. */
  run: Schema.optionalKey(Schema.String)
})
export type SentProgram = typeof SentProgram.Type

const Settings = Schema.toCodecJson(Schema.Record(Schema.String, Schema.Json))

export interface Options {
  readonly recipe: Pick<Recipe.Recipe, "name">
  readonly own: Own | undefined
  readonly settings: Readonly<Record<string, unknown>>
  readonly backend: Backend.Name
  readonly given: Backend.Options
  /** The run's name in the cluster's database, if the run is stored there. */
  readonly run?: string | undefined
}

/** The program of a run, in the form in which workers receive it. */
export const make = Effect.fnUntraced(function*({ backend, given, own, recipe, run, settings }: Options) {
  const path = yield* Path.Path
  const { checkpoints, model, service: { allowUnmaskedLoss, baseUrl, server } } = given
  const program: SentProgram = {
    version: RunRecord.version,
    recipe: own?.name ?? recipe.name,
    ...(own !== undefined && { code: own.code }),
    model,
    settings: yield* Effect.orDie(Schema.decodeUnknownEffect(Settings)(settings)),
    backend: {
      name: backend,
      checkpoints: path.resolve(checkpoints),
      ...(Option.isSome(baseUrl) && { baseUrl: baseUrl.value }),
      ...(Option.isSome(server) && { server: server.value }),
      allowUnmaskedLoss
    },
    ...(run !== undefined && { run })
  }
  return program
})

/** The source of a program's groups. */
export const source = (program: SentProgram): GroupSource.Source => ({ task: RecipeTask.name, program })
