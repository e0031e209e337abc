/** Runs short `docker` commands. Programs of a sandbox are run elsewhere. */
import * as Effect from "effect/Effect"
import { execFile } from "node:child_process"
import * as HostFolder from "../host/HostFolder.ts"

export const program = "docker"

/** The environment of the command: the variables that locate the daemon, and the host's label. */
export const environment = (host: string): Record<string, string> => ({
  ...Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) => value === undefined ? [] : [[name, value]])
  ),
  [HostFolder.label]: host
})

export interface Answer {
  readonly code: number
  readonly stdout: Uint8Array
  readonly stderr: string
}

const timeout = 60_000

/** The command could not be started, did not answer within one minute, or wrote too much. */
export interface Failure {
  readonly _tag: "Failure"
  readonly detail: string
}

export interface Options {
  readonly host: string
  readonly stdin?: Uint8Array
  /** Limit on standard output in bytes. Exceeding it is a failure. Default: 1 MiB. */
  readonly most?: number
}

/** Runs a command to its end. An exit code other than 0 is an answer, not a failure. */
export const run = (
  args: ReadonlyArray<string>,
  { host, most = 1024 * 1024, stdin = new Uint8Array(0) }: Options
): Effect.Effect<Answer, Failure> =>
  Effect.callback((resume) => {
    const child = execFile(
      program,
      [...args],
      { env: environment(host), encoding: "buffer", maxBuffer: most, timeout, killSignal: "SIGKILL" },
      (error, stdout, stderr) => {
        const code = error === null ? 0 : error.code
        if (typeof code === "number") {
          return resume(Effect.succeed({ code, stdout: new Uint8Array(stdout), stderr: stderr.toString() }))
        }
        if (code === "ENOENT") {
          return resume(Effect.fail({ _tag: "Failure", detail: "the command docker is not installed" }))
        }
        const detail = error?.killed === true ? `no answer within ${timeout} ms` : String(code)
        resume(Effect.fail({ _tag: "Failure", detail: `docker ${args[0]}: ${detail}` }))
      }
    )
    child.stdin?.on("error", () => {})
    child.stdin?.end(stdin)
    return Effect.sync(() => void child.kill("SIGKILL"))
  })
