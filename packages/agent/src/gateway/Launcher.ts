/** Runs agents that are separate programs. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import type { PlatformError } from "effect/PlatformError"
import * as Predicate from "effect/Predicate"
import * as ChildProcess from "effect/process/ChildProcess"
import * as ChildProcessSpawner from "effect/process/ChildProcessSpawner"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { constants } from "node:os"

/** A program could not be started, or its exit could not be observed. The error says nothing about what the program did. */
export class LauncherError extends Schema.TaggedError<LauncherError>()("LauncherError", {
  launcher: Schema.String,
  program: Schema.String,
  detail: Schema.String
}) {
  override get message() {
    return `the launcher ${this.launcher} cannot run ${this.program}: ${this.detail}`
  }
}

/** A program, its arguments and its environment. No shell interprets the arguments. */
export interface Program {
  readonly argv: readonly [program: string, ...ReadonlyArray<string>]
  /** Environment variables, including those for access to the model. Besides these, the program inherits only `PATH`. */
  readonly env: Readonly<Record<string, string>>
  /** Standard input. Default: empty. */
  readonly stdin?: string
  /**
   * The working directory. A launcher with its own files copies this folder instead. Default: this process's directory, or, for a launcher
   * with its own files, no folder.
   */
  readonly cwd?: string
}

/** The result of a program. The exit code is not a reward; if a signal ended the program, it is 128 plus the signal number. */
export interface Ended {
  readonly exitCode: number
  /** At most the first million characters of each stream. */
  readonly stdout: string
  readonly stderr: string
}

const mostCharacters = 1_000_000

/** The beginning of a stream's text; the rest is read and dropped. */
const beginning = <E>(bytes: Stream.Stream<Uint8Array, E>) =>
  Stream.runFold(
    Stream.decodeText(bytes),
    () => "",
    (text, part) => text.length < mostCharacters ? (text + part).slice(0, mostCharacters) : text
  )

/** The platform's message about a program that a signal ended, which has no exit code. */
const signalled = /receipt of signal: '(SIG\w+)'/

const numberOf = (signal: string | undefined) =>
  Object.entries(constants.signals).find(([name]) => name === signal)?.[1]

const exitCodeOf = ({ exitCode }: ChildProcessSpawner.ChildProcessHandle): Effect.Effect<number, PlatformError> =>
  Effect.catch(exitCode, (error) => {
    const number = numberOf(signalled.exec(String(error.cause))?.[1])
    return number === undefined ? Effect.fail(error) : Effect.succeed(128 + number)
  })

/** The failure message, without the program's arguments. */
const describe = ({ cause, reason }: PlatformError) =>
  `${reason._tag}: ${Predicate.isError(cause) ? cause.message : reason.message}`

const unsafeHost = "unsafe host"

/**
 * Runs agent programs.
 *
 * @example
 * const ended = Launcher.Launcher.use(({ run }) => run({ argv: ["node", "--version"], env: {} }))
 */
export class Launcher extends Context.Service<Launcher, {
  readonly name: string
  /** `machine` if programs see this machine's files at their paths, `own` if they have a separate file system. */
  readonly files: "machine" | "own"
  /** Runs the program until it exits. Interruption kills the program and everything it started. */
  readonly run: (program: Program) => Effect.Effect<Ended, LauncherError>
}>()("@effect-rl/agent/Launcher") {
  /**
   * Runs agents as processes on this machine with all permissions of the current user. If an agent lets its model run commands, they run
   * here too. At the end the process group is killed.
   */
  static readonly unsafeHost: Layer.Layer<Launcher, never, ChildProcessSpawner.ChildProcessSpawner> = Layer.effect(
    Launcher,
    Effect.gen(function*() {
      const { spawn } = yield* ChildProcessSpawner.ChildProcessSpawner
      const run = Effect.fn("Launcher.unsafeHost")(function*({ argv, cwd, env, stdin = "" }: Program) {
        const [program, ...args] = argv
        const path = process.env["PATH"]
        const child = yield* spawn(ChildProcess.make(program, args, {
          env: { ...(path !== undefined && { PATH: path }), ...env },
          stdin: Stream.encodeText(Stream.succeed(stdin)),
          forceKillAfter: "1 second",
          ...(cwd !== undefined && { cwd })
        }))
        const output = yield* Effect.forkScoped(
          Effect.all([beginning(child.stdout), beginning(child.stderr)], { concurrency: "unbounded" })
        )
        const exitCode = yield* exitCodeOf(child)
        // Processes left behind by the program may keep its output open.
        yield* Effect.ignore(child.kill())
        const [stdout, stderr] = yield* Fiber.join(output)
        return { exitCode, stdout, stderr } satisfies Ended
      }, Effect.scoped)
      return Launcher.of({
        name: unsafeHost,
        files: "machine",
        run: (program) =>
          Effect.mapError(
            run(program),
            (error) => new LauncherError({ launcher: unsafeHost, program: program.argv[0], detail: describe(error) })
          )
      })
    })
  )
}
