/** `effect-rl train <recipe>`: trains a recipe or a pipeline. */
import type { Setting } from "@effect-rl/core"
import { RunOptions } from "@effect-rl/core/program"
import { AgentProgram, CreditSettings, type Pipeline, type Recipe, Recipes } from "@effect-rl/recipes"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Record from "effect/Record"
import * as Schema from "effect/Schema"
import * as Help from "../Help.ts"
import * as RecipeServices from "../RecipeServices.ts"
import * as OwnRecipe from "./OwnRecipe.ts"
import * as PipelineRun from "./PipelineRun.ts"
import * as PipelineSweep from "./PipelineSweep.ts"
import * as RunFlags from "./RunFlags.ts"
import * as SeedSweep from "./SeedSweep.ts"
import * as SettingFlags from "./SettingFlags.ts"
import * as TrainRun from "./TrainRun.ts"

/** Adds flag sections and example commands to the help of a recipe or a pipeline. */
const withHelp = (settings: Setting.Struct, name: string) => <I, E, R>(command: Command.Command<string, I, {}, E, R>) =>
  command.pipe(
    Help.withSections([...SettingFlags.sections(settings), ...RunFlags.sections]),
    Command.withExamples([
      { command: `effect-rl train ${name} --plan`, description: "What a run would take, without running it" },
      { command: `effect-rl train ${name} --iterations 5 --log-path runs/short`, description: "A short run" },
      { command: `effect-rl train ${name} --backend tinker --view`, description: "On a service, with the run's page" }
    ])
  )

/** The credit flags of a recipe with a credit of its own. Help does not list them, and the recipe refuses them by name. */
const refusedCredit = ({ credit }: Pick<Recipe.Recipe, "credit">) =>
  credit === undefined
    ? {}
    : Record.map(SettingFlags.of(Schema.Struct(CreditSettings.fields)), (flag) => Flag.withHidden(flag))

const commandOf = <E>(
  recipe: Recipe.Recipe<E, OwnRecipe.Services>,
  own?: OwnRecipe.Own
) => {
  const name = own?.name ?? recipe.name
  return Command.make(
    name,
    { settings: { ...refusedCredit(recipe), ...SettingFlags.of(recipe.settings) }, ...RunFlags.flags },
    ({ seeds, settings, ...flags }) => {
      const given = SettingFlags.given(settings)
      const run = { ...flags, own }
      const trained = Option.isSome(seeds)
        ? SeedSweep.run(recipe, given, run, seeds.value)
        : TrainRun.run(recipe, given, run)
      return trained.pipe(
        RecipeServices.provide(recipe, flags.unsafeHost),
        Effect.provideService(RunOptions.Code, own?.code)
      )
    }
  ).pipe(Command.withDescription(recipe.description), withHelp(recipe.settings, name))
}

const commandOfPipeline = <E>(
  pipeline: Pipeline.Pipeline<E, OwnRecipe.Services>,
  { code, name }: Partial<OwnRecipe.Own> = {}
) =>
  Command.make(
    name ?? pipeline.name,
    { settings: SettingFlags.of(pipeline.settings), ...RunFlags.flags },
    ({ seeds, settings, ...flags }) => {
      const given = SettingFlags.given(settings)
      const trained = Option.isSome(seeds)
        ? PipelineSweep.run(pipeline, given, flags, seeds.value)
        : PipelineRun.run(pipeline, given, flags)
      return trained.pipe(
        RecipeServices.provide(pipeline, flags.unsafeHost),
        Effect.provideService(RunOptions.Code, code)
      )
    }
  ).pipe(Command.withDescription(pipeline.description), withHelp(pipeline.settings, name ?? pipeline.name))

const commandOfModule = Effect.fnUntraced(function*(file: string) {
  const one = yield* OwnRecipe.load(file)
  const own: OwnRecipe.Own = { name: file, code: yield* OwnRecipe.codeOf(file) }
  return OwnRecipe.isPipeline(one) ? commandOfPipeline(one, own) : commandOf(one, own)
})

/** Makes a command for each recipe and pipeline, and for the user's own module if the arguments name one. */
export const make = Effect.fnUntraced(function*(args: ReadonlyArray<string>) {
  const file = OwnRecipe.named("train", args)
  const owned = file === undefined ? [] : [yield* commandOfModule(file)]
  return Command.make("train").pipe(
    Command.withSubcommands([
      ...Recipes.all.map((recipe) => commandOf(recipe)),
      commandOf(AgentProgram.program),
      ...Recipes.pipelines.map((pipeline) => commandOfPipeline(pipeline)),
      ...owned
    ]),
    Command.withExamples([
      { command: "effect-rl train arithmetic --iterations 5", description: "A recipe with another length" },
      { command: "effect-rl train gsm8k --plan", description: "What a run would take, without running it" },
      { command: "effect-rl train ./my-recipe.ts --view", description: "Your own recipe, with its page" },
      {
        command:
          "effect-rl train --agent \"node my-agent.js {task}\" --folder my-agent --tasks tasks.jsonl --score ./score.js",
        description: "Your own agent"
      }
    ])
  )
})
