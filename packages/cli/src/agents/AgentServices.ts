/** The sandboxes in which recipes' agents run, and the gateway through which they reach their model. */
import { AgentGateway, Launcher } from "@effect-rl/agent"
import { type Recipe, SandboxLauncher } from "@effect-rl/recipes"
import { Sandbox } from "@effect-rl/sandbox"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"

/** The services of recipes whose policy is an agent. */
export type Services = AgentGateway.AgentGateway | Launcher.Launcher

/** This machine has no sandbox for the agent, and `--unsafe-host` was not given. */
export class NoLauncher extends Schema.TaggedError<NoLauncher>()("NoLauncher", { detail: Schema.String }) {
  override get message() {
    return `the agent cannot run in a sandbox: ${this.detail}. --unsafe-host starts it as a program of this machine, where it, and ` +
      "any command that its model has it run, may do whatever you may"
  }
}

/** The launcher of recipes that do not declare that they start programs. Starting one fails. */
const none = Layer.succeed(
  Launcher.Launcher,
  Launcher.Launcher.of({
    name: "none",
    files: "own",
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

/** A launcher that runs programs directly on this machine, and warns once, when the first program starts. */
const warned = Layer.effect(
  Launcher.Launcher,
  Effect.gen(function*() {
    const launcher = yield* Launcher.Launcher
    const warning = yield* Effect.cached(
      Effect.logWarning("--unsafe-host: the agent runs on this machine, with all of your permissions")
    )
    return Launcher.Launcher.of({
      ...launcher,
      run: (program) => Effect.andThen(warning, launcher.run(program))
    })
  })
).pipe(Layer.provide(Launcher.Launcher.unsafeHost))

const mebibyte = 1024 * 1024

/** Wide limits: an episode has its own time limit, and a run limits how many agents run at a time. */
const limits = { wall: "1 day", memory: 2048 * mebibyte, processes: 64, disk: 256 * mebibyte } as const
const concurrency = 256

/** Runs each agent in a bubblewrap sandbox; fails if this machine has none. */
const sandboxed = SandboxLauncher.layer({ limits }).pipe(
  Layer.provide(Sandbox.Sandbox.layerBubblewrap({ concurrency })),
  Layer.catchTag(
    "SandboxError",
    ({ message }) => Layer.effect(Launcher.Launcher, Effect.fail(new NoLauncher({ detail: message })))
  )
)

const server = Layer.unwrap(Effect.map(Effect.promise(() => import("./GatewayServer.ts")), ({ layer }) => layer))

/** A gateway whose server starts to listen at the first session. */
const gateway = Layer.effect(
  AgentGateway.AgentGateway,
  Effect.gen(function*() {
    const scope = yield* Effect.scope
    const started = yield* Effect.cached(
      Effect.map(Layer.buildWithScope(server, scope), Context.get(AgentGateway.AgentGateway))
    )
    return AgentGateway.AgentGateway.of({
      open: (answers) => Effect.flatMap(Effect.orDie(started), ({ open }) => open(answers))
    })
  })
)

/** The services for a recipe's agents. Its programs run in sandboxes, or directly on this machine with `--unsafe-host`. */
export const layer = ({ startsPrograms }: Pick<Recipe.Recipe, "startsPrograms">, unsafeHost: boolean) => {
  if (startsPrograms !== true) return Layer.merge(gateway, none)
  return unsafeHost ? Layer.merge(gateway, warned) : Layer.provideMerge(sandboxed, server)
}
