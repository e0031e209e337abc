/** Runs a child process with limits on output and time. The process is killed as soon as it exceeds a limit. */
import * as Effect from "effect/Effect"
import { type ChildProcess, spawn } from "node:child_process"
import { constants } from "node:os"
import { Duplex } from "node:stream"
import * as Outcome from "../Outcome.ts"
import { Lost, Provision } from "../SandboxError.ts"
import type * as SandboxLimits from "../SandboxLimits.ts"
import type { Stdio } from "./InheritedDescriptors.ts"
import type { Conversation } from "./StartedProcess.ts"

/** Why this module ended the process. */
type Ending = "wall" | "stdout" | "stderr" | "disk" | "memory" | "closed" | "setup"

export interface Options {
  readonly file: string
  /** The first word of the process's command line, by which the process can be found. Default: `file`. */
  readonly name?: string
  readonly args: ReadonlyArray<string>
  readonly environment: Readonly<Record<string, string>>
  readonly cwd?: string
  /** The user and group that the process runs as. Default: those of this process. */
  readonly user?: { readonly uid: number; readonly gid: number }
  /** Starts a new process group, which `kill` can address. */
  readonly detached?: boolean
  /**
   * The whole standard input. A `Conversation` instead takes over standard input and output when the program is about to
   * start; output and time are then not limited. An `Order` supplies the program and its input later.
   */
  readonly stdin: Uint8Array | Conversation | Order
  readonly limits: SandboxLimits.Resolved
  /**
   * The child's descriptors. Unless there is a `readyWord`, the child writes a byte to the pipe at descriptor 3 when it is about to start
   * the program.
   */
  readonly stdio: Stdio
  /**
   * The word that the child writes to standard error when it is about to start the program. The word and all text before it are removed
   * from the output.
   */
  readonly readyWord?: string
  /** Ends the process and everything that it started. */
  readonly kill: (child: ChildProcess) => void
  /**
   * Which process a fatal signal ended. `program`: the program itself. `place`: a process that only supervises the
   * program.
   */
  readonly signals: "program" | "place"
  /** Called once the process exists, with a function that ends it for a given reason. */
  readonly onStart?: (stop: Stop, child: ChildProcess) => void
  /** Called when the process has exited, even if its child processes still hold its outputs open. */
  readonly onExit?: (child: ChildProcess) => void
  /** Called repeatedly after the process has exited, until its outputs are closed. */
  readonly sweep?: () => void
  /** Called when the process has ended. */
  readonly onEnd?: () => void
}

/**
 * A process that waits for its program. `on` receives a function that sends the program and its input, and returns whether the process was
 * still there.
 */
export interface Order {
  readonly on: (tell: (line: string, stdin: Uint8Array) => boolean) => void
}

/** Ends a process because its sandbox closes, or because it wrote too much to files or takes too much memory. */
export type Stop = (why: "closed" | "disk" | "memory") => void

const setupMillis = 30_000
/** The interval at which remaining child processes of an ended process are searched for, in milliseconds. */
const remainderMillis = 250
/** The most bytes kept of the text before the ready word. */
const mostBefore = 65_536
/** The longest delay of a timer, in milliseconds. */
const longest = 2 ** 31 - 1

const nameOf = (number: number) => Object.entries(constants.signals).find(([, value]) => value === number)?.[0]

/** Collects bytes up to a limit. `add` returns whether the bytes still fit. */
const collector = (limit: number) => {
  const chunks: Array<Uint8Array> = []
  let left = limit
  return {
    add: (chunk: Uint8Array): boolean => {
      // An empty slice would keep the whole chunk in memory.
      if (left > 0) chunks.push(chunk.subarray(0, left))
      const fits = chunk.byteLength <= left
      left = Math.max(0, left - chunk.byteLength)
      return fits
    },
    bytes: (): Uint8Array => new Uint8Array(Buffer.concat(chunks))
  }
}

const nothing = new Uint8Array(0)

/** Passes on the bytes after a word, and calls `found` when the word has arrived. Without a word, passes on everything. */
const afterWord = (word: string | undefined, found: () => void) => {
  let before: Uint8Array | undefined = word === undefined ? undefined : nothing
  return {
    before: () => before,
    add: (chunk: Uint8Array): Uint8Array => {
      if (before === undefined || word === undefined) return chunk
      const all = Buffer.concat([before, chunk])
      const at = all.indexOf(word)
      before = at < 0 ? all.subarray(-mostBefore) : undefined
      if (at < 0) return nothing
      found()
      return all.subarray(at + word.length)
    }
  }
}

const stopped = (ending: Exclude<Ending, "setup">, ended: Outcome.Ended): Outcome.Outcome => {
  if (ending === "wall") return Outcome.TimedOut({ ...ended, limit: "wall" })
  if (ending === "closed") return Outcome.Killed(ended)
  if (ending === "memory") return Outcome.OutOfMemory(ended)
  return Outcome.OutputLimit({ ...ended, of: ending })
}

const signalled = (signal: string, ended: Outcome.Ended): Outcome.Outcome =>
  signal === "SIGXCPU" ? Outcome.TimedOut({ ...ended, limit: "cpu" }) : Outcome.Signalled({ ...ended, signal })

/** Converts an exit code. A shell reports a signal as an exit code above 128. */
const exited = (code: number, ended: Outcome.Ended): Outcome.Outcome => {
  const signal = code > 128 ? nameOf(code - 128) : undefined
  return signal === undefined ? Outcome.Exited({ ...ended, code }) : signalled(signal, ended)
}

/**
 * Runs the process to its end. Fails as `Provision` if the program did not start, and as `Lost` if something other than a limit ended its
 * sandbox.
 */
export const run = (options: Options): Effect.Effect<Outcome.Outcome, Provision | Lost> =>
  Effect.callback<Outcome.Outcome, Provision | Lost>((resume) => {
    const { limits, stdin } = options
    const conversation = typeof stdin === "function" ? stdin : undefined
    const stdout = collector(limits.output)
    const stderr = collector(limits.output)
    let ending: Ending | undefined
    let startedAt: number | undefined
    let hasEnded = false
    let onClosed = () => {}
    let remainder: NodeJS.Timeout | undefined

    const child = spawn(options.file, [...options.args], {
      stdio: options.stdio,
      env: { ...options.environment },
      ...(options.name === undefined ? {} : { argv0: options.name }),
      ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
      ...(options.detached === undefined ? {} : { detached: options.detached }),
      ...options.user
    })
    const stop = (why: Ending) => {
      if (ending !== undefined || hasEnded) return
      ending = why
      options.kill(child)
      // An output does not close while it has unread bytes.
      if (conversation !== undefined) child.stdout?.destroy()
    }
    let timer: NodeJS.Timeout | undefined
    const awaitSetup = () => {
      timer = setTimeout(() => stop("setup"), setupMillis)
    }
    const settle = (result: Effect.Effect<Outcome.Outcome, Provision | Lost>) => {
      if (hasEnded) return
      hasEnded = true
      clearTimeout(timer)
      clearInterval(remainder)
      options.onEnd?.()
      resume(result)
      onClosed()
    }

    const onReady = () => {
      if (startedAt !== undefined) return
      startedAt = performance.now()
      clearTimeout(timer)
      if (conversation === undefined) timer = setTimeout(() => stop("wall"), Math.min(limits.wallMillis, longest))
      else if (child.stdin !== null && child.stdout !== null) conversation(child.stdin, child.stdout)
    }
    const [, , , ready] = child.stdio
    ready?.on("data", onReady)
    const preamble = afterWord(options.readyWord, onReady)
    if (conversation === undefined) child.stdout?.on("data", (chunk: Uint8Array) => stdout.add(chunk) || stop("stdout"))
    // Without a listener, unread output is discarded when the child exits. Reading 0 bytes lets an exhausted output end.
    else child.stdout?.on("readable", () => void child.stdout?.read(0))
    child.stderr?.on("data", (chunk: Uint8Array) => stderr.add(preamble.add(chunk)) || stop("stderr"))
    for (const stream of child.stdio) stream?.on("error", () => {})
    if (stdin instanceof Uint8Array) child.stdin?.end(stdin)
    if (typeof stdin === "function" || stdin instanceof Uint8Array) awaitSetup()
    else {
      stdin.on((line, input) => {
        if (hasEnded || ending !== undefined || child.exitCode !== null || child.signalCode !== null) return false
        awaitSetup()
        if (ready instanceof Duplex) ready.write(`${line}\n`)
        child.stdin?.end(input)
        return true
      })
    }

    child.on("error", ({ message }) => settle(Effect.fail(new Provision({ detail: message }))))
    child.on("exit", () => {
      options.onExit?.(child)
      if (!hasEnded && options.sweep !== undefined) remainder = setInterval(options.sweep, remainderMillis)
    })
    child.on("close", (code, signal) => {
      const ended = {
        stdout: stdout.bytes(),
        stderr: stderr.bytes(),
        wallMillis: startedAt === undefined ? 0 : performance.now() - startedAt
      }
      if (ending === "closed") return settle(Effect.succeed(Outcome.Killed(ended)))
      if (ending === "setup") {
        return settle(Effect.fail(new Provision({ detail: `not ready within ${setupMillis} ms` })))
      }
      if (startedAt === undefined) {
        const said = Outcome.text(preamble.before() ?? ended.stderr).trim()
        return settle(Effect.fail(new Provision({ detail: said === "" ? `${options.file} ended with ${code}` : said })))
      }
      if (ending !== undefined) return settle(Effect.succeed(stopped(ending, ended)))
      if (signal === null) return settle(Effect.succeed(exited(code ?? 0, ended)))
      settle(
        options.signals === "program"
          ? Effect.succeed(signalled(signal, ended))
          : Effect.fail(new Lost({ detail: `${options.file} was ended by ${signal}` }))
      )
    })
    options.onStart?.(stop, child)

    return Effect.callback<void>((done) => {
      onClosed = () => done(Effect.void)
      if (hasEnded) return onClosed()
      stop("closed")
    })
  })
