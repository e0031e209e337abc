/** Runs agent programs in sandboxes whose only network access is the gateway of their sessions. */
import { Launcher } from "@effect-rl/agent"
import {
  Outcome,
  Sandbox,
  type SandboxCapabilities,
  SandboxError,
  type SandboxFiles,
  type SandboxLimits
} from "@effect-rl/sandbox"
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as HttpServer from "effect/http/HttpServer"
import * as Layer from "effect/Layer"
import type * as Path from "effect/Path"
import { constants } from "node:os"
import * as FolderFiles from "./FolderFiles.ts"

export interface Options {
  /** The runtime of the agents. Default: by the first word of each command, `node`, `python` for `python` or `python3`, or else `shell`. */
  readonly runtime?: SandboxCapabilities.Runtime
  /** Files of the agent, placed in the folder where it starts. Default: a copy of the agent's `cwd`. */
  readonly files?: SandboxFiles.SandboxFiles
  readonly limits?: Partial<SandboxLimits.SandboxLimits>
}

/** The runtime that a command needs. */
const runtimeOf = ([program]: Launcher.Program["argv"]): SandboxCapabilities.Runtime =>
  program === "node" ? "node" : /^python[\d.]*$/.test(program) ? "python" : "shell"

const signals: Readonly<Record<string, number | undefined>> = constants.signals

/** The exit code of a program that a signal ended, as shells report it. */
const codeOf = (signal: string) => 128 + (signals[signal] ?? 0)

const ended = (exitCode: number, { stderr, stdout }: Outcome.Ended, note = ""): Launcher.Ended => ({
  exitCode,
  stdout: Outcome.text(stdout),
  stderr: `${Outcome.text(stderr)}${note}`
})

/**
 * The outcome of a program as its launcher reports it. If a limit ended the program, its standard error ends with a
 * line that says so.
 */
const endedOf = Outcome.match({
  Exited: (outcome) => ended(outcome.code, outcome),
  Signalled: (outcome) => ended(codeOf(outcome.signal), outcome),
  TimedOut: (outcome) => ended(codeOf("SIGKILL"), outcome, `\nended at its limit on ${outcome.limit} time\n`),
  OutOfMemory: (outcome) => ended(codeOf("SIGKILL"), outcome, "\nended at its limit on memory\n"),
  OutputLimit: (outcome) => ended(codeOf("SIGKILL"), outcome, `\nended at its limit on ${outcome.of}\n`),
  Killed: (outcome) => ended(codeOf("SIGKILL"), outcome)
})

/** Reads a folder's files and keeps them for later agents. */
const folders = Effect.map(Effect.context<FileSystem.FileSystem | Path.Path>(), (context) => {
  const read = new Map<string, SandboxFiles.SandboxFiles>()
  return Effect.fnUntraced(function*(folder: string | undefined) {
    if (folder === undefined) return []
    const files = read.get(folder) ?? (yield* Effect.provideContext(FolderFiles.read(folder), context))
    read.set(folder, files)
    return files
  })
})

type FilesOf = Effect.Success<typeof folders>

/** Starts the programs of one launcher, each in its own sandbox. */
const launch = (
  { open, provider }: Sandbox.Sandbox["Service"],
  { files: given, limits, runtime }: Options,
  filesOf: FilesOf,
  gateway: string
) =>
  Effect.fn("Launcher.sandbox")(
    function*({ argv, cwd, env, stdin = "" }: Launcher.Program) {
      const place = yield* open({
        runtime: runtime ?? runtimeOf(argv),
        files: given ?? (yield* filesOf(cwd)),
        role: "agent",
        environment: env,
        network: [gateway],
        ...(limits !== undefined && { limits })
      })
      return endedOf(yield* place.exec({ argv, stdin }))
    },
    Effect.scoped,
    (effect, { argv: [program] }) =>
      Effect.mapError(
        effect,
        ({ message }) => new Launcher.LauncherError({ launcher: provider, program, detail: message })
      )
  )

/**
 * Starts each agent in its own sandbox. From there it reaches only the gateway's server: no other port of this machine, no DNS and no other
 * network. The sandbox contains a copy of the folder where the program starts. When the agent ends, the sandbox and every process that the
 * agent started end too.
 *
 * Fails with `Unsupported` if the sandbox cannot restrict its network to named addresses. bubblewrap can; WASI has no network, and programs
 * of `unsafeHost` reach everything that this machine reaches.
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
): Layer.Layer<
  Launcher.Launcher,
  SandboxError.SandboxError,
  Sandbox.Sandbox | HttpServer.HttpServer | FileSystem.FileSystem | Path.Path
> =>
  Layer.effect(
    Launcher.Launcher,
    Effect.gen(function*() {
      const sandbox = yield* Sandbox.Sandbox
      const { network } = sandbox.capabilities
      if (network !== "named") {
        const detail =
          `an agent must reach its gateway and nothing else, and the network of this provider is "${network}"`
        const reason = new SandboxError.Unsupported({ capability: "network", detail })
        return yield* new SandboxError.SandboxError({ provider: sandbox.provider, operation: "open", reason })
      }
      const { address } = yield* HttpServer.HttpServer
      const gateway = new URL(HttpServer.formatAddress(address)).host
      const run = launch(sandbox, options, yield* folders, gateway)
      return Launcher.Launcher.of({ name: sandbox.provider, files: "own", run })
    })
  )
