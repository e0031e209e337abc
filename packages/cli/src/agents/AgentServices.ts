/** Where the agents of recipes run, and where they reach their model. */
import { AgentGateway, Launcher } from "@effect-rl/agent"
import type { Recipe } from "@effect-rl/recipes"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as ChildProcessSpawner from "effect/process/ChildProcessSpawner"
import * as Schema from "effect/Schema"

/** The services of recipes whose policy is an agent. */
export type Services = AgentGateway.AgentGateway | Launcher.Launcher

/** Programs would be started on this machine, and nobody said that they may do there what they like. */
export class NoLauncher extends Schema.TaggedError<NoLauncher>()("NoLauncher", {}) {
  override get message() {
    return "the agent is a program of this machine, and may do whatever you may, as may its model where it runs commands: " +
      "--unsafe-host says that it shall"
  }
}

/** No launcher is needed where a recipe does not say that it starts programs. */
const none = Layer.succeed(
  Launcher.Launcher,
  Launcher.Launcher.of({
    name: "none",
    run: ({ argv: [program] }) =>
      Effect.fail(
        new Launcher.LauncherError({
          launcher: "none",
          program,
          detail: "expected startsPrograms in Recipe.make of a recipe that starts programs"
        })
      )
  })
)

/** Says once, where the first program is started, what it may do. */
const warned = Layer.effect(
  Launcher.Launcher,
  Effect.gen(function*() {
    const { name, run } = yield* Launcher.Launcher
    const warning = yield* Effect.cached(
      Effect.logWarning("--unsafe-host: the agent runs on this machine, with everything that you may do")
    )
    return Launcher.Launcher.of({ name, run: (program) => Effect.andThen(warning, run(program)) })
  })
).pipe(Layer.provide(Launcher.Launcher.unsafeHost))

/** A gateway whose server listens from the first session on. */
const gateway = Layer.effect(
  AgentGateway.AgentGateway,
  Effect.gen(function*() {
    const scope = yield* Effect.scope
    const started = yield* Effect.cached(Effect.gen(function*() {
      const { layer } = yield* Effect.promise(() => import("./GatewayServer.ts"))
      return Context.get(yield* Layer.buildWithScope(layer, scope), AgentGateway.AgentGateway)
    }))
    return AgentGateway.AgentGateway.of({
      open: (answers) => Effect.flatMap(Effect.orDie(started), ({ open }) => open(answers))
    })
  })
)

/** Programs of this machine where that is allowed; fails for a recipe that starts programs where it is not. */
const launcher = (
  { startsPrograms }: Pick<Recipe.Recipe, "startsPrograms">,
  unsafeHost: boolean
): Layer.Layer<Launcher.Launcher, NoLauncher, ChildProcessSpawner.ChildProcessSpawner> => {
  if (startsPrograms !== true) return none
  return unsafeHost ? warned : Layer.effect(Launcher.Launcher, Effect.fail(new NoLauncher()))
}

/** The services of a recipe's agents; programs are started where `--unsafe-host` is given. */
export const layer = (recipe: Pick<Recipe.Recipe, "startsPrograms">, unsafeHost: boolean) =>
  Layer.merge(gateway, launcher(recipe, unsafeHost))
