/** Where the agents of recipes run, and where they reach their model. */
import { AgentGateway, Launcher } from "@effect-rl/agent"
import { type Recipe, SandboxLauncher } from "@effect-rl/recipes"
import { Sandbox } from "@effect-rl/sandbox"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"

/** The services of recipes whose policy is an agent. */
export type Services = AgentGateway.AgentGateway | Launcher.Launcher

/** No sandbox of this machine can hold the agent, and nobody said that it may run outside of one. */
export class NoLauncher extends Schema.TaggedError<NoLauncher>()("NoLauncher", { detail: Schema.String }) {
  override get message() {
    return `the agent cannot run in a sandbox: ${this.detail}. --unsafe-host starts it as a program of this machine, where it may do ` +
      "whatever you may, as may its model where it runs commands"
  }
}

/** No launcher is needed where a recipe does not say that it starts programs. */
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

/** Says once, where the first program is started, what it may do. */
const warned = Layer.effect(
  Launcher.Launcher,
  Effect.gen(function*() {
    const launcher = yield* Launcher.Launcher
    const warning = yield* Effect.cached(
      Effect.logWarning("--unsafe-host: the agent runs on this machine, with everything that you may do")
    )
    return Launcher.Launcher.of({
      ...launcher,
      run: (program) => Effect.andThen(warning, launcher.run(program))
    })
  })
).pipe(Layer.provide(Launcher.Launcher.unsafeHost))

const mebibyte = 1024 * 1024

/** An episode has limits of its own on time, and a run on the agents at the same time. */
const limits = { wall: "1 day", memory: 2048 * mebibyte, processes: 64, disk: 256 * mebibyte } as const
const concurrency = 256

/** Each agent in a sandbox of bubblewrap; fails where this machine has none. */
const sandboxed = SandboxLauncher.layer({ limits }).pipe(
  Layer.provide(Sandbox.Sandbox.layerBubblewrap({ concurrency })),
  Layer.catchTag(
    "SandboxError",
    ({ message }) => Layer.effect(Launcher.Launcher, Effect.fail(new NoLauncher({ detail: message })))
  )
)

const server = Layer.unwrap(Effect.map(Effect.promise(() => import("./GatewayServer.ts")), ({ layer }) => layer))

/** A gateway whose server listens from the first session on. */
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

/** The services of a recipe's agents: its programs run in sandboxes, or where `--unsafe-host` is given as programs of this machine. */
export const layer = ({ startsPrograms }: Pick<Recipe.Recipe, "startsPrograms">, unsafeHost: boolean) => {
  if (startsPrograms !== true) return Layer.merge(gateway, none)
  return unsafeHost ? Layer.merge(gateway, warned) : Layer.provideMerge(sandboxed, server)
}
