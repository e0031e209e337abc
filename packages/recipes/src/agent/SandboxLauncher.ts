/** Agents that are programs in a sandbox, whose only network is the gateway of their sessions. */
import { Launcher } from "@effect-rl/agent"
import { type Capabilities, type Limits, Outcome, Sandbox, SandboxError, type SandboxFiles } from "@effect-rl/sandbox"
import * as Effect from "effect/Effect"
import * as HttpServer from "effect/http/HttpServer"
import * as Layer from "effect/Layer"
import { constants } from "node:os"

export interface Options {
  /** The language of the agent; `node`, `python3` or `sh` is the first word of its command. */
  readonly runtime: Capabilities.Runtime
  /** Files of the agent, in the folder in which it starts; none unless given. */
  readonly files?: SandboxFiles.SandboxFiles
  readonly limits?: Partial<Limits.Limits>
}

const signals: Readonly<Record<string, number | undefined>> = constants.signals

/** The exit code of a program that a signal ended, as a shell says it. */
const codeOf = (signal: string) => 128 + (signals[signal] ?? 0)

const ended = (exitCode: number, { stderr, stdout }: Outcome.Ended, note = ""): Launcher.Ended => ({
  exitCode,
  stdout: Outcome.text(stdout),
  stderr: `${Outcome.text(stderr)}${note}`
})

/** A program that was ended at a limit says so at the end of its standard error. */
const endedOf = Outcome.match({
  Exited: (outcome) => ended(outcome.code, outcome),
  Signalled: (outcome) => ended(codeOf(outcome.signal), outcome),
  TimedOut: (outcome) => ended(codeOf("SIGKILL"), outcome, `\nended at its limit on ${outcome.limit} time\n`),
  OutOfMemory: (outcome) => ended(codeOf("SIGKILL"), outcome, "\nended at its limit on memory\n"),
  OutputLimit: (outcome) => ended(codeOf("SIGKILL"), outcome, `\nended at its limit on ${outcome.of}\n`),
  Killed: (outcome) => ended(codeOf("SIGKILL"), outcome)
})

const outsideFolder = "its cwd is a folder of this machine, which the sandbox does not have; give it files instead"

/** Programs of one launcher, each in a sandbox of its own. */
const launch = ({ open, provider }: Sandbox.Sandbox["Service"], options: Options, gateway: string) =>
  Effect.fn("Launcher.sandbox")(
    function*({ argv, env, stdin = "" }: Launcher.Program) {
      const place = yield* open({ ...options, role: "agent", environment: env, network: [gateway] })
      return endedOf(yield* place.exec({ argv, stdin }))
    },
    Effect.scoped,
    (effect, { argv: [program], cwd }) => {
      const failed = (detail: string) => new Launcher.LauncherError({ launcher: provider, program, detail })
      return cwd === undefined
        ? Effect.mapError(effect, ({ message }) => failed(message))
        : Effect.fail(failed(outsideFolder))
    }
  )

/**
 * Starts each agent in a sandbox of its own, from which it reaches the server of the gateway and nothing else: no other port of this
 * machine, no names, no network. The sandbox ends with the agent, and with it every process that the agent started.
 *
 * Fails as `Unsupported` where the sandbox has no network or cannot prevent any: bubblewrap names addresses, WASI has none, and programs of
 * `unsafeHost` reach whatever this machine reaches.
 *
 * @example
 * const launcher = SandboxLauncher.layer({
 *   runtime: "node",
 *   files: SandboxFiles.make({ "agent.mjs": "console.log(process.env.OPENAI_BASE_URL)" }),
 *   limits: { wall: "10 minutes" }
 * })
 */
export const layer = (
  options: Options
): Layer.Layer<Launcher.Launcher, SandboxError.SandboxError, Sandbox.Sandbox | HttpServer.HttpServer> =>
  Layer.effect(
    Launcher.Launcher,
    Effect.gen(function*() {
      const sandbox = yield* Sandbox.Sandbox
      const { network } = sandbox.capabilities
      if (network !== "named") {
        const detail = `an agent needs the one address of its gateway, and the network of this provider is "${network}"`
        const reason = new SandboxError.Unsupported({ capability: "network", detail })
        return yield* new SandboxError.SandboxError({ provider: sandbox.provider, operation: "open", reason })
      }
      const { address } = yield* HttpServer.HttpServer
      const gateway = new URL(HttpServer.formatAddress(address)).host
      return Launcher.Launcher.of({ name: sandbox.provider, run: launch(sandbox, options, gateway) })
    })
  )
