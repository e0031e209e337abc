/** effect's `ChildProcessSpawner` in an open sandbox: what starts processes by that service, such as a client of MCP servers, starts them there. */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as PlatformError from "effect/PlatformError"
import type * as ChildProcess from "effect/process/ChildProcess"
import * as Spawner from "effect/process/ChildProcessSpawner"
import * as Redacted from "effect/Redacted"
import * as Scope from "effect/Scope"
import * as Sink from "effect/Sink"
import * as Stream from "effect/Stream"
import { is, type Outcome } from "./Outcome.ts"
import type { Handle } from "./Sandbox.ts"
import type { SandboxError } from "./SandboxError.ts"

const module = "SandboxSpawner"

/** The id of no process: that of a sandbox means nothing outside of it. */
const nowhere = Spawner.ProcessId(NaN)

const failed = (method: string) => (cause: SandboxError) =>
  PlatformError.systemError({ _tag: "Unknown", module, method, description: cause.message, cause })

const refused = (description: string) =>
  Effect.fail(PlatformError.badArgument({ module, method: "spawn", description }))

/** Options that a sandbox cannot follow, or follows by its own spec. */
const refusedOptions = ["cwd", "env", "shell", "detached", "stdin", "stdout", "stderr", "additionalFds"] as const

const word = (given: string | Redacted.Redacted<string>) => Redacted.isRedacted(given) ? Redacted.value(given) : given

/** The program with its arguments, where it is one program without options. */
const argvOf = (command: ChildProcess.Command) => {
  if (command._tag === "PipedCommand") return refused("expected one program in place of a pipeline")
  const option = refusedOptions.find((name) => command.options[name] !== undefined)
  return option === undefined
    ? Effect.succeed([command.command, ...command.args.map(word)] as const)
    : refused(`expected no ${option}: processes start in the root of the sandbox, with its environment`)
}

/** The exit code of a process that ended by itself. */
const codeOf = (outcome: Outcome) =>
  is("Exited")(outcome)
    ? Effect.succeed(Spawner.ExitCode(outcome.code))
    : Effect.fail(PlatformError.systemError({
      _tag: "Unknown",
      module,
      method: "exitCode",
      description: `the process ended as ${outcome._tag}`
    }))

const spawnIn = (place: Handle): Spawner.ChildProcessSpawner["Service"]["spawn"] =>
  Effect.fnUntraced(function*(command) {
    const argv = yield* argvOf(command)
    const scope = yield* Effect.flatMap(Effect.scope, (parent) => Scope.fork(parent))
    const started = yield* place.start(argv).pipe(Scope.provide(scope), Effect.mapError(failed("spawn")))
    const outcome = Effect.mapError(started.outcome, failed("exitCode"))
    const stderr = Stream.unwrap(Effect.map(outcome, (ended) => Stream.make(ended.stderr)))
    return Spawner.makeHandle({
      pid: nowhere,
      exitCode: Effect.flatMap(outcome, codeOf),
      isRunning: Effect.map(Effect.timeoutOption(Effect.exit(outcome), 0), Option.isNone),
      kill: () => Scope.close(scope, Exit.void),
      stdin: Sink.mapError(started.stdin, failed("stdin")),
      stdout: started.stdout,
      stderr,
      all: Stream.merge(started.stdout, stderr),
      getInputFd: () => Sink.drain,
      getOutputFd: () => Stream.empty,
      unref: Effect.succeed(Effect.void)
    })
  })

/**
 * A spawner whose processes start in the root of an open sandbox, with its environment and limits, as one program without options. `kill`
 * ends a process at once, and standard error is there when it has ended; a process has no `pid` on this machine.
 *
 * @example
 * const spawner = Effect.flatMap(Sandbox.Sandbox, (sandbox) => sandbox.open({ runtime: "shell", role: "agent" })).pipe(
 *   Effect.map(SandboxSpawner.make)
 * )
 */
export const make = (place: Handle): Spawner.ChildProcessSpawner["Service"] => Spawner.make(spawnIn(place))
