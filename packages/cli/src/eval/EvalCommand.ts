/** `effect-rl eval NAME`: evaluates a model or a checkpoint on a benchmark, or on a recipe's held-out problems. */
import { Hub } from "@effect-rl/files"
import { AgentProgram, Benchmarks, type Recipe, Recipes, TrainingSettings } from "@effect-rl/recipes"
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as AgentArguments from "../agents/AgentArguments.ts"
import * as UnsafeHostFlag from "../agents/UnsafeHostFlag.ts"
import * as Help from "../Help.ts"
import { Output } from "../terminal/Output.ts"
import { RunLog } from "../terminal/RunLog.ts"
import * as RunLogger from "../terminal/RunLogger.ts"
import * as OwnRecipe from "../train/OwnRecipe.ts"
import * as SettingFlags from "../train/SettingFlags.ts"
import * as EvalRun from "./EvalRun.ts"
import * as SubjectFlags from "./SubjectFlags.ts"

const whole = (name: string, least: number) =>
  Flag.Int(name).pipe(Flag.filter((value) => value >= least, () => `a whole number of at least ${least}`))

const names = (all: ReadonlyArray<{ readonly name: string }>) => all.map(({ name }) => name).join(", ")

const flags = {
  name: Argument.String("name").pipe(
    Argument.withDescription(
      `A benchmark: ${names(Benchmarks.all)}; or a recipe: ${
        names(Recipes.all)
      }; or a module of your own, such as ./my-recipe.ts`
    )
  ),
  ...SubjectFlags.flags,
  model: SubjectFlags.model("that of the checkpoint or of the recipe, or effect-rl/tiny-128"),
  limit: whole("limit", 1).pipe(
    Flag.withMetavar("number"),
    Flag.withDescription("Ask only this many questions of a benchmark, from the first on (default: all)"),
    Flag.optional
  ),
  k: whole("k", 1).pipe(
    Flag.withMetavar("number"),
    Flag.withDescription(
      "Answers to each question of a benchmark; with at least 2, pass@k is measured too (default: 1)"
    ),
    Flag.optional
  ),
  data: Flag.String("data").pipe(
    Flag.withMetavar("folder"),
    Flag.withDescription("Folder with test.jsonl, .parquet or .csv in place of the hub"),
    Flag.optional
  ),
  maxTokens: whole("max-tokens", 1).pipe(
    Flag.withMetavar("number"),
    Flag.withDescription("Largest number of tokens in an answer to a benchmark (default: 1024)"),
    Flag.withDefault(1024)
  ),
  temperature: Flag.Finite("temperature").pipe(
    Flag.filter((value) => value >= 0, () => "a number of at least 0"),
    Flag.withDescription("Temperature of answers to a benchmark; 0 takes the most likely token (default: 0.6)"),
    Flag.withDefault(0.6)
  ),
  seed: whole("seed", 0).pipe(
    Flag.withMetavar("number"),
    Flag.withDescription("The same seed gives the same answers (default: 0)"),
    Flag.withDefault(0)
  ),
  answers: Flag.String("answers").pipe(
    Flag.withMetavar("file"),
    Flag.withDescription("Also write question, reference, response and verdict of each answer, as JSON lines"),
    Flag.optional
  ),
  unsafeHost: UnsafeHostFlag.flag
}

/** A recipe's own settings: those that neither concern training nor have flags of this command. */
const settingsOf = ({ settings }: Pick<Recipe.Recipe, "settings">) =>
  Object.fromEntries(
    Object.entries(SettingFlags.of(settings)).filter(([name]) =>
      !TrainingSettings.names.has(name) && !Object.hasOwn(flags, name)
    )
  )

const evaluate = (settings: ReturnType<typeof SettingFlags.of>) =>
  Command.make(
    "eval",
    { ...flags, settings },
    (flags) =>
      EvalRun.run({ ...flags, settings: SettingFlags.given(flags.settings) }).pipe(
        Effect.provide([
          Layer.provideMerge(RunLogger.layer, Layer.provide(Output.layer(flags), RunLog.layerNone)),
          Hub.Hub.layer
        ])
      )
  ).pipe(
    Help.withSections(SubjectFlags.sections),
    Command.withExamples([
      { command: "effect-rl eval ./my-recipe.ts", description: "The held-out problems of your own recipe" },
      { command: "effect-rl eval gsm8k --limit 50 --k 4", description: "Fifty questions, four answers to each" },
      {
        command: "effect-rl eval arithmetic --checkpoint runs/arithmetic-0@10",
        description: "A run after its tenth iteration"
      }
    ])
  )

/**
 * Makes the command. It has the settings of an agent if the arguments name one, or of the recipe in a user's module, under the same names
 * as in `train`.
 */
export const make = Effect.fnUntraced(function*(args: ReadonlyArray<string>) {
  if (AgentArguments.isGiven(args)) return evaluate(settingsOf(AgentProgram.program))
  const file = OwnRecipe.named("eval", args)
  return evaluate(file === undefined ? {} : settingsOf(yield* OwnRecipe.loadRecipe(file)))
})
