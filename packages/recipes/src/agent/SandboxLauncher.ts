/** Agents that are programs in a sandbox, whose only network is the gateway of their sessions. */
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
  /** The language of the agents; that of the first word of each command unless given: `node`, `python3`, or else a shell. */
  readonly runtime?: SandboxCapabilities.Runtime
  /** Files of the agent, in the folder in which it starts; those of its `cwd` unless given. */
  readonly files?: SandboxFiles.SandboxFiles
  readonly limits?: Partial<SandboxLimits.SandboxLimits>
}

/** The language of a command. */
const runtimeOf = ([program]: Launcher.Program["argv"]): SandboxCapabilities.Runtime =>
  program === "node" ? "node" : /^python[\d.]*$/.test(program) ? "python" : "shell"

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

/** Reads each folder once. */
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

/** Programs of one launcher, each in a sandbox of its own. */
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
 * Starts each agent in a sandbox of its own, from which it reaches the server of the gateway and nothing else: no other port of this
 * machine, no names, no network. The sandbox ends with the agent, and with it every process that the agent started. Of the folder in which
 * a program is to start, its sandbox has a copy.
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
        const detail = `an agent needs the one address of its gateway, and the network of this provider is "${network}"`
        const reason = new SandboxError.Unsupported({ capability: "network", detail })
        return yield* new SandboxError.SandboxError({ provider: sandbox.provider, operation: "open", reason })
      }
      const { address } = yield* HttpServer.HttpServer
      const gateway = new URL(HttpServer.formatAddress(address)).host
      const run = launch(sandbox, options, yield* folders, gateway)
      return Launcher.Launcher.of({ name: sandbox.provider, files: "own", run })
    })
  )
