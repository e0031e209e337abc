/** `effect-rl sweep <recipe> --over setting=value,value`: trains a recipe with every combination of the values, and shows a leaderboard. */
import { InvalidOption } from "@effect-rl/core"
import { RunOptions } from "@effect-rl/core/program"
import { RunDirectory } from "@effect-rl/files"
import { AgentProgram, type Recipe, Recipes } from "@effect-rl/recipes"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import * as Stream from "effect/Stream"
import * as Help from "../Help.ts"
import * as RecipeServices from "../RecipeServices.ts"
import * as Columns from "../terminal/Columns.ts"
import { commandName } from "../terminal/CommandName.ts"
import { Output } from "../terminal/Output.ts"
import { RunLog } from "../terminal/RunLog.ts"
import * as OwnRecipe from "../train/OwnRecipe.ts"
import * as RunFlags from "../train/RunFlags.ts"
import * as RunFolder from "../train/RunFolder.ts"
import * as SeedSweep from "../train/SeedSweep.ts"
import * as SettingFlags from "../train/SettingFlags.ts"
import * as SweepFolder from "../train/SweepFolder.ts"
import * as TrainRun from "../train/TrainRun.ts"
import * as Grid from "./Grid.ts"
import * as Leaderboard from "./Leaderboard.ts"

const over = Flag.KeyValuePair("over").pipe(
  Flag.withMetavar("setting=value,value"),
  Flag.withDescription(
    "Values of a setting, by its name in configuration files; given several times, every combination is trained"
  )
)

const flags = { ...RunFlags.flags, over }

/** The sweep's folder: `--log-path`, or else `runs/<recipe>-sweep`. */
const folderOf = Effect.fnUntraced(function*(recipe: string, { backend, logPath }: TrainRun.Flags) {
  const path = yield* Path.Path
  return Option.isNone(logPath)
    ? path.join("runs", `${recipe}-sweep`)
    : yield* RunFolder.resolve({ recipe, backend, seed: 0, logPath })
})

const readRuns = Effect.fnUntraced(function*(name: string, folder: string) {
  const runs = yield* Effect.forEach(
    yield* SweepFolder.seeds(folder),
    (run) => Effect.flatMap(RunDirectory.open(run), ({ read }) => Stream.runCollect(read))
  )
  const trained: Leaderboard.Trained = { name, folder, runs }
  return trained
})

const report = Effect.fnUntraced(function*(places: ReadonlyArray<Leaderboard.Trained>) {
  const output = yield* Output
  const boards = Leaderboard.of(places)
  const command = yield* commandName
  for (const board of boards) {
    yield* output.lines(["", output.style.bold("leaderboard"), ...Columns.aligned(Leaderboard.rows(board))])
    yield* output.record({ type: "leaderboard", ...board })
  }
  const [first, second] = boards[0]?.places ?? []
  yield* output.lines(
    first === undefined || second === undefined
      ? ["", "no evaluator measured held-out problems, so there is nothing to rank"]
      : ["", `compare the best two:  ${command} compare ${second.folder} ${first.folder}`]
  )
})

/** Trains the configurations one after the other, each with its seeds. An interrupted sweep resumes. */
const run = Effect.fn("Sweep.run")(function*<E, R>(
  recipe: Recipe.Recipe<E, R>,
  given: Readonly<Record<string, unknown>>,
  { count, over, ...flags }: TrainRun.Flags & {
    readonly over: Readonly<Record<string, string>>
    readonly count: number
  }
) {
  if (flags.plan) {
    const expected = "left out: effect-rl train --plan shows what one of the runs would take"
    return yield* new InvalidOption.InvalidOption({ field: "--plan", found: "true", expected })
  }
  const path = yield* Path.Path
  const configurations = yield* Grid.of(over, given)
  const configured = yield* Effect.forEach(configurations, ({ name, settings }) =>
    Effect.map(
      TrainRun.configure(recipe, { ...given, ...settings }, flags),
      ({ seed }) => ({ name, settings, seed })
    ))
  const folder = yield* folderOf(recipe.name, flags)
  const trained = yield* Effect.forEach(
    configured,
    Effect.fnUntraced(function*({ name, seed, settings }) {
      const own = path.join(folder, name)
      yield* SeedSweep.each(
        seed,
        count,
        { ...flags, logPath: Option.some(own) },
        (seed, flags) => TrainRun.run(recipe, { ...given, ...settings, seed }, flags)
      )
      return yield* readRuns(name, own)
    })
  )
  yield* Effect.provide(report(trained), Layer.provide(Output.layer(flags), RunLog.layerNone))
})

const commandOf = <E>(
  recipe: Recipe.Recipe<E, OwnRecipe.Services>,
  own?: OwnRecipe.Own
) =>
  Command.make(
    own?.name ?? recipe.name,
    { settings: SettingFlags.of(recipe.settings), ...flags },
    ({ seeds, settings, ...flags }) =>
      run(recipe, SettingFlags.given(settings), { ...flags, own, count: Option.getOrElse(seeds, () => 1) }).pipe(
        RecipeServices.provide(recipe, flags.unsafeHost),
        Effect.provideService(RunOptions.Code, own?.code)
      )
  ).pipe(
    Command.withDescription(recipe.description),
    Help.withSections([...SettingFlags.sections(recipe.settings), ...RunFlags.sections])
  )

const commandOfModule = Effect.fnUntraced(function*(file: string) {
  const one = yield* OwnRecipe.load(file)
  if (OwnRecipe.isPipeline(one)) {
    const expected = "a module that exports a recipe: a pipeline is trained by effect-rl train"
    return yield* new InvalidOption.InvalidOption({ field: "recipe", found: file, expected })
  }
  return commandOf(one, { name: file, code: yield* OwnRecipe.codeOf(file) })
})

/** Makes a command for each recipe, and for the user's own module if the arguments name one. */
export const make = Effect.fnUntraced(function*(args: ReadonlyArray<string>) {
  const file = OwnRecipe.named("sweep", args)
  const owned = file === undefined ? [] : [yield* commandOfModule(file)]
  return Command.make("sweep").pipe(
    Command.withSubcommands([
      ...Recipes.all.map((recipe) => commandOf(recipe)),
      commandOf(AgentProgram.program),
      ...owned
    ]),
    Command.withExamples([
      {
        command: "effect-rl sweep arithmetic --over learningRate=3e-4,1e-3,3e-3 --seeds 3",
        description: "Three learning rates with three seeds each"
      },
      {
        command: "effect-rl sweep arithmetic --over loss=ppo,cispo --over substeps=1,4 --log-path runs/losses",
        description: "Every combination of two settings"
      }
    ])
  )
})
