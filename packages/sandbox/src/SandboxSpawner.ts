/**
 * effect's `ChildProcessSpawner` in an open sandbox. Code that uses the service, such as an MCP client, starts its processes in the
 * sandbox.
 */
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

/** A placeholder for the process id, because an id inside the sandbox has no meaning outside. */
const nowhere = Spawner.ProcessId(NaN)

const failed = (method: string) => (cause: SandboxError) =>
  PlatformError.systemError({ _tag: "Unknown", module, method, description: cause.message, cause })

const refused = (description: string) =>
  Effect.fail(PlatformError.badArgument({ module, method: "spawn", description }))

/** Options that a sandbox cannot follow, or that its spec determines. */
const refusedOptions = ["cwd", "env", "shell", "detached", "stdin", "stdout", "stderr", "additionalFds"] as const

const word = (given: string | Redacted.Redacted<string>) => Redacted.isRedacted(given) ? Redacted.value(given) : given

/** The program and its arguments, if the command is a single program without options. */
const argvOf = (command: ChildProcess.Command) => {
  if (command._tag === "PipedCommand") return refused("expected one program in place of a pipeline")
  const option = refusedOptions.find((name) => command.options[name] !== undefined)
  return option === undefined
    ? Effect.succeed([command.command, ...command.args.map(word)] as const)
    : refused(`expected no ${option}: processes start in the root of the sandbox, with its environment`)
}

/** The exit code of a process that exited by itself. */
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
 * A spawner that starts processes in the root of an open sandbox, with the sandbox's environment and limits. It accepts only a single
 * program without options. `kill` ends a process at once, standard error is available after the process has ended, and the `pid` is `NaN`.
 *
 * @example
 * const spawner = Effect.flatMap(Sandbox.Sandbox, (sandbox) => sandbox.open({ runtime: "shell", role: "agent" })).pipe(
 *   Effect.map(SandboxSpawner.make)
 * )
 */
export const make = (place: Handle): Spawner.ChildProcessSpawner["Service"] => Spawner.make(spawnIn(place))
