/** Users' recipes and pipelines, from modules that export one as their default or register evals. */
import { EvalRecipe, type Pipeline, type Recipe, Recipes } from "@effect-rl/recipes"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import { createHash } from "node:crypto"
import type * as AgentServices from "../agents/AgentServices.ts"
import * as ModuleSyntax from "./ModuleSyntax.ts"

/** A module cannot be loaded, or exports no recipe. */
export class NoRecipe extends Schema.TaggedError<NoRecipe>()("NoRecipe", {
  file: Schema.String,
  detail: Schema.String
}) {
  override get message() {
    return `${this.file} is not a recipe: ${this.detail}`
  }
}

/** Whether an argument is a module's path rather than a built-in recipe's name. */
export const isFile = (argument: string) => /[\\/]|\.[cm]?[jt]s$/.test(argument)

/** The name of a user's module, and the hash of its text. */
export interface Own {
  readonly name: string
  readonly code: string
}

/** The name of a recipe's runs: the recipe's own or, for a module that changes a built-in recipe, the module's. */
export const runName = Effect.fnUntraced(function*({ name }: Pick<Recipe.Recipe, "name">, own: Own | undefined) {
  const path = yield* Path.Path
  if (own === undefined || Recipes.all.every((builtIn) => builtIn.name !== name)) return name
  return path.parse(own.name).name
})

/** The services that the CLI provides to recipes, and a scope that ends with the command. */
export type Services = Recipes.Services | AgentServices.Services | Scope.Scope

const isConfigurable = (value: unknown) =>
  Predicate.hasProperty(value, "configure")
  && Predicate.hasProperty(value, "settings")
  && Predicate.hasProperty(value, "name")

type OwnPipeline = Pipeline.Pipeline<unknown, Services>

export const isPipeline = (value: unknown): value is OwnPipeline =>
  isConfigurable(value) && Predicate.isTagged(value, "Pipeline")

const isRecipe = (value: unknown): value is Recipe.Recipe<unknown, Services> =>
  isConfigurable(value) && !isPipeline(value)

const commonJs =
  "its package.json says that it is CommonJS, but it is an ES module: run \"npm pkg set type=module\" there, or rename it so that it ends in .mts or .mjs"

/**
 * The source line of a TypeScript syntax error, taken from its stack because the message lacks it. Node does not report the line for
 * JavaScript.
 */
const lineOf = (error: Error) =>
  error instanceof SyntaxError ? /^\S*?([^\\/\s]+:\d+)\n/.exec(error.stack ?? "")?.[1] : undefined

/** The package that a module imports and Node does not find. */
const missingPackage = (message: string) => /^Cannot find package '([^']+)' imported from/.exec(message)?.[1]

const detailOf = (error: unknown) => {
  if (!Predicate.isError(error)) return String(error)
  const missing = missingPackage(error.message)
  if (missing !== undefined) {
    return `it imports ${missing}, which is not installed in its folder or above: ` +
      "move the file into a folder inside of your project or clone, or install the package beside the file"
  }
  const line = lineOf(error)
  return line === undefined ? error.message : `${line}: ${error.message}`
}

/** Loads the recipe of an eval file, or the recipe or pipeline that is a module's default export. */
export const load = Effect.fn("OwnRecipe.load")(function*(file: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  if (!(yield* Effect.orElseSucceed(fs.exists(file), () => false))) {
    return yield* new NoRecipe({ file, detail: "it does not exist" })
  }
  if (yield* ModuleSyntax.isMistaken(file)) return yield* new NoRecipe({ file, detail: commonJs })
  if (EvalRecipe.isEval(file)) {
    return yield* Effect.mapError(EvalRecipe.fromFile(file), ({ detail }) => new NoRecipe({ file, detail }))
  }
  const url = yield* Effect.orDie(path.toFileUrl(path.resolve(file)))
  const module = yield* Effect.tryPromise({
    try: (): Promise<unknown> => import(url.href),
    catch: (error) => new NoRecipe({ file, detail: detailOf(error) })
  })
  const own = Predicate.hasProperty(module, "default") ? module.default : undefined
  return isRecipe(own) || isPipeline(own)
    ? own
    : yield* new NoRecipe({ file, detail: "it has no default export made by Recipe.make or Pipeline.make" })
})

/** Loads a module's recipe. Fails for a pipeline, which has no task of its own. */
export const loadRecipe = Effect.fnUntraced(function*(file: string) {
  const own = yield* load(file)
  return isPipeline(own)
    ? yield* new NoRecipe({ file, detail: "it is a pipeline: name a module of one of its recipes" })
    : own
})

/** The module path after the command line's verb; undefined if the verb is followed by a built-in recipe's name. */
export const named = (verb: string, args: ReadonlyArray<string>): string | undefined => {
  const argument = args[args.indexOf(verb) + 1] ?? ""
  return isFile(argument) ? argument : undefined
}

/** A hash of the module's text, so a resumed run can detect an edited task. Imported modules are not hashed. */
export const codeOf = Effect.fnUntraced(function*(file: string) {
  const fs = yield* FileSystem.FileSystem
  const text = yield* Effect.orElseSucceed(fs.readFileString(file), () => "")
  return createHash("sha256").update(text).digest("hex").slice(0, 16)
})
