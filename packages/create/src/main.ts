/** `npm create effect-rl my-task`: a new folder with a task, its test and the commands to train, watch and serve it. */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import * as Cause from "effect/Cause"
import * as Argument from "effect/cli/Argument"
import * as CliError from "effect/cli/CliError"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import * as Project from "./Project.ts"
import * as Template from "./Template.ts"

export interface Installation {
  /** The version of this package, and of the effect-rl packages in a new project. */
  readonly version: string
  /** The oldest Node version that runs them. */
  readonly least: string
  /** The folder of templates. */
  readonly templates: URL
}

const flags = {
  folder: Argument.String("folder").pipe(
    Argument.withDescription("Folder to make; . for the current one, which must be empty")
  ),
  template: Flag.Literals("template", Template.names).pipe(
    Flag.withDescription(
      "plain has problems with answers; agent trains a program that talks to a model by OpenAI's client; sandbox runs what the model wrote "
        + "(default: plain)"
    ),
    Flag.withDefault("plain")
  ),
  packages: Flag.Directory("packages", { mustExist: true }).pipe(
    Flag.withDescription("Folder of packed packages to install in place of npm's, as npm run pack writes it"),
    Flag.optional
  ),
  skipInstall: Flag.Boolean("skip-install").pipe(
    Flag.withDescription("Write the files without installing packages"),
    Flag.withDefault(false)
  )
}

const nextSteps = (folder: string, isInstalled: boolean) => [
  `written: ${folder}`,
  "",
  ...folder === "." ? [] : [`  cd ${folder}`],
  ...isInstalled ? [] : ["  npm install"],
  "  npm start           # trains a small model on the task",
  "  npm test            # tests the task without a model",
  "  npm run view        # shows runs in a browser",
  "  npm run serve       # answers other programs from the trained weights"
]

const command = ({ least, templates, version }: Installation) =>
  Command.make("create-effect-rl", flags, ({ folder, packages, skipInstall, template }) =>
    Effect.gen(function*() {
      const path = yield* Path.Path
      yield* Project.write({
        folder,
        template,
        templates: yield* path.fromFileUrl(templates),
        version,
        node: least,
        packages: Option.getOrUndefined(packages)
      })
      if (!skipInstall) yield* Project.install(folder)
      yield* Console.log(nextSteps(folder, !skipInstall).join("\n"))
    })).pipe(Command.withDescription("Make a task to train with effect-rl"))

/** Prints what went wrong in one line. */
const report = (cause: Cause.Cause<unknown>) => {
  const error = Cause.squash(cause)
  const isShown = Cause.hasInterruptsOnly(cause) || (CliError.isCliError(error) && error._tag === "ShowHelp")
  return isShown ? Effect.void : Console.error(`error: ${error instanceof Error ? error.message : String(error)}`)
}

export const main = (installation: Installation) =>
  Command.run(command(installation), { version: installation.version }).pipe(
    Effect.tapCause(report),
    Effect.provide(NodeServices.layer),
    NodeRuntime.runMain({ disableErrorReporting: true })
  )
