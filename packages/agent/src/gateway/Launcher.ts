/** Starts agents that are programs of their own. */
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

/** A program cannot be started, or its end cannot be seen. It says nothing about what the program did. */
export class LauncherError extends Schema.TaggedError<LauncherError>()("LauncherError", {
  launcher: Schema.String,
  program: Schema.String,
  detail: Schema.String
}) {
  override get message() {
    return `the launcher ${this.launcher} cannot run ${this.program}: ${this.detail}`
  }
}

/** A program and what it is given. No shell reads its arguments. */
export interface Program {
  readonly argv: readonly [program: string, ...ReadonlyArray<string>]
  /** Its variables, with those that say where its model is; it gets `PATH` and no other variable of this process. */
  readonly env: Readonly<Record<string, string>>
  /** Its standard input; empty unless given. */
  readonly stdin?: string
  /** The folder in which it starts, or of which it gets a copy where it has files of its own; that of this process, or none, unless given. */
  readonly cwd?: string
}

/** A program that ended. Its exit code is no reward; that of a program which a signal ended is 128 and the signal's number. */
export interface Ended {
  readonly exitCode: number
  /** At most the first million characters of each. */
  readonly stdout: string
  readonly stderr: string
}

const mostCharacters = 1_000_000

/** The text of a stream, of which the beginning is kept and the rest read and dropped. */
const beginning = <E>(bytes: Stream.Stream<Uint8Array, E>) =>
  Stream.runFold(
    Stream.decodeText(bytes),
    () => "",
    (text, part) => text.length < mostCharacters ? (text + part).slice(0, mostCharacters) : text
  )

/** What the platform says of a program that a signal ended, which has no exit code of its own. */
const signalled = /receipt of signal: '(SIG\w+)'/

const numberOf = (signal: string | undefined) =>
  Object.entries(constants.signals).find(([name]) => name === signal)?.[1]

const exitCodeOf = ({ exitCode }: ChildProcessSpawner.ChildProcessHandle): Effect.Effect<number, PlatformError> =>
  Effect.catch(exitCode, (error) => {
    const number = numberOf(signalled.exec(String(error.cause))?.[1])
    return number === undefined ? Effect.fail(error) : Effect.succeed(128 + number)
  })

/** The failure, without the program's arguments. */
const describe = ({ cause, reason }: PlatformError) =>
  `${reason._tag}: ${Predicate.isError(cause) ? cause.message : reason.message}`

const unsafeHost = "unsafe host"

/**
 * Places in which agents run.
 *
 * @example
 * const ended = Launcher.Launcher.use(({ run }) => run({ argv: ["node", "--version"], env: {} }))
 */
export class Launcher extends Context.Service<Launcher, {
  readonly name: string
  /** Whether programs find the files of this machine at their paths, or have files of their own. */
  readonly files: "machine" | "own"
  /** Runs the program to its end. Interrupting it ends the program and everything that it started. */
  readonly run: (program: Program) => Effect.Effect<Ended, LauncherError>
}>()("@effect-rl/agent/Launcher") {
  /**
   * Runs agents as processes of this machine, with everything that the user of this process may do: an agent that lets its model run
   * commands lets it run them here. The process group is killed at the end.
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
        // Processes that it left behind may keep its output open.
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
