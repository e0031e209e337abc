/** Evaluators by name: those of a benchmark, or of a recipe. */
import { type ChatModel, InvalidOption } from "@effect-rl/core"
import { Suggestion } from "@effect-rl/core/program"
import { Benchmark, Benchmarks, type Recipe } from "@effect-rl/recipes"
import type { Sandbox } from "@effect-rl/sandbox"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as NamedSettings from "../checkpoints/NamedSettings.ts"
import * as GivenFlag from "../GivenFlag.ts"
import * as NamedRecipe from "../NamedRecipe.ts"
import { Output } from "../terminal/Output.ts"
import { AnswerKey } from "../train/AnswerKey.ts"

export interface Options {
  readonly limit: Option.Option<number>
  readonly k: Option.Option<number>
  readonly data: Option.Option<string>
  readonly maxTokens: number
  readonly temperature: number
  readonly seed: number
  /** Settings of a recipe. */
  readonly settings: Readonly<Record<string, unknown>>
  /** The backend and folder for checkpoints that the settings name by a run. */
  readonly target: NamedSettings.Target
}

/** No benchmark or recipe has the name, or it has no questions. */
export class NothingToMeasure extends Schema.TaggedError<NothingToMeasure>()("NothingToMeasure", {
  evaluation: Schema.String,
  detail: Schema.String
}) {
  override get message() {
    return `"${this.evaluation}" ${this.detail}`
  }
}

/** The questions, changed to show how many answers have been graded. */
const counting = Effect.fnUntraced(function*(
  name: string,
  questions: ReadonlyArray<Benchmark.Question>,
  attempts: number
) {
  const output = yield* Output
  let graded = 0
  const count = Effect.suspend(() => output.live(`${name}: ${++graded} of ${questions.length * attempts} answers`))
  return questions.map((question): Benchmark.Question => ({
    ...question,
    isCorrect: (response) => {
      const verdict = question.isCorrect(response)
      return Effect.tap(typeof verdict === "boolean" ? Effect.succeed(verdict) : verdict, () => count)
    }
  }))
})

const ofBenchmark = Effect.fnUntraced(function*(
  benchmark: Benchmark.Benchmark<Sandbox.Sandbox>,
  model: ChatModel.ChatModel,
  { data, k, limit, maxTokens, seed, temperature }: Options
) {
  const { name } = benchmark
  const questions = yield* benchmark.load({
    ...GivenFlag.options(limit, (limit) => ({ limit })),
    ...GivenFlag.options(data, (folder) => ({ folder }))
  })
  if (questions.length === 0) return yield* new NothingToMeasure({ evaluation: name, detail: "has no questions" })
  const attempts = Option.getOrElse(k, () => 1)
  yield* AnswerKey.set((prompt) =>
    Option.map(
      Option.fromUndefinedOr(questions.find((question) => prompt.includes(question.prompt))),
      ({ reference }) => reference
    )
  )
  const evaluator = Benchmark.evaluator(benchmark, yield* counting(name, questions, attempts), {
    maxTokens,
    seed,
    temperature,
    model,
    attempts
  })
  return [evaluator]
})

const ofRecipe = Effect.fnUntraced(function*(
  recipe: NamedRecipe.NamedRecipe,
  model: ChatModel.ChatModel,
  { data, k, limit, seed, settings, target }: Options
) {
  const other = Object.entries({ limit, k }).find(([, value]) => Option.isSome(value))
  if (other !== undefined) {
    return yield* new InvalidOption.InvalidOption({
      field: `--${other[0]}`,
      found: String(Option.getOrNull(other[1])),
      expected: `no value: the recipe "${recipe.name}" says how many problems it holds out`
    })
  }
  const folder = GivenFlag.options(data, (data) => ({ data }))
  const named = yield* NamedSettings.resolve(recipe.settings, settings, target)
  const configured = yield* recipe.configure({ ...named, model: model.name, seed, ...folder })
  const task = yield* configured.build(model)
  yield* AnswerKey.set(task.answerTo)
  if (task.evaluators.length === 0) {
    return yield* new NothingToMeasure({ evaluation: recipe.name, detail: "holds out no problems" })
  }
  return task.evaluators
})

/** Finds a recipe by its name or module. A benchmark takes precedence over a recipe of the same name. */
const recipeOf = Effect.fnUntraced(function*(name: string) {
  return Option.isSome(Benchmarks.byName(name)) ? undefined : yield* NamedRecipe.find(name)
})

/** The default model of a recipe that the engine can train; undefined for other recipes and for benchmarks. */
export const usualModel = Effect.fnUntraced(function*(name: string) {
  const recipe = yield* recipeOf(name)
  return recipe === undefined ? undefined : yield* NamedRecipe.usualModel(recipe)
})

/** Whether the benchmark or recipe runs model-written code or starts programs. */
export const needs = Effect.fnUntraced(function*(name: string) {
  const benchmark = Option.getOrUndefined(Benchmarks.byName(name))
  const measured = benchmark ?? (yield* recipeOf(name))
  const { runsCode, startsPrograms }: Pick<Recipe.Recipe, "runsCode" | "startsPrograms"> = measured ?? {}
  return { ...(runsCode === true && { runsCode }), ...(startsPrograms === true && { startsPrograms }) }
})

export const of = Effect.fnUntraced(function*(name: string, model: ChatModel.ChatModel, options: Options) {
  const benchmark = Benchmarks.byName(name)
  if (Option.isSome(benchmark)) return yield* ofBenchmark(benchmark.value, model, options)
  const recipe = yield* recipeOf(name)
  if (recipe !== undefined) return yield* ofRecipe(recipe, model, options)
  const known = new Set([...Benchmarks.all, ...NamedRecipe.all].map(({ name }) => name))
  const detail = `is neither a benchmark nor a recipe; ${Suggestion.describe(name, [...known])}`
  return yield* new NothingToMeasure({ evaluation: name, detail })
})
