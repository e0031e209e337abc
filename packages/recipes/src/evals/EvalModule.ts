/**
 * Reads eval files written for evalite or in the style of vitest-evals as definitions. Their imports of those packages are replaced by
 * stand-ins that only register evals, so neither package needs to be installed.
 */
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import * as Semaphore from "effect/Semaphore"
import { registerHooks } from "node:module"

/** A row of an eval. */
export interface Row {
  readonly input: unknown
  readonly expected?: unknown
}

/** The input of a scorer: the row and the output, under the names that evalite, autoevals and vitest-evals use. */
export interface Scored extends Row {
  readonly output: unknown
}

export interface Scorer {
  readonly name: string
  /** Returns a number, an object with a score, or a promise of either. The value is not yet checked. */
  readonly score: (scored: Scored) => unknown
}

/** An eval that a file registered. */
export interface Definition {
  readonly name: string
  /** Returns rows or a promise of rows. The value is not yet checked. */
  readonly rows: () => unknown
  /** Returns the output for an input, directly, as a promise or as a stream. The value is not yet checked. */
  readonly task: (input: unknown) => unknown
  readonly scorers: ReadonlyArray<Scorer>
}

/** A file cannot be loaded, or is not an eval that can be trained on. */
export class NotAnEval extends Schema.TaggedError<NotAnEval>()("NotAnEval", {
  file: Schema.String,
  detail: Schema.String
}) {
  override get message() {
    return `${this.file} is not an eval: ${this.detail}`
  }
}

/** Whether the file's name ends in `.eval.` and a JavaScript or TypeScript extension, such as `.eval.ts` or `.eval.mjs`. */
export const isEval = (file: string) => /\.eval\.[cm]?[jt]s$/.test(file)

type Callable = (...given: ReadonlyArray<unknown>) => unknown

const isFunction = (value: unknown): value is Callable => typeof value === "function"

const expectedOf = (name: string, field: string, expected: string) =>
  new TypeError(`${field} of the eval "${name}" is not ${expected}`)

const scorerOf = (of: string) => (given: unknown, index: number): Scorer => {
  if (isFunction(given)) return { name: given.name === "" ? `scorer ${index + 1}` : given.name, score: given }
  if (Predicate.hasProperty(given, "scorer") && isFunction(given.scorer)) {
    return {
      name: Predicate.hasProperty(given, "name") ? String(given.name) : `scorer ${index + 1}`,
      score: given.scorer
    }
  }
  throw expectedOf(of, `scorers[${index}]`, "a function or an object with a function as scorer")
}

/** The definition from the options in a file. Throws if they do not describe an eval, as the file's own runner would. */
const definitionOf = (name: string, given: unknown, variant: unknown): Definition => {
  const { data, scorers = [], task } = { data: undefined, scorers: undefined, task: undefined, ...Object(given) }
  if (!isFunction(task)) throw expectedOf(name, "task", "a function")
  if (!Array.isArray(scorers)) throw expectedOf(name, "scorers", "an array")
  return {
    name,
    rows: () => isFunction(data) ? data() : data,
    task: (input) => task(input, variant),
    scorers: scorers.map(scorerOf(name))
  }
}

/** The evals registered so far by the file that is being loaded. */
let registered: Array<Definition> = []

const register = (name: unknown, given: unknown, variant?: unknown) =>
  void registered.push(definitionOf(String(name), given, variant))

const variantsOf = (variants: ReadonlyArray<unknown>) => (name: unknown, given: unknown) => {
  for (const variant of variants) {
    const { input, name: title } = { input: undefined, name: "", ...Object(variant) }
    register(`${String(name)} [${String(title)}]`, given, input)
  }
}

const skip = () => undefined

const same = (value: unknown) => value

/** The stand-ins for the packages that an eval file imports, by package and export. */
const packages: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  evalite: {
    evalite: Object.assign(
      (name: unknown, given: unknown) => register(name, given),
      { skip, experimental_skip: skip, each: variantsOf }
    ),
    createScorer: ({ name, scorer }: { readonly name: string; readonly scorer: Callable }) =>
      Object.defineProperty((given: unknown) => scorer(given), "name", { value: name })
  },
  "evalite/ai-sdk": { cacheModel: same, traceAISDKModel: same, wrapAISDKModel: same },
  "evalite/traces": { reportTrace: skip },
  "vitest-evals": {
    describeEval: Object.assign((name: unknown, given: unknown) => register(name, given), { skip })
  }
}

/** The key of `packages` on `globalThis`. It contains this module's URL, so two copies of the module do not collide. */
const place = Symbol.for(`@effect-rl/recipes ${import.meta.url}`)

/** The source of a module that exports a stand-in package. */
const sourceOf = (name: string) => {
  const names = Object.keys(packages[name] ?? {}).join(", ")
  const from = `globalThis[Symbol.for(${JSON.stringify(place.description)})]`
  return `data:text/javascript,${encodeURIComponent(`export const { ${names} } = ${from}[${JSON.stringify(name)}]`)}`
}

/** The names that the file of a relative import may have, as TypeScript code spells imports. */
const spellings = (specifier: string) => [
  specifier.replace(/\.js$/, ".ts"),
  `${specifier}.ts`,
  `${specifier}/index.ts`
]

const resolved = <A>(specifier: string, next: (specifier: string) => A): A => {
  try {
    return next(specifier)
  } catch (error) {
    if (!specifier.startsWith(".")) throw error
    for (const spelling of spellings(specifier)) {
      try {
        return next(spelling)
      } catch {
        continue
      }
    }
    throw error
  }
}

/** Installs a module hook, once, that resolves imports of `packages` to the stand-ins and tries the `spellings` of relative imports. */
const hook = Effect.runSync(Effect.cached(Effect.sync(() => {
  Object.defineProperty(globalThis, place, { value: packages })
  registerHooks({
    resolve: (specifier, context, next) =>
      Object.hasOwn(packages, specifier)
        ? { url: sourceOf(specifier), format: "module", shortCircuit: true }
        : resolved(specifier, (specifier) => next(specifier, context))
  })
})))

/** The evals of imported files by URL, because a file that was imported before does not run again. */
const imported = new Map<string, ReadonlyArray<Definition>>()

const detailOf = (error: unknown) => Predicate.isError(error) ? error.message : String(error)

/** Files are imported one at a time, because a registration does not say which file it comes from. */
const turn = Semaphore.makeUnsafe(1)

const importing = Effect.fnUntraced(function*(file: string, url: string) {
  const known = imported.get(url)
  if (known !== undefined) return known
  yield* hook
  const definitions: Array<Definition> = []
  registered = definitions
  yield* Effect.tryPromise({
    try: (): Promise<unknown> => import(url),
    catch: (error) => new NotAnEval({ file, detail: detailOf(error) })
  })
  imported.set(url, definitions)
  return definitions
}, turn.withPermit)

/**
 * Imports a file and returns the evals that it registers. Fails if it cannot be imported, registers no eval, or has an eval without
 * scorers.
 *
 * @example
 * const definitions = EvalModule.load("capitals.eval.ts", "file:///home/ada/capitals.eval.ts")
 */
export const load = Effect.fn("EvalModule.load")(function*(file: string, url: string) {
  const definitions = yield* importing(file, url)
  const [first] = definitions
  if (first === undefined) {
    return yield* new NotAnEval({ file, detail: "it registers no eval with evalite or describeEval" })
  }
  const unscored = definitions.find(({ scorers }) => scorers.length === 0)
  if (unscored !== undefined) {
    return yield* new NotAnEval({
      file,
      detail: `"${unscored.name}" has no scorers, so there is nothing to learn from`
    })
  }
  return definitions
})

const Rows = Schema.NonEmptyArray(Schema.Struct({
  input: Schema.Unknown,
  expected: Schema.optionalKey(Schema.Unknown),
  only: Schema.optionalKey(Schema.UndefinedOr(Schema.Boolean))
}))

/** The rows of an eval, or those marked `only` if there are any. Fails if there is no row or a row has no input. */
export const rows = Effect.fnUntraced(function*(file: string, { name, rows }: Definition) {
  const wrong = (detail: string) => new NotAnEval({ file, detail: `the data of "${name}" ${detail}` })
  const given = yield* Effect.tryPromise({
    try: () => Promise.resolve().then(rows),
    catch: (error) => wrong(`could not be made: ${detailOf(error)}`)
  })
  const all = yield* Effect.mapError(
    Schema.decodeUnknownEffect(Rows)(given),
    ({ message }) => wrong(`are not rows with an input: ${message}`)
  )
  const only = all.filter(({ only }) => only === true)
  return only.length > 0 ? only : all
})
